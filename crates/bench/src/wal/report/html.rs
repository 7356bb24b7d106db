//! All of it as one page that needs nothing else, in light and dark.

use super::bars::Bars;
use super::model::Report;
use super::sections;
use crate::report::svg::escape;

const STYLE: &str = "\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1160px; padding: 0 1rem;
  color: CanvasText; background: Canvas; }
.wide { overflow-x: auto; }
svg { width: 100%; height: auto; min-width: 700px; border-radius: 4px; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 8px; border-bottom: 1px solid color-mix(in srgb, CanvasText 20%, Canvas);
  text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { white-space: normal; vertical-align: bottom; }
p { max-width: 75ch; }
";

/// `wal.html`.
pub fn render(report: &Report, charts: &[(String, Bars)]) -> String {
    let title = "Block size and padding of the log (paper 002)";
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<ul>\n"
    );
    for line in sections::heading(report) {
        page += &format!("<li>{}</li>\n", escape(&line));
    }
    page += "</ul>\n";
    for (_, chart) in charts {
        page += &format!("<div class=\"wide\">\n{}</div>\n", chart.render());
    }
    for section in sections::of(report) {
        page += &format!("<h2>{}</h2>\n", escape(&section.title));
        for note in &section.notes {
            page += &format!("<p>{}</p>\n", escape(note));
        }
        if let Some(table) = &section.table {
            page += &format!("<div class=\"wide\">\n{}</div>\n", table.render_html());
        }
    }
    page + "</body>\n</html>\n"
}
