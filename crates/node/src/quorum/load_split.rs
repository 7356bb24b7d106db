//! The pairs of a body by partition, in the order of their keys.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use dunlin_proto::pairs::{self, CheckedPairs};

use crate::placement::partition_among;

/// Bytes of pairs that go in one message.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// Encoded pairs of one partition, keys ascending, in pieces.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub pieces: Vec<Bytes>,
    /// Of keys and values.
    pub bytes: usize,
}

/// Puts the pairs of a body in order. Of a key that comes twice the last is kept.
pub(super) fn split(all: CheckedPairs, partitions: u64) -> BTreeMap<u16, Part> {
    let mut sorted: BTreeMap<u16, Vec<(Bytes, Bytes)>> = BTreeMap::new();
    for (key, value) in all {
        let partition = partition_among(&key, partitions);
        sorted.entry(partition).or_default().push((key, value));
    }
    let parts = sorted.into_iter().map(|(partition, mut pairs)| {
        if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            // The later stands behind the earlier, and is to stay.
            pairs.reverse();
            pairs.dedup_by(|a, b| a.0 == b.0);
            pairs.reverse();
        }
        (partition, encode(&pairs))
    });
    parts.collect()
}

fn encode(all: &[(Bytes, Bytes)]) -> Part {
    let mut part = Part::default();
    let mut piece = BytesMut::new();
    for (key, value) in all {
        let bytes = pairs::HEAD_BYTES + key.len() + value.len();
        if !piece.is_empty() && piece.len() + bytes > PIECE_BYTES {
            part.pieces.push(piece.split().freeze());
        }
        piece.extend_from_slice(&pairs::head(key.len(), value.len()));
        part.bytes += key.len() + value.len();
        piece.extend_from_slice(key);
        piece.extend_from_slice(value);
    }
    if !piece.is_empty() {
        part.pieces.push(piece.freeze());
    }
    part
}

impl Part {
    /// The pairs again.
    pub fn pairs(self) -> impl Iterator<Item = (Bytes, Bytes)> {
        self.pieces.into_iter().flat_map(|mut piece| {
            std::iter::from_fn(move || {
                let (key_bytes, value_bytes) = pairs::lengths(&piece)?;
                piece.advance(pairs::HEAD_BYTES);
                let key = piece.split_to(key_bytes);
                Some((key, piece.split_to(value_bytes)))
            })
        })
    }
}

#[cfg(test)]
#[path = "load_split_tests.rs"]
mod tests;
