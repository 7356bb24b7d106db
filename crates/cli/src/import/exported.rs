//! What `dunlin scan --json` prints: one object a line, with the key, the value and when that is gone.

use std::io::{self, BufRead};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::import::lines::{Line, Lines};
use crate::import::record::{Item, Record, Records, too_long};

/// A file of such lines. Blank lines are no records.
pub struct Exported<R> {
    lines: Lines<R>,
    limit_bytes: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Exported<R> {
    /// The records of a reader.
    pub fn new(reader: R, limit_bytes: usize) -> Exported<R> {
        Exported {
            lines: Lines::new(reader, limit_bytes),
            limit_bytes,
            buffer: Vec::new(),
        }
    }
}

impl<R: BufRead> Records for Exported<R> {
    fn next(&mut self) -> io::Result<Option<Item>> {
        loop {
            let read = self.lines.next(&mut self.buffer)?;
            let line = self.lines.number();
            let item = match read {
                Line::End => return Ok(None),
                Line::TooLong => Item::malformed(line, too_long(self.limit_bytes)),
                Line::Read if self.buffer.trim_ascii().is_empty() => continue,
                Line::Read => match record(line, &self.buffer) {
                    Ok(record) => Item::Record(record),
                    Err(reason) => Item::malformed(line, reason),
                },
            };
            return Ok(Some(item));
        }
    }
}

/// A name that is not known may be one that is misspelled: it is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    key: Option<String>,
    key_base64: Option<String>,
    value: Option<String>,
    value_base64: Option<String>,
    /// What is put has a version of its own.
    #[serde(rename = "version")]
    _version: Option<String>,
    expires_at_ms: Option<u64>,
}

fn record(line: u64, text: &[u8]) -> Result<Record, String> {
    let fields: Fields = serde_json::from_slice(text).map_err(|error| {
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ");
        let reason = reason.map_or(text.as_str(), |(reason, _)| reason);
        format!("not as scan --json prints it: {reason}")
    })?;
    let key = bytes("key", fields.key, fields.key_base64)?;
    if key.is_empty() {
        return Err("the key is empty".to_owned());
    }
    Ok(Record {
        line,
        key,
        value: bytes("value", fields.value, fields.value_base64)?,
        expires_at_ms: fields.expires_at_ms,
    })
}

fn bytes(name: &str, text: Option<String>, coded: Option<String>) -> Result<Vec<u8>, String> {
    match (text, coded) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(coded)) => STANDARD
            .decode(coded)
            .map_err(|error| format!("{name}_base64: {error}")),
        (None, None) => Err(format!("neither {name} nor {name}_base64")),
        (Some(_), Some(_)) => Err(format!("both {name} and {name}_base64")),
    }
}

#[cfg(test)]
#[path = "exported_tests.rs"]
mod tests;
