//! What a check of a log's directory found, as text and as JSON.

use std::path::Path;

use dunlin_log::{Report, SegmentReport};
use serde_json::{Value, json};

use super::compressed::Compressed;
use super::settings;
use crate::units::{grouped, rounded};

/// A line for the log, its settings, what compression saved, and a line for each segment that
/// something is wrong with.
pub fn text(directory: &Path, report: &Report) -> String {
    let total = |field: fn(&SegmentReport) -> u64| report.segments.iter().map(field).sum::<u64>();
    let mut text = format!(
        "{}: {} segments, {} records, {} payload, {} padding\n",
        directory.display(),
        report.segments.len(),
        grouped(total(|segment| segment.records)),
        rounded(total(|segment| segment.payload_bytes) as f64),
        rounded(total(|segment| segment.padding_bytes) as f64),
    );
    let settings = report
        .segments
        .iter()
        .filter_map(|segment| segment.settings);
    let compressed: Compressed = report.segments.iter().map(Compressed::from).sum();
    for line in settings::summary(settings)
        .lines()
        .chain(compressed.text().unwrap_or_default().lines())
    {
        text.push_str(&format!("  {line}\n"));
    }
    for segment in &report.segments {
        let Some(trouble) = &segment.trouble else {
            continue;
        };
        let (kind, why) = match &trouble.damage {
            Some(proof) => ("damage", format!(" ({proof})")),
            None => ("torn tail, cut at the next start", String::new()),
        };
        text.push_str(&format!(
            "  {} at byte {}: {kind}: {}{why}\n",
            segment.file, trouble.offset, trouble.reason
        ));
    }
    text
}

/// One object.
pub fn json(directory: &Path, report: &Report) -> Value {
    let segments: Vec<Value> = report
        .segments
        .iter()
        .map(|segment| {
            let mut value = json!({
                "file": segment.file,
                "first_index": segment.first_index,
                "records": segment.records,
                "payload_bytes": segment.payload_bytes,
                "bytes": segment.bytes,
                "padding_bytes": segment.padding_bytes,
                "file_bytes": segment.file_bytes,
                "settings": settings::json(segment.settings.as_ref()),
                "trouble": segment.trouble.as_ref().map(|trouble| json!({
                    "offset": trouble.offset,
                    "cut": trouble.cut,
                    "cut_bytes": trouble.cut_bytes,
                    "reason": trouble.reason,
                    "damage": trouble.damage,
                })),
            });
            if let Value::Object(object) = &mut value {
                Compressed::from(segment).json(object);
            }
            value
        })
        .collect();
    json!({ "directory": directory, "damaged": report.is_damaged(), "segments": segments })
}
