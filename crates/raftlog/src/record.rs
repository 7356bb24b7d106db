//! Records of the log: pure. Section 17 of docs/formats.md.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use raft::eraftpb::{Entry, EntryType};

use crate::Position;

/// The first record of each segment.
pub(crate) const PREAMBLE: &[u8] = b"dunlin-raft-4";

const HAS_BEGIN: u8 = 1;
const HAS_VOTE: u8 = 2;
const HAS_COMMIT: u8 = 4;

/// What a replica has promised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vote {
    /// The newest term it knows of.
    pub term: u64,
    /// Whom it voted for in that term; 0 for nobody.
    pub vote: u64,
}

/// What one group writes at a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// Which group.
    pub group: u64,
    /// The group's log begins anew behind this: all that stands before this record is discarded.
    pub begin: Option<Position>,
    /// Its term and vote from here on.
    pub vote: Option<Vote>,
    /// Up to which entry it knew that a majority has them. With it a start knows each configuration whose majority it
    /// has acknowledged an entry to: without, it could elect by an older one.
    pub commit: Option<u64>,
    /// Entries with consecutive indexes. The first discards all earlier ones of its index and above.
    pub entries: Vec<Entry>,
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a record of a range's log cannot be read: {0}")]
pub struct Malformed(pub(crate) String);

impl Record {
    /// As it stands in the log.
    pub fn encode(&self) -> Bytes {
        let data: usize = self.entries.iter().map(|e| e.data.len() + 13).sum();
        let mut out = BytesMut::with_capacity(48 + data);
        let has = |flag: u8, is: bool| if is { flag } else { 0 };
        out.put_u8(
            has(HAS_BEGIN, self.begin.is_some())
                | has(HAS_VOTE, self.vote.is_some())
                | has(HAS_COMMIT, self.commit.is_some()),
        );
        out.put_u64_le(self.group);
        if let Some(begin) = self.begin {
            out.put_u64_le(begin.index);
            out.put_u64_le(begin.term);
        }
        if let Some(vote) = self.vote {
            out.put_u64_le(vote.term);
            out.put_u64_le(vote.vote);
        }
        if let Some(commit) = self.commit {
            out.put_u64_le(commit);
        }
        if let Some(first) = self.entries.first() {
            out.put_u64_le(first.index);
        }
        for entry in &self.entries {
            out.put_u64_le(entry.term);
            out.put_u8(entry.entry_type as u8);
            out.put_u32_le(entry.data.len() as u32);
            out.put_slice(&entry.data);
        }
        out.freeze()
    }

    /// Out of the log.
    ///
    /// # Errors
    /// When the bytes are not a record's.
    pub fn decode(mut from: Bytes) -> Result<Record, Malformed> {
        let from = &mut from;
        let flags = from.try_get_u8().map_err(malformed)?;
        if flags & !(HAS_BEGIN | HAS_VOTE | HAS_COMMIT) != 0 {
            return Err(malformed(format!("unknown flags {flags:#x}")));
        }
        let group = from.try_get_u64_le().map_err(malformed)?;
        let begin = match flags & HAS_BEGIN {
            0 => None,
            _ => Some(Position {
                index: get_u64(from)?,
                term: get_u64(from)?,
            }),
        };
        let vote = match flags & HAS_VOTE {
            0 => None,
            _ => Some(Vote {
                term: get_u64(from)?,
                vote: get_u64(from)?,
            }),
        };
        let commit = match flags & HAS_COMMIT {
            0 => None,
            _ => Some(get_u64(from)?),
        };
        let mut entries = Vec::new();
        if from.has_remaining() {
            let mut index = get_u64(from)?;
            while from.has_remaining() {
                entries.push(get_entry(from, index)?);
                index = index.checked_add(1).ok_or_else(|| malformed("index"))?;
            }
        }
        Ok(Record {
            group,
            begin,
            vote,
            commit,
            entries,
        })
    }
}

fn get_entry(from: &mut Bytes, index: u64) -> Result<Entry, Malformed> {
    let term = get_u64(from)?;
    let kind = from.try_get_u8().map_err(malformed)?;
    let entry_type = [EntryType::EntryNormal, EntryType::EntryConfChangeV2];
    let entry_type = entry_type.into_iter().find(|known| *known as u8 == kind);
    let entry_type =
        entry_type.ok_or_else(|| malformed(format!("unknown kind of entry {kind}")))?;
    let length = from.try_get_u32_le().map_err(malformed)? as usize;
    if length > from.len() {
        return Err(malformed(format!(
            "{length} bytes announced, {} left",
            from.len()
        )));
    }
    let mut entry = Entry {
        index,
        term,
        data: from.split_to(length).into(),
        ..Entry::default()
    };
    entry.set_entry_type(entry_type);
    Ok(entry)
}

fn get_u64(from: &mut Bytes) -> Result<u64, Malformed> {
    from.try_get_u64_le().map_err(malformed)
}

fn malformed(why: impl ToString) -> Malformed {
    Malformed(why.to_string())
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
