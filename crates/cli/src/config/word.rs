//! Settings that are one of a few words, by their own reading and writing.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes a word.
pub fn serialize<T: Display, S: Serializer>(
    word: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match word {
        Some(word) => serializer.collect_str(word),
        None => serializer.serialize_none(),
    }
}

/// Reads a word; a wrong one says which there are.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}
