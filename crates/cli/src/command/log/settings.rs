//! What a segment's header says of how it was written, as text and as JSON.

use dunlin_log::SegmentSettings;
use serde_json::{Value, json};

use crate::units::Size;

/// A part of a line.
pub fn text(settings: &SegmentSettings) -> String {
    format!(
        "blocks of {}, {}, compression {}, direct I/O {}",
        Size(u64::from(settings.block_size_bytes)),
        settings.padding,
        settings.compression,
        if settings.direct_io { "on" } else { "off" },
    )
}

/// An object; null when the file does not say.
pub fn json(settings: Option<&SegmentSettings>) -> Value {
    let Some(settings) = settings else {
        return Value::Null;
    };
    json!({
        "block_size_bytes": settings.block_size_bytes,
        "padding": settings.padding.to_string(),
        "compression": settings.compression.to_string(),
        "direct_io": settings.direct_io,
    })
}

/// A line for each combination there is, and how many segments were begun with it, in the order
/// in which they first appear.
pub fn summary(segments: impl Iterator<Item = SegmentSettings>) -> String {
    let mut counts: Vec<(SegmentSettings, usize)> = Vec::new();
    for settings in segments {
        match counts.iter_mut().find(|(known, _)| *known == settings) {
            Some((_, count)) => *count += 1,
            None => counts.push((settings, 1)),
        }
    }
    let line = |(settings, count): &(SegmentSettings, usize)| {
        let noun = if *count == 1 { "segment" } else { "segments" };
        format!("{count} {noun}: {}\n", text(settings))
    };
    counts.iter().map(line).collect()
}
