//! Debian control files: stanzas of `Field: value` lines, apart by blank lines; the stanza's text
//! is stored.

use std::io::{self, BufRead};

use crate::import::lines::{Line, Lines};
use crate::import::record::{Item, Record, Records, too_long};

/// A file of stanzas. A stanza of comments only is no record.
pub struct Deb822<R> {
    lines: Lines<R>,
    key: String,
    limit_bytes: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Deb822<R> {
    /// Records whose key is the field `key`, whatever its case; it stands on one line.
    pub fn new(reader: R, key: &str, limit_bytes: usize) -> Deb822<R> {
        Deb822 {
            lines: Lines::new(reader, limit_bytes),
            key: key.to_owned(),
            limit_bytes,
            buffer: Vec::new(),
        }
    }
}

impl<R: BufRead> Records for Deb822<R> {
    fn next(&mut self) -> io::Result<Option<Item>> {
        let mut stanza = Stanza::new(&self.key, self.limit_bytes);
        loop {
            let read = self.lines.next(&mut self.buffer)?;
            let number = self.lines.number();
            match read {
                Line::TooLong => stanza.fault(number, too_long(self.limit_bytes)),
                Line::Read if !self.buffer.trim_ascii().is_empty() => {
                    stanza.line(number, &self.buffer)
                }
                Line::Read | Line::End => match stanza.finish() {
                    Some(item) => return Ok(Some(item)),
                    None if read == Line::End => return Ok(None),
                    None => stanza = Stanza::new(&self.key, self.limit_bytes),
                },
            }
        }
    }
}

/// A stanza as far as it is read.
struct Stanza<'a> {
    key_field: &'a str,
    limit_bytes: usize,
    first_line: Option<u64>,
    text: Vec<u8>,
    key: Option<Vec<u8>>,
    /// Whether the field read last is the key, which must not be continued.
    in_key: bool,
    in_field: bool,
    fault: Option<String>,
}

impl<'a> Stanza<'a> {
    fn new(key_field: &'a str, limit_bytes: usize) -> Stanza<'a> {
        Stanza {
            key_field,
            limit_bytes,
            first_line: None,
            text: Vec::new(),
            key: None,
            in_key: false,
            in_field: false,
            fault: None,
        }
    }

    /// The first fault is the one that is told; the rest of the stanza is not kept.
    fn fault(&mut self, number: u64, reason: String) {
        self.first_line.get_or_insert(number);
        self.fault.get_or_insert(reason);
        self.text = Vec::new();
    }

    fn line(&mut self, number: u64, line: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        if self.text.len() + line.len() >= self.limit_bytes {
            return self.fault(number, too_long(self.limit_bytes));
        }
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(line);
        if line.first() == Some(&b'#') {
            return;
        }
        let first = *self.first_line.get_or_insert(number);
        if matches!(line.first(), Some(b' ' | b'\t')) {
            if self.in_key {
                self.fault(
                    first,
                    format!("field {:?} spans several lines", self.key_field),
                );
            } else if !self.in_field {
                self.fault(
                    first,
                    "it begins with the continuation of a field".to_owned(),
                );
            }
            return;
        }
        self.in_field = true;
        let Some(colon) = line
            .iter()
            .position(|byte| *byte == b':')
            .filter(|colon| *colon > 0)
        else {
            return self.fault(
                first,
                format!("line {number} is no field: it has no name and colon"),
            );
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.iter().any(|byte| !(0x21..=0x7e).contains(byte)) {
            return self.fault(
                first,
                format!("line {number} is no field: its name is not plain ASCII"),
            );
        }
        self.in_key = name.eq_ignore_ascii_case(self.key_field.as_bytes());
        if self.in_key && self.key.replace(value.to_vec()).is_some() {
            self.fault(
                first,
                format!("field {:?} stands there twice", self.key_field),
            );
        }
    }

    fn finish(&mut self) -> Option<Item> {
        let line = self.first_line?;
        let item = match (self.fault.take(), self.key.take()) {
            (Some(reason), _) => Item::malformed(line, reason),
            (None, None) => Item::malformed(line, format!("no field {:?}", self.key_field)),
            (None, Some(key)) if key.is_empty() => {
                Item::malformed(line, format!("field {:?} is empty", self.key_field))
            }
            (None, Some(key)) => Item::Record(Record {
                line,
                key,
                value: std::mem::take(&mut self.text),
                expires_at_ms: None,
            }),
        };
        Some(item)
    }
}

#[cfg(test)]
#[path = "deb822_tests.rs"]
mod tests;
