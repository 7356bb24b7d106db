//! JSON Lines: one object a line; the line itself is stored.

use std::fmt;
use std::io::{self, BufRead};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::import::lines::{Line, Lines};
use crate::import::record::{Item, Record, Records, too_long};

/// A file of JSON Lines. Blank lines are no records.
pub struct Jsonl<R> {
    lines: Lines<R>,
    key: String,
    limit_bytes: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Jsonl<R> {
    /// Records whose key is the top-level field `key`, a non-empty string or a whole number.
    pub fn new(reader: R, key: &str, limit_bytes: usize) -> Jsonl<R> {
        Jsonl {
            lines: Lines::new(reader, limit_bytes),
            key: key.to_owned(),
            limit_bytes,
            buffer: Vec::new(),
        }
    }
}

impl<R: BufRead> Records for Jsonl<R> {
    fn next(&mut self) -> io::Result<Option<Item>> {
        loop {
            let read = self.lines.next(&mut self.buffer)?;
            let line = self.lines.number();
            match read {
                Line::End => return Ok(None),
                Line::TooLong => {
                    return Ok(Some(Item::malformed(line, too_long(self.limit_bytes))));
                }
                Line::Read if self.buffer.trim_ascii().is_empty() => {}
                Line::Read => {
                    return Ok(Some(match key_of(&self.buffer, &self.key) {
                        Ok(key) => Item::Record(Record {
                            line,
                            key,
                            value: std::mem::take(&mut self.buffer),
                            expires_at_ms: None,
                        }),
                        Err(reason) => Item::malformed(line, reason),
                    }));
                }
            }
        }
    }
}

/// Reads the whole object to know that it is one, but keeps only the key.
fn key_of(line: &[u8], field: &str) -> Result<Vec<u8>, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let key = KeyOf { field }
        .deserialize(&mut deserializer)
        .map_err(|error| describe(&error))?;
    deserializer.end().map_err(|error| describe(&error))?;
    // What is skipped unread may still be no UTF-8.
    std::str::from_utf8(line)
        .map_err(|error| format!("not UTF-8 from byte {}", error.valid_up_to() + 1))?;
    Ok(key)
}

/// The parser counts lines from the record's own, which would mislead beside the file's number.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    match error.classify() {
        serde_json::error::Category::Data => reason.to_owned(),
        _ => format!("no JSON object: {reason} at column {}", error.column()),
    }
}

struct KeyOf<'a> {
    field: &'a str,
}

impl<'de> DeserializeSeed<'de> for KeyOf<'_> {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KeyOf<'_> {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<u8>, A::Error> {
        let mut key: Option<Vec<u8>> = None;
        while let Some(name) = map.next_key::<String>()? {
            if name != self.field {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if key.is_some() {
                return Err(A::Error::custom(format!(
                    "field {:?} stands there twice",
                    self.field
                )));
            }
            let value = match map.next_value::<serde_json::Value>()? {
                serde_json::Value::String(text) => text.into_bytes(),
                serde_json::Value::Number(number) if !number.is_f64() => {
                    number.to_string().into_bytes()
                }
                _ => {
                    return Err(A::Error::custom(format!(
                        "field {:?} is no string or whole number",
                        self.field
                    )));
                }
            };
            if value.is_empty() {
                return Err(A::Error::custom(format!("field {:?} is empty", self.field)));
            }
            key = Some(value);
        }
        key.ok_or_else(|| A::Error::custom(format!("no field {:?}", self.field)))
    }
}

#[cfg(test)]
#[path = "jsonl_tests.rs"]
mod tests;
