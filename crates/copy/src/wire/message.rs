//! Messages: their kinds, and the bodies that are not JSON. See `docs/formats.md` section 7.

use serde::{Deserialize, Serialize};

use super::pair::Tally;
use crate::plan::{Hex, Key, Plan};

/// Kinds of frames.
pub(crate) mod kind {
    pub const LOOK: u8 = 1;
    pub const OPEN: u8 = 2;
    pub const ATTACH: u8 = 3;
    pub const BEGIN: u8 = 4;
    pub const PAIRS: u8 = 5;
    pub const BYTES: u8 = 6;
    pub const END: u8 = 7;
    pub const FINISH: u8 = 8;
    pub const DIGEST: u8 = 9;
    pub const FOUND: u8 = 64;
    pub const OPENED: u8 = 65;
    pub const DONE: u8 = 66;
    pub const FINISHED: u8 = 67;
    pub const DIGESTED: u8 = 68;
    pub const REFUSED: u8 = 69;
    pub const BUSY: u8 = 70;
}

/// What is at a target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// What the directory holds, a partial copy apart.
    pub holds: Holds,
    /// The plan of the copy that was begun there and is not whole.
    pub partial: Option<Plan>,
    /// How many of its units are done.
    pub done: usize,
    /// The copy that made the database what it is, when it has not been opened since.
    pub receipt: Option<Receipt>,
}

/// What a directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holds {
    /// Nothing, or it does not exist.
    Nothing,
    /// A database.
    Database,
    /// Something else.
    Other,
}

/// The file that stays at a target that is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Version of this form.
    pub format: u32,
    /// The copy.
    pub copy_id: Hex,
    /// What its source held.
    pub fingerprint: Hex,
    /// Where that was.
    pub source: String,
    /// Pairs copied; 0 when files were.
    pub pairs: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// Sum of the units' checksums.
    pub checksum: Hex,
    /// The content of `CURRENT`.
    pub current: String,
    /// Bytes of the manifest it names.
    pub manifest_bytes: u64,
}

/// Which units need not be sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub copy_id: Hex,
    pub done: Vec<u32>,
}

/// A body that is not what its kind demands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) fn encode_tally(tally: &Tally) -> Vec<u8> {
    let mut body = Vec::with_capacity(32);
    body.extend_from_slice(&tally.pairs.to_le_bytes());
    body.extend_from_slice(&tally.bytes.to_le_bytes());
    body.extend_from_slice(&tally.checksum.to_le_bytes());
    body
}

pub(crate) fn decode_tally(body: &[u8]) -> Result<Tally, Malformed> {
    let (pairs, rest) = body.split_first_chunk().ok_or(Malformed)?;
    let (bytes, rest) = rest.split_first_chunk().ok_or(Malformed)?;
    Ok(Tally {
        pairs: u64::from_le_bytes(*pairs),
        bytes: u64::from_le_bytes(*bytes),
        checksum: decode_id(rest)?,
    })
}

pub(crate) fn decode_id(body: &[u8]) -> Result<u128, Malformed> {
    let bytes = body.try_into().map_err(|_| Malformed)?;
    Ok(u128::from_le_bytes(bytes))
}

pub(crate) fn decode_unit(body: &[u8]) -> Result<u32, Malformed> {
    let bytes = body.try_into().map_err(|_| Malformed)?;
    Ok(u32::from_le_bytes(bytes))
}

pub(crate) fn encode_refused(code: u16, text: &str) -> Vec<u8> {
    [&code.to_le_bytes()[..], text.as_bytes()].concat()
}

pub(crate) fn decode_refused(body: &[u8]) -> Result<(u16, String), Malformed> {
    let (code, text) = body.split_first_chunk().ok_or(Malformed)?;
    let text = String::from_utf8_lossy(text).into_owned();
    Ok((u16::from_le_bytes(*code), text))
}

/// The stretch whose digest is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DigestRequest {
    pub column_family: String,
    pub start: Option<Key>,
    pub end: Option<Key>,
}

impl DigestRequest {
    pub fn encode(&self) -> Vec<u8> {
        let empty = Vec::new();
        let bytes = |key: &Option<Key>| key.as_ref().map_or(empty.clone(), |key| key.0.clone());
        let (start, end) = (bytes(&self.start), bytes(&self.end));
        let mut body = Vec::new();
        body.extend_from_slice(&(self.column_family.len() as u16).to_le_bytes());
        body.extend_from_slice(self.column_family.as_bytes());
        body.push(u8::from(self.start.is_some()));
        body.push(u8::from(self.end.is_some()));
        body.extend_from_slice(&(start.len() as u32).to_le_bytes());
        body.extend_from_slice(&start);
        body.extend_from_slice(&end);
        body
    }

    pub fn decode(body: &[u8]) -> Result<DigestRequest, Malformed> {
        let (length, rest) = body.split_first_chunk().ok_or(Malformed)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (name, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
        let (&[has_start, has_end], rest) = rest.split_first_chunk().ok_or(Malformed)?;
        let (length, rest) = rest.split_first_chunk().ok_or(Malformed)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (start, end) = rest.split_at_checked(length).ok_or(Malformed)?;
        Ok(DigestRequest {
            column_family: String::from_utf8(name.to_vec()).map_err(|_| Malformed)?,
            start: (has_start == 1).then(|| Key(start.to_vec())),
            end: (has_end == 1).then(|| Key(end.to_vec())),
        })
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
