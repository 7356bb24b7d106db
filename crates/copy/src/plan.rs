//! The plan of a copy: what it is of, how it goes, and the units it consists of. A unit is what is
//! sent as a whole or again from its beginning.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::codec::Compression;

/// The version of the plan's form.
pub(crate) const FORMAT: u32 = 1;

/// How the data travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The tables themselves.
    Files,
    /// Sorted ranges that become tables.
    Ingest,
    /// Pairs that are inserted into memtables, the log off.
    Insert,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Files => "files",
            Mode::Ingest => "ingest",
            Mode::Insert => "insert",
        })
    }
}

/// What the copy does about a database that is at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Onto {
    /// There must be none.
    Empty,
    /// Pairs are added to it; the copy's win.
    Merge,
    /// It goes.
    Replace,
}

/// 128 bits, as 32 hexadecimal digits in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hex(pub u128);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u128::from_str_radix(&text, 16);
        number.map(Hex).map_err(serde::de::Error::custom)
    }
}

/// A key, in base64 in JSON.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub Vec<u8>);

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text);
        bytes.map(Key).map_err(serde::de::Error::custom)
    }
}

/// A stretch of a column family's keys, or of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Unit {
    /// Keys from `start` to `end`, which does not belong to it.
    Range(Range),
    /// A part of a file.
    Part(Part),
}

/// Keys from `start` to `end`, which does not belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Name of the column family.
    pub column_family: String,
    /// The first key; absent: from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Key>,
    /// The key behind the last; absent: to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Key>,
    /// About how many bytes of tables hold it.
    pub size_bytes: u64,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of the file, without a directory.
    pub file: String,
    /// Where the part begins.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// Bytes of the whole file.
    pub file_length: u64,
}

impl Unit {
    /// About how many bytes it is, on disk.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Unit::Range(range) => range.size_bytes,
            Unit::Part(part) => part.length,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = |key: &Option<Key>| {
            key.as_ref()
                .map_or_else(String::new, |key| key.0.escape_ascii().to_string())
        };
        match self {
            Unit::Range(range) => write!(
                f,
                "{} [{}..{})",
                range.column_family,
                key(&range.start),
                key(&range.end)
            ),
            Unit::Part(part) if part.length == part.file_length => f.write_str(&part.file),
            Unit::Part(part) => write!(f, "{} from byte {}", part.file, part.offset),
        }
    }
}

/// A copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this form.
    pub format: u32,
    /// Chosen at random when the copy was begun.
    pub copy_id: Hex,
    /// What the source held.
    pub fingerprint: Hex,
    /// Where it was, for people.
    pub source: String,
    /// How the data travels.
    pub mode: Mode,
    /// What happens to a database at the target.
    pub onto: Onto,
    /// The column families.
    pub column_families: Vec<String>,
    /// Compression of tables that the target writes.
    pub table_compression: Compression,
    /// The units.
    pub units: Vec<Unit>,
}

impl Plan {
    /// What is wrong with a plan that came over the wire or from a disk.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.format != FORMAT {
            return Some(format!("a plan of form {}, not {FORMAT}", self.format));
        }
        let files = self.mode == Mode::Files;
        if files && self.onto == Onto::Merge {
            return Some("files cannot be merged into a database".to_owned());
        }
        for unit in &self.units {
            let fits = match unit {
                Unit::Range(range) => !files && self.column_families.contains(&range.column_family),
                Unit::Part(part) => files && part.is_sound(),
            };
            if !fits {
                return Some(format!("a plan with an impossible unit: {unit}"));
            }
        }
        (u32::try_from(self.units.len()).is_err()).then(|| "a plan with too many units".to_owned())
    }
}

impl Part {
    /// Whether it lies in its file, and the file in its directory.
    fn is_sound(&self) -> bool {
        let plain = !self.file.is_empty()
            && !self.file.starts_with('.')
            && !self.file.ends_with(".tmp")
            && (self.file.bytes()).all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b));
        let end = self.offset.checked_add(self.length);
        plain && end.is_some_and(|end| end <= self.file_length)
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
