//! Rows as bytes that compare. Pure.
//!
//! Of a range, which has a place in the store: `p | place | v | key, escaped | 0 0 | version, inverted` -> kind and value;
//! `p | place | i | key` -> the intent of a transaction; `p | place | r | transaction` -> what became of it.
//! `p | place | n | time | name` -> what became of what a client calls by that name.
//! `m | group` -> what is known of a range; `d | group` -> its descriptor; `g | group` -> the least number of a new replica.

use dunlin_entry::Version;

/// Prefix of the rows of ranges.
const RANGE: u8 = b'p';
/// Versions of values.
const VERSIONS: u8 = b'v';
/// Intents.
pub(crate) const INTENTS: u8 = b'i';
/// Records of transactions.
pub(crate) const RECORDS: u8 = b'r';
/// Names that clients give transactions.
const NAMES: u8 = b'n';
/// Prefix of what is known of groups.
pub(crate) const META: u8 = b'm';
/// Prefix of their descriptors.
const DESCRIPTOR: u8 = b'd';
/// Prefix of the rest of removed groups.
const GONE: u8 = b'g';
/// Bytes behind an escaped key: its end and the version.
const BEHIND: usize = 10;
/// Bytes that name the place.
pub(crate) const PREFIX: usize = 5;
/// Bytes before a key.
const BEFORE: usize = PREFIX + 1;

/// The beginning of all rows of a place.
pub(crate) fn of_place(place: u32) -> [u8; PREFIX] {
    let mut prefix = [RANGE; PREFIX];
    prefix[1..].copy_from_slice(&place.to_be_bytes());
    prefix
}

/// The beginning of all rows of one kind.
pub(crate) fn of_kind(place: u32, kind: u8) -> [u8; BEFORE] {
    let mut prefix = [kind; BEFORE];
    prefix[..PREFIX].copy_from_slice(&of_place(place));
    prefix
}

/// The end of all versions of a place.
pub(crate) fn behind_versions(place: u32) -> [u8; BEFORE] {
    of_kind(place, VERSIONS + 1)
}

/// The intent of a key.
pub(crate) fn of_intent(place: u32, key: &[u8]) -> Vec<u8> {
    [&of_kind(place, INTENTS)[..], key].concat()
}

/// The record of a transaction.
pub(crate) fn of_record(place: u32, txn: Version) -> Vec<u8> {
    [&of_kind(place, RECORDS)[..], &txn.0.to_be_bytes()].concat()
}

/// What became of what a client calls by a name that is of this time.
pub(crate) fn of_name(place: u32, ms: u64, name: &[u8]) -> Vec<u8> {
    [&of_kind(place, NAMES)[..], &ms.to_be_bytes(), name].concat()
}

/// The beginning of all versions of a key, its end among it.
pub(crate) fn of_key(place: u32, key: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(BEFORE + key.len() + BEHIND);
    row.extend_from_slice(&of_kind(place, VERSIONS));
    for byte in key {
        row.push(*byte);
        if *byte == 0 {
            row.push(0xff);
        }
    }
    row.extend_from_slice(&[0, 0]);
    row
}

/// The first row of all keys from this one on.
pub(crate) fn from_key(place: u32, key: &[u8]) -> Vec<u8> {
    if key.is_empty() {
        of_kind(place, VERSIONS).to_vec()
    } else {
        of_key(place, key)
    }
}

/// A version of a key.
pub(crate) fn of_version(place: u32, key: &[u8], version: Version) -> Vec<u8> {
    let mut row = of_key(place, key);
    row.extend_from_slice(&(!version.0).to_be_bytes());
    row
}

/// All of a row but its version: what rows of one key have in common.
pub(crate) fn head(row: &[u8]) -> &[u8] {
    if is_version(row) {
        &row[..row.len() - 8]
    } else {
        row
    }
}

/// Whether a row is looked for by itself: a version, a record, or a name.
pub(crate) fn has_head(row: &[u8]) -> bool {
    let is_kind = |kind| row.first() == Some(&RANGE) && row.get(PREFIX) == Some(&kind);
    is_version(row) || is_kind(RECORDS) || is_kind(NAMES)
}

fn is_version(row: &[u8]) -> bool {
    row.len() >= BEFORE + BEHIND && row[0] == RANGE && row[PREFIX] == VERSIONS
}

/// Place, escaped key with its end, and version of a row; none where it is no version's.
pub(crate) fn split(row: &[u8]) -> Option<(&[u8], Version)> {
    if !is_version(row) {
        return None;
    }
    let (head, version) = row.split_at(row.len() - 8);
    let version = version.try_into().ok()?;
    Some((head, Version(!u64::from_be_bytes(version))))
}

/// The place of a row.
pub(crate) fn place_of(row: &[u8]) -> Option<u32> {
    let place = row.get(1..PREFIX)?.try_into().ok()?;
    Some(u32::from_be_bytes(place))
}

/// The key in a row's beginning.
pub(crate) fn key_of(head: &[u8]) -> Option<Vec<u8>> {
    let escaped = head.get(BEFORE..)?.strip_suffix(&[0, 0])?;
    let mut key = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(byte) = bytes.next() {
        key.push(*byte);
        if *byte == 0 && bytes.next() != Some(&0xff) {
            return None;
        }
    }
    Some(key)
}

/// The row of what is known of a group.
pub(crate) fn of_group(group: u64) -> [u8; 9] {
    of_number(META, group)
}

/// The row of a group's descriptor.
pub(crate) fn of_descriptor(group: u64) -> [u8; 9] {
    of_number(DESCRIPTOR, group)
}

/// The row of the least number of a replica that may be made of a group.
pub(crate) fn of_gone(group: u64) -> [u8; 9] {
    of_number(GONE, group)
}

fn of_number(prefix: u8, group: u64) -> [u8; 9] {
    let mut row = [prefix; 9];
    row[1..].copy_from_slice(&group.to_be_bytes());
    row
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
