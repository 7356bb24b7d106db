//! What is written down of a run: data, tables, charts, a page.

use std::path::Path;

use crate::png;

use crate::error::BenchError;
use crate::report::write_files;
use model::Report;

pub mod bars;
pub mod charts;
pub mod html;
pub mod markdown;
pub mod model;
pub mod sections;

/// Writes `wal.json`, `wal-grid.md`, `wal.html` and each chart as SVG and PNG into a directory,
/// made if need be; returns their names. `wal.md` is written by hand and left alone.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written; [`BenchError::Chart`] when a
/// chart cannot be drawn.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, BenchError> {
    let charts = charts::of(report);
    let mut files: Vec<(String, Vec<u8>)> = vec![
        (
            "wal.json".into(),
            (serde_json::to_string_pretty(report)? + "\n").into(),
        ),
        (
            "wal-grid.md".into(),
            markdown::render(report, &charts).into(),
        ),
        ("wal.html".into(), html::render(report, &charts).into()),
    ];
    for (name, chart) in &charts {
        let svg = chart.render();
        let png = png::render(&svg).map_err(|why| BenchError::Chart {
            name: name.clone(),
            why,
        })?;
        files.push((format!("{name}.svg"), svg.into()));
        files.push((format!("{name}.png"), png));
    }
    write_files(directory, &files)?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}
