//! What is written down of a run: data, tables, charts.

use std::path::Path;

use crate::png;

use crate::error::BenchError;
use crate::report::write_files;
use model::Report;

pub mod charts;
pub mod markdown;
pub mod model;

/// Writes `copy.json`, `copy.md` and each chart as SVG and PNG into a directory, made if need be;
/// returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written; [`BenchError::Chart`] when a
/// chart cannot be drawn.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, BenchError> {
    let charts = charts::of(report);
    let json = serde_json::to_string_pretty(report)? + "\n";
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("copy.json".into(), json.into()),
        ("copy.md".into(), markdown::render(report, &charts).into()),
    ];
    for chart in charts {
        let png = png::render(&chart.svg).map_err(|why| BenchError::Chart {
            name: chart.name.into(),
            why,
        })?;
        files.push((format!("{}.svg", chart.name), chart.svg.into()));
        files.push((format!("{}.png", chart.name), png));
    }
    write_files(directory, &files)?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}
