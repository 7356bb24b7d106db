//! Keys and values of an index's database. `docs/formats.md`, section 16.
//!
//! | key | value |
//! |---|---|
//! | `a` key partition | what the rows of a key are reduced to, of one partition's documents |
//! | `d` partition id | a document's rank, and its rows' keys |
//! | `f` partition id | why a document was skipped |
//! | `g` partition | it is being built |
//! | `r` key id n | a row's partition and value |
//! | `s` | counts; rows of each partition |
//! | `t` | the token |
//! | `v` | what the index was made by |
//! | `x` version partition id | a delete, by its version |

use bytes::{Buf, BufMut, Bytes};
use dunlin_entry::{Origin, Position, Rank, Replaces, Stamp, Version};

use crate::reduce::Reduce;

pub(crate) const AGGREGATE: u8 = b'a';
pub(crate) const DOCUMENT: u8 = b'd';
pub(crate) const FAILURE: u8 = b'f';
pub(crate) const BUILDING: u8 = b'g';
pub(crate) const ROW: u8 = b'r';
pub(crate) const COUNTS: &[u8] = b"s";
pub(crate) const TOKEN: &[u8] = b"t";
pub(crate) const MADE_BY: &[u8] = b"v";
pub(crate) const DELETE: u8 = b'x';

/// What an index knows of a document: the newest change of it that was seen, and the rows that were made of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    pub rank: Rank,
    /// Its place in its origin's log, if its version and origin do not say that.
    pub logged: Option<Position>,
    /// The change was a delete.
    pub is_delete: bool,
    /// Its map function failed.
    pub has_failed: bool,
    /// Keys of its rows, and what they count for where they are added up.
    pub rows: Vec<(Vec<u8>, f64)>,
}

impl Known {
    pub fn encode(&self, reduce: Option<Reduce>) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + self.rows.len() * 32);
        let replaces = self.rank.replaces();
        let is_mend = replaces.is_some_and(|replaces| replaces.is_mend);
        let flags = [
            self.is_delete,
            self.has_failed,
            is_expiry(self.rank),
            replaces.is_some(),
            is_mend,
            self.logged.is_some(),
        ];
        let flags = flags
            .iter()
            .rev()
            .fold(0, |all, flag| all << 1 | u8::from(*flag));
        out.put_u8(flags);
        put_stamp(&mut out, self.rank.stamp());
        if let Some(replaces) = replaces {
            put_stamp(&mut out, replaces.stamp);
        }
        if let Some(Position { origin, sequence }) = self.logged {
            put_stamp(&mut out, Stamp::new(sequence, origin));
        }
        let is_summed = reduce == Some(Reduce::Sum);
        for (key, number) in &self.rows {
            out.put_u16_le(key.len() as u16);
            out.put_slice(key);
            if is_summed {
                out.put_f64_le(*number);
            }
        }
        out
    }

    pub fn decode(reduce: Option<Reduce>, mut bytes: &[u8]) -> Option<Known> {
        let flags = bytes.try_get_u8().ok()?;
        let flag = |n: u8| flags >> n & 1 == 1;
        let stamp = get_stamp(&mut bytes)?;
        let replaces = if flag(3) {
            Some(Replaces {
                stamp: get_stamp(&mut bytes)?,
                is_mend: flag(4),
            })
        } else {
            None
        };
        let logged = if flag(5) {
            Some(get_stamp(&mut bytes)?.into())
        } else {
            None
        };
        let is_summed = reduce == Some(Reduce::Sum);
        let mut rows = Vec::new();
        while bytes.has_remaining() {
            let length = usize::from(bytes.try_get_u16_le().ok()?);
            let (key, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            let number = if is_summed {
                bytes.try_get_f64_le().ok()?
            } else {
                0.0
            };
            rows.push((key.to_vec(), number));
        }
        Some(Known {
            rank: Rank::new(stamp, replaces).with_expiry(flag(2)),
            logged,
            is_delete: flag(0),
            has_failed: flag(1),
            rows,
        })
    }
}

/// Whether it is that of the end of a value.
fn is_expiry(rank: Rank) -> bool {
    rank == rank.with_expiry(true)
}

fn put_stamp(out: &mut Vec<u8>, stamp: Stamp) {
    out.put_u64_le(stamp.version.0);
    out.put_u64_le(stamp.origin.0);
}

fn get_stamp(bytes: &mut &[u8]) -> Option<Stamp> {
    let version = Version(bytes.try_get_u64_le().ok()?);
    Some(Stamp::new(version, Origin(bytes.try_get_u64_le().ok()?)))
}

/// The key of what is known of a document, or of why it was skipped.
pub(crate) fn of_document(kind: u8, partition: u16, id: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(3 + id.len());
    key.push(kind);
    key.put_u16(partition);
    key.extend_from_slice(id);
    key
}

/// Partition and id of such a key.
pub(crate) fn document_of(key: &[u8]) -> Option<(u16, &[u8])> {
    let mut rest = key.get(1..)?;
    let partition = rest.try_get_u16().ok()?;
    Some((partition, rest))
}

/// The key of a delete.
pub(crate) fn of_delete(version: Version, partition: u16, id: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(11 + id.len());
    key.push(DELETE);
    key.put_u64(version.0);
    key.put_u16(partition);
    key.extend_from_slice(id);
    key
}

/// Version, partition and id of such a key.
pub(crate) fn delete_of(key: &[u8]) -> Option<(Version, u16, &[u8])> {
    let mut rest = key.get(1..)?;
    let version = Version(rest.try_get_u64().ok()?);
    let partition = rest.try_get_u16().ok()?;
    Some((version, partition, rest))
}

/// The key of an aggregate.
pub(crate) fn of_aggregate(key: &[u8], partition: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(3 + key.len());
    out.push(AGGREGATE);
    out.extend_from_slice(key);
    out.put_u16(partition);
    out
}

/// An id so that ids in keys compare as they do, whatever follows.
pub(crate) fn put_id(out: &mut Vec<u8>, id: &[u8]) {
    for byte in id {
        match byte {
            0 => out.extend_from_slice(&[0, 0xff]),
            byte => out.push(*byte),
        }
    }
    out.extend_from_slice(&[0, 1]);
}

/// The place of a row among all rows: its key, its document, which of its document's rows it is. What a row's database
/// key is behind its first byte.
pub(crate) fn place_of(key: &[u8], id: &[u8], n: u16) -> Vec<u8> {
    let mut place = Vec::with_capacity(key.len() + id.len() + 4);
    place.extend_from_slice(key);
    put_id(&mut place, id);
    place.put_u16(n);
    place
}

/// The key's bytes in a row's place, and the document's id.
pub(crate) fn row_of(place: &[u8]) -> Option<(&[u8], Bytes)> {
    let length = crate::collate::length(place).ok()?;
    let (key, rest) = place.split_at(length);
    let mut id = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter();
    loop {
        match (bytes.next()?, id.len()) {
            (0, _) => match bytes.next()? {
                0xff => id.push(0),
                _ => return Some((key, id.into())),
            },
            (byte, _) => id.push(*byte),
        }
    }
}

/// The database key of a row at a place.
pub(crate) fn of_row(place: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + place.len());
    key.push(ROW);
    key.extend_from_slice(place);
    key
}

/// The least that is above all that begins with this.
pub(crate) fn after(prefix: &[u8]) -> Vec<u8> {
    let mut after = prefix.to_vec();
    while let Some(last) = after.pop() {
        if last < 0xff {
            after.push(last + 1);
            break;
        }
    }
    after
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
