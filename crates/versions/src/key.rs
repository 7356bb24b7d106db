//! Rows as bytes that compare. Pure.
//!
//! `v | place | key, escaped | 0 0 | version, inverted` -> kind and value; `m | group` -> what is known of it.

use dunlin_entry::Version;

/// Prefix of versions of values.
const VERSIONS: u8 = b'v';
/// Prefix of what is known of groups.
pub(crate) const META: u8 = b'm';
/// Bytes behind an escaped key: its end and the version.
const BEHIND: usize = 10;
/// Bytes before it.
pub(crate) const PREFIX: usize = 5;

/// The beginning of all rows of a place.
pub(crate) fn of_place(place: u32) -> [u8; PREFIX] {
    let mut prefix = [VERSIONS; PREFIX];
    prefix[1..].copy_from_slice(&place.to_be_bytes());
    prefix
}

/// The beginning of all versions of a key, its end among it.
pub(crate) fn of_key(place: u32, key: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(PREFIX + key.len() + BEHIND);
    row.extend_from_slice(&of_place(place));
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
    match key.is_empty() {
        true => of_place(place).to_vec(),
        false => of_key(place, key),
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
    match has_head(row) {
        true => &row[..row.len() - 8],
        false => row,
    }
}

/// Whether a row is a version's.
pub(crate) fn has_head(row: &[u8]) -> bool {
    row.len() >= PREFIX + BEHIND && row[0] == VERSIONS
}

/// Place, escaped key with its end, and version of a row; none where it is no version's.
pub(crate) fn split(row: &[u8]) -> Option<(&[u8], Version)> {
    if !has_head(row) {
        return None;
    }
    let (head, version) = row.split_at(row.len() - 8);
    let version = version.try_into().ok()?;
    Some((head, Version(!u64::from_be_bytes(version))))
}

/// The key in a row's beginning.
pub(crate) fn key_of(head: &[u8]) -> Option<Vec<u8>> {
    let escaped = head.get(PREFIX..)?.strip_suffix(&[0, 0])?;
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
pub(crate) fn of_group(group: u32) -> [u8; 5] {
    let mut row = [META; 5];
    row[1..].copy_from_slice(&group.to_be_bytes());
    row
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
