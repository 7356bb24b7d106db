//! What a store knows of each range.

use bytes::{Buf, BufMut};
use dunlin_entry::Version;

/// What is known of one range, in the same batch as what it tells of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meta {
    /// The replica's number in its range, for one life: no other has it, nor ever will.
    pub own: u64,
    /// A random number that it gave itself when it was made; messages to another are not for it.
    pub directory: u64,
    /// The configuration that it was prepared for, where it has none itself.
    pub config: u64,
    /// Where its rows are.
    pub place: u32,
    /// Index of the last entry that is applied.
    pub applied: u64,
    /// Its term.
    pub term: u64,
    /// The greatest timestamp that entries had: of what they wrote, or up to which they let be read.
    pub greatest: Version,
    /// Nothing at or below this timestamp is read, written or remembered any more.
    pub watermark: Version,
    /// How often its keyspace was dropped and undropped, by its log: it is dropped where that is odd.
    pub drops: u64,
    /// Whether it must not speak any more: what it once said may be forgotten here.
    pub is_mute: bool,
}

const BYTES: usize = 69;

impl Meta {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES);
        out.put_u64_le(self.own);
        out.put_u64_le(self.directory);
        out.put_u64_le(self.config);
        out.put_u32_le(self.place);
        out.put_u64_le(self.applied);
        out.put_u64_le(self.term);
        out.put_u64_le(self.greatest.0);
        out.put_u64_le(self.watermark.0);
        out.put_u64_le(self.drops);
        out.put_u8(self.is_mute.into());
        out
    }

    pub(crate) fn decode(mut from: &[u8]) -> Option<Meta> {
        if from.len() != BYTES {
            return None;
        }
        Some(Meta {
            own: from.get_u64_le(),
            directory: from.get_u64_le(),
            config: from.get_u64_le(),
            place: from.get_u32_le(),
            applied: from.get_u64_le(),
            term: from.get_u64_le(),
            greatest: Version(from.get_u64_le()),
            watermark: Version(from.get_u64_le()),
            drops: from.get_u64_le(),
            is_mute: from.get_u8() != 0,
        })
    }
}
