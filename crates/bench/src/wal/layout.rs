//! Where every byte of a log goes, by arithmetic alone: the prediction that what is read back from
//! the file is held against.

use dunlin_log::block::{FRAGMENT_MAX, LEGACY_HEADER, RECYCLABLE_HEADER};
use dunlin_log::{Padding, SEGMENT_HEADER_LENGTH};
use serde::Serialize;

/// What a sync mark holds.
const SYNC_MARK_BYTES: u64 = 8;

/// What is done with the room at the end of a block that the next record does not fit in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Stock RocksDB: the record is split.
    Fragment,
    /// Dunlin's `pad`: left empty, unless the record is larger than a block.
    Pad,
    /// The paper's patch: left empty whenever it is smaller than what is left of the payload. It
    /// forgets the header, and pads before records that no block can hold, too.
    Patch,
}

impl Policy {
    /// The log's setting; the patch is none.
    pub fn padding(self) -> Padding {
        match self {
            Policy::Pad => Padding::Pad,
            Policy::Fragment | Policy::Patch => Padding::Fragment,
        }
    }
}

/// Which header records have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Header {
    /// RocksDB's legacy one of 7 bytes.
    Legacy,
    /// Dunlin's own segments: the recyclable one of 11 bytes.
    Recyclable,
}

impl Header {
    /// Bytes of it.
    pub fn bytes(self) -> u64 {
        match self {
            Header::Legacy => LEGACY_HEADER as u64,
            Header::Recyclable => RECYCLABLE_HEADER as u64,
        }
    }
}

/// What the bytes of a log are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// All of them: the sum of the four below.
    pub file_bytes: u64,
    /// Payloads of logical records.
    pub payload_bytes: u64,
    /// Headers of the physical records that hold those.
    pub header_bytes: u64,
    /// Block tails, zeros behind the last record of a block, and the pad records that announce
    /// them.
    pub padding_bytes: u64,
    /// Dunlin's segment headers and sync marks, with their headers.
    pub own_bytes: u64,
    /// Logical records.
    pub records: u64,
    /// Physical records that hold them.
    pub fragments: u64,
    /// Logical records in more than one physical record.
    pub records_split: u64,
}

/// A log being laid out.
#[derive(Debug, Clone)]
pub struct Layout {
    block_bytes: u64,
    policy: Policy,
    header: Header,
    counts: Counts,
}

impl Layout {
    /// An empty one.
    pub fn new(block_bytes: u32, policy: Policy, header: Header) -> Layout {
        Layout {
            block_bytes: u64::from(block_bytes),
            policy,
            header,
            counts: Counts::default(),
        }
    }

    /// A segment of Dunlin's log up to and with an empty preamble.
    pub fn segment(block_bytes: u32, policy: Policy) -> Layout {
        let mut layout = Layout::new(block_bytes, policy, Header::Recyclable);
        layout.own(SEGMENT_HEADER_LENGTH as u64);
        layout.record(0);
        layout
    }

    /// What has been laid out so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A logical record of this payload; returns the offset it begins at and the one behind it.
    pub fn record(&mut self, payload_bytes: u64) -> (u64, u64) {
        let header = self.header.bytes();
        let mut rest = payload_bytes;
        let mut fragments = 0;
        let mut begin = self.counts.file_bytes;
        loop {
            if self.pads_before(payload_bytes, rest) {
                self.fill_block();
            }
            if fragments == 0 {
                begin = self.counts.file_bytes;
            }
            let piece = rest.min(self.room() - header).min(FRAGMENT_MAX as u64);
            self.counts.file_bytes += header + piece;
            self.counts.header_bytes += header;
            rest -= piece;
            fragments += 1;
            if rest == 0 {
                break;
            }
        }
        self.counts.payload_bytes += payload_bytes;
        self.counts.records += 1;
        self.counts.fragments += fragments;
        self.counts.records_split += u64::from(fragments > 1);
        (begin, self.counts.file_bytes)
    }

    /// The mark that a log writes when it is closed.
    pub fn sync_mark(&mut self) {
        self.own(SYNC_MARK_BYTES);
        // What takes no header any more is filled with what is written.
        if self.room() < self.header.bytes() {
            self.fill_block();
        }
    }

    fn own(&mut self, payload_bytes: u64) {
        let bytes = self.header.bytes() + payload_bytes;
        if self.room() < bytes {
            self.fill_block();
        }
        self.counts.own_bytes += bytes;
        self.counts.file_bytes += bytes;
    }

    /// Whether what is left of the block stays empty before a record of which `rest` is still to
    /// be written.
    fn pads_before(&self, payload_bytes: u64, rest: u64) -> bool {
        let room = self.room();
        if room < self.header.bytes() {
            return true;
        }
        if room == self.block_bytes {
            return false;
        }
        match self.policy {
            Policy::Fragment => false,
            // In blocks of up to 64 KiB the later fragments begin in empty ones.
            Policy::Patch => rest == payload_bytes && room < rest,
            Policy::Pad => {
                let pieces = payload_bytes.div_ceil(FRAGMENT_MAX as u64).max(1);
                let whole = payload_bytes + pieces * self.header.bytes();
                rest == payload_bytes && whole > room && whole <= self.block_bytes
            }
        }
    }

    /// Bytes left in the current block: all of it at a block's end.
    fn room(&self) -> u64 {
        self.block_bytes - self.counts.file_bytes % self.block_bytes
    }

    fn fill_block(&mut self) {
        let room = self.room();
        self.counts.padding_bytes += room;
        self.counts.file_bytes += room;
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
