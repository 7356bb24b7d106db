//! The tables as Markdown.

use super::bars::Bars;
use super::model::Report;
use super::sections::{self, Section};

/// `wal-grid.md`, with the charts that lie beside it.
pub fn render(report: &Report, charts: &[(String, Bars)]) -> String {
    let mut text = String::from("# Block size and padding of the log (paper 002): the numbers\n\n");
    for line in sections::heading(report) {
        text += &format!("- {line}\n");
    }
    for (name, chart) in charts {
        text += &format!("\n![{}]({name}.svg)\n", chart.title);
    }
    for section in sections::of(report) {
        text += &one(&section);
    }
    text
}

fn one(section: &Section) -> String {
    let mut text = format!("\n## {}\n\n", section.title);
    for note in &section.notes {
        text += &format!("{note}\n\n");
    }
    if let Some(table) = &section.table {
        text += &table.render();
    }
    text.trim_end().to_owned() + "\n"
}
