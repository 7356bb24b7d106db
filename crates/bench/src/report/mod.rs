//! What is written down: the model, and its forms.

use std::fs;
use std::path::Path;

use crate::error::BenchError;
use model::Report;

pub mod markdown;
pub mod model;
#[cfg(test)]
pub mod samples;
pub mod summary;
pub mod svg;
pub mod table;

/// Writes `NAME.md`, `NAME.json` and `NAME.svg` into a directory, made if need be.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Report, directory: &Path, name: &str) -> Result<(), BenchError> {
    let json = serde_json::to_string_pretty(report)?;
    let files = [
        ("md", markdown::render(report, name)),
        ("json", json + "\n"),
        ("svg", svg::render(&report.curves())),
    ];
    let files = files.map(|(extension, text)| (format!("{name}.{extension}"), text.into_bytes()));
    write_files(directory, &files)
}

/// Writes a report as `NAME.json` and, as text, `NAME.md` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write_both(
    name: &str,
    (report, text): (&impl serde::Serialize, String),
    directory: &Path,
) -> Result<Vec<String>, BenchError> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let files = [
        (format!("{name}.json"), json.into()),
        (format!("{name}.md"), text.into()),
    ];
    write_files(directory, &files)?;
    Ok(files.map(|(name, _)| name).to_vec())
}

/// Writes files by name into a directory, made if need be.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write_files(directory: &Path, files: &[(String, Vec<u8>)]) -> Result<(), BenchError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| BenchError::File { path, source }
    };
    fs::create_dir_all(directory).map_err(failed(directory))?;
    for (name, bytes) in files {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    Ok(())
}
