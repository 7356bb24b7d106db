//! CSV after RFC 4180 with a header row; each row is stored as a JSON object of strings, in the
//! header's order.

pub mod row;

use std::io::{self, BufRead};

use serde::Serializer;
use serde::ser::SerializeMap;

use crate::import::csv::row::{Row, Rows};
use crate::import::record::{Item, Record, Records};

/// Why a file cannot be read as CSV with this key at all.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The input failed.
    #[error("{0}")]
    Input(#[from] io::Error),
    /// The header is missing or damaged: correct the file.
    #[error("line {line}: the CSV header {reason}")]
    Header {
        /// Where it begins.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such column: choose one of those there are.
    #[error("no column {wanted:?}; the columns are {}", columns.join(", "))]
    NoColumn {
        /// The key asked for.
        wanted: String,
        /// The header.
        columns: Vec<String>,
    },
}

/// A CSV file whose header was read. Empty lines are no records.
pub struct Csv<R> {
    rows: Rows<R>,
    row: Row,
    columns: Vec<String>,
    key: usize,
}

impl<R: BufRead> Csv<R> {
    /// Reads the header; records have the column `key` for their key.
    pub fn open(reader: R, key: &str, limit_bytes: usize) -> Result<Csv<R>, HeaderError> {
        let mut rows = Rows::new(reader, limit_bytes);
        let mut row = Row::default();
        let read = rows.next(&mut row)?;
        let header = |reason: &str| HeaderError::Header {
            line: row.line.max(1),
            reason: reason.to_owned(),
        };
        if !read {
            return Err(header("is missing: the file is empty"));
        }
        if let Some(fault) = &row.fault {
            return Err(header(&format!("cannot be read: {fault}")));
        }
        let columns = row
            .fields()
            .map(|field| std::str::from_utf8(field).map(str::to_owned))
            .collect::<Result<Vec<String>, _>>()
            .map_err(|_| header("is not UTF-8"))?;
        if let Some(name) = columns
            .iter()
            .enumerate()
            .find(|(i, name)| columns[..*i].contains(name))
        {
            return Err(header(&format!("names column {:?} twice", name.1)));
        }
        match columns.iter().position(|name| name == key) {
            Some(key) => Ok(Csv {
                rows,
                row,
                columns,
                key,
            }),
            None => Err(HeaderError::NoColumn {
                wanted: key.to_owned(),
                columns,
            }),
        }
    }

    fn item(&self) -> Item {
        let line = self.row.line;
        if let Some(fault) = &self.row.fault {
            return Item::malformed(line, fault);
        }
        let (count, expected) = (self.row.fields().count(), self.columns.len());
        if count != expected {
            let fields = if count == 1 { "field" } else { "fields" };
            return Item::malformed(line, format!("{count} {fields}, the header has {expected}"));
        }
        let key = self.row.fields().nth(self.key).unwrap_or_default();
        if key.is_empty() {
            return Item::malformed(line, format!("field {:?} is empty", self.columns[self.key]));
        }
        match self.object() {
            Ok(value) => Item::Record(Record {
                line,
                key: key.to_vec(),
                value,
                expires_at_ms: None,
            }),
            Err(reason) => Item::malformed(line, reason),
        }
    }

    fn object(&self) -> Result<Vec<u8>, String> {
        let mut value = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut value);
        let mut map = serializer
            .serialize_map(Some(self.columns.len()))
            .map_err(|error| error.to_string())?;
        for (name, field) in self.columns.iter().zip(self.row.fields()) {
            let field =
                std::str::from_utf8(field).map_err(|_| format!("field {name:?} is not UTF-8"))?;
            map.serialize_entry(name, field)
                .map_err(|error| error.to_string())?;
        }
        map.end().map_err(|error| error.to_string())?;
        Ok(value)
    }
}

impl<R: BufRead> Records for Csv<R> {
    fn next(&mut self) -> io::Result<Option<Item>> {
        Ok(self.rows.next(&mut self.row)?.then(|| self.item()))
    }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
