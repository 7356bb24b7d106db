//! Sections of the report that the terminal shows too.

use super::model::{Cell, Report, Summary, Target};
use super::table::Table;
use crate::quorum::paper;
use crate::quorum::target::{one_copy_of, ratio_of};
use crate::spread::Spread;

/// What the terminal shows at the end.
pub fn render(report: &Report) -> String {
    let mut text = String::from("\nHighest rate with at least 95 % under 2 ms\n\n");
    text += &rates(report);
    text += "\nReplicated over unreplicated\n\n";
    text += &ratios(report);
    text += "\nTargets\n\n";
    text += &targets(&report.targets);
    text
}

/// The highest rates with latencies and cost.
pub fn rates(report: &Report) -> String {
    let mut table = Table::new(&[
        "case",
        "rate/s",
        "held",
        "< 2 ms",
        "mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "p99.99",
        "server CPU us",
        "a replica",
        "generator us",
    ]);
    for cell in &report.cells {
        let mut row = vec![
            cell.case.name(),
            format!("{:.0}", cell.rate_per_s),
            if cell.confirmed { "yes" } else { "no" }.into(),
        ];
        let cpu = cell.summary.server_cpu_us.median;
        row.extend(latencies(&cell.summary));
        row.push(number(cell.summary.server_cpu_us));
        row.push(format!(
            "{:.1}",
            cpu / f64::from(cell.case.replicas_at_work())
        ));
        row.push(format!("{:.1}", cell.summary.generator_cpu_us.median));
        table.row(row);
    }
    table.render()
}

fn latencies(summary: &Summary) -> Vec<String> {
    let share = summary.share_under_2ms;
    let mut cells = vec![percent(share.median)];
    if share.min < share.max {
        cells[0] += &format!(" ({} to {})", percent(share.min), percent(share.max));
    }
    cells.extend(
        [
            summary.latency_us_mean,
            summary.latency_us_p50,
            summary.latency_us_p90,
            summary.latency_us_p95,
            summary.latency_us_p99,
            summary.latency_us_p999,
            summary.latency_us_p9999,
        ]
        .map(|spread| ms(spread.median)),
    );
    cells
}

/// The ratio of three copies to one, beside the paper's.
pub fn ratios(report: &Report) -> String {
    let mut table = Table::new(&["case", "1 copy/s", "3 copies/s", "ratio", "paper"]);
    for cell in report.cells.iter().filter(|cell| cell.case.copies.from > 1) {
        let alone = paper::table(cell.case.verb, false).best_per_s;
        let replicated = paper::table(cell.case.verb, true).best_per_s;
        let ratio = ratio_of(&report.cells, cell);
        let one_copy = one_copy_of(&report.cells, cell);
        let verb = cell.case.verb.name();
        table.row(vec![
            format!("{verb}, {} connections", cell.case.connections),
            one_copy.map_or_else(String::new, held_rate),
            held_rate(cell),
            ratio.map_or("not both held".into(), |ratio| format!("{ratio:.2}")),
            format!("{alone:.0}, {replicated:.0}: {:.2}", replicated / alone),
        ]);
    }
    table.render()
}

fn held_rate(cell: &Cell) -> String {
    let doubt = if cell.confirmed { "" } else { ", not held" };
    format!("{:.0}{doubt}", cell.rate_per_s)
}

/// The targets of an issue.
pub fn targets(targets: &[Target]) -> String {
    target_table(targets).render()
}

/// The same, not yet rendered.
pub fn target_table(targets: &[Target]) -> Table {
    let mut table = Table::new(&["target", "wanted", "measured", "reached"]);
    for target in targets {
        let met = match target.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not measured",
        };
        table.row(vec![
            target.what.clone(),
            target.wanted.clone(),
            target.measured.clone(),
            met.into(),
        ]);
    }
    table
}

/// Microseconds as milliseconds.
pub fn ms(us: f64) -> String {
    format!("{:.2} ms", us / 1e3)
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A median with its spread when there is one.
pub fn number(spread: Spread) -> String {
    if spread.min < spread.max {
        format!(
            "{:.1} ({:.1} to {:.1})",
            spread.median, spread.min, spread.max
        )
    } else {
        format!("{:.1}", spread.median)
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
