//! What every format yields.

use std::io;

/// One record, ready to be put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The line it begins on, from 1.
    pub line: u64,
    /// The key field's bytes, never empty.
    pub key: Vec<u8>,
    /// What is stored.
    pub value: Vec<u8>,
    /// When it is gone, in milliseconds since 1970, where the file says so.
    pub expires_at_ms: Option<u64>,
}

/// A record that cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Malformed {
    /// The line it begins on, from 1.
    pub line: u64,
    /// What is wrong with it, in one line.
    pub reason: String,
}

/// The next thing of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A good record.
    Record(Record),
    /// A bad one; reading goes on behind it.
    Malformed(Malformed),
}

impl Item {
    /// A bad record.
    pub fn malformed(line: u64, reason: impl Into<String>) -> Item {
        Item::Malformed(Malformed {
            line,
            reason: reason.into(),
        })
    }
}

/// A format being read.
pub trait Records {
    /// The next item, `None` at the end. An error is one of the input itself and ends it.
    fn next(&mut self) -> io::Result<Option<Item>>;
}

/// The complaint about a record above the limit.
pub(crate) fn too_long(limit_bytes: usize) -> String {
    format!("longer than {limit_bytes} bytes")
}
