//! Pairs of key and value, and the checksum of a set of them.

use std::iter::FusedIterator;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes of the lengths before key and value.
pub(crate) const HEAD_BYTES: usize = 8;

/// Appends `key_length u32 | value_length u32 | key | value`; answers where it begins.
pub(crate) fn push(out: &mut Vec<u8>, key: &[u8], value: &[u8]) -> usize {
    let begin = out.len();
    out.reserve(HEAD_BYTES + key.len() + value.len());
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
    begin
}

/// Values above this many bytes are hashed where they are; below, joining is faster.
const JOINED_BYTES_MAX: usize = 4 << 10;

/// The hash of a pair as [`push`] would encode it; `scratch` is memory to do it in.
pub(crate) fn hash(scratch: &mut Vec<u8>, key: &[u8], value: &[u8]) -> u128 {
    scratch.clear();
    if value.len() <= JOINED_BYTES_MAX {
        push(scratch, key, value);
        return xxh3_128(scratch);
    }
    scratch.extend_from_slice(&(key.len() as u32).to_le_bytes());
    scratch.extend_from_slice(&(value.len() as u32).to_le_bytes());
    scratch.extend_from_slice(key);
    let mut hash = Xxh3::new();
    hash.update(scratch);
    hash.update(value);
    hash.digest128()
}

/// One pair in a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pair<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
    /// Both with their lengths, which is what checksums cover.
    pub encoded: &'a [u8],
}

/// Bytes that are not pairs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The pairs of a buffer.
pub(crate) struct Pairs<'a>(pub &'a [u8]);

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<Pair<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let pair = take(&mut self.0);
        if pair.is_none() {
            self.0 = &[];
        }
        Some(pair.ok_or(Malformed))
    }
}

impl FusedIterator for Pairs<'_> {}

fn take<'a>(input: &mut &'a [u8]) -> Option<Pair<'a>> {
    let (lengths, rest) = input.split_first_chunk::<HEAD_BYTES>()?;
    let [k0, k1, k2, k3, v0, v1, v2, v3] = *lengths;
    let key_length = u32::from_le_bytes([k0, k1, k2, k3]) as usize;
    let value_length = u32::from_le_bytes([v0, v1, v2, v3]) as usize;
    let (key, rest) = rest.split_at_checked(key_length)?;
    let (value, rest) = rest.split_at_checked(value_length)?;
    let encoded = &input[..HEAD_BYTES + key_length + value_length];
    *input = rest;
    Some(Pair {
        key,
        value,
        encoded,
    })
}

/// What a set of pairs, or a stretch of a file, comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pairs.
    pub pairs: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Sum of the pairs' hashes, so the same in whatever order.
    pub checksum: u128,
}

impl Tally {
    /// Adds a pair as [`push`] encoded it.
    pub(crate) fn add(&mut self, encoded: &[u8]) {
        self.add_hashed(encoded.len() - HEAD_BYTES, xxh3_128(encoded));
    }

    /// Adds a pair with so many bytes of key and value, and this [`hash`].
    pub(crate) fn add_hashed(&mut self, bytes: usize, hash: u128) {
        self.pairs += 1;
        self.bytes += bytes as u64;
        self.checksum = self.checksum.wrapping_add(hash);
    }

    /// Adds another set.
    pub(crate) fn merge(&mut self, other: &Tally) {
        self.pairs += other.pairs;
        self.bytes += other.bytes;
        self.checksum = self.checksum.wrapping_add(other.checksum);
    }
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
