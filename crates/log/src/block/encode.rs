//! Payloads to blocks.

use super::{FRAGMENT_MAX, Kind, LEGACY_HEADER, RECYCLABLE_HEADER, checksum::mask};
use crate::options::Padding;

/// Which header the records get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 7 bytes, as LevelDB writes them.
    Legacy,
    /// 11 bytes, with the low 32 bits of the log's number.
    Recyclable(u32),
}

/// Turns payloads into physical records, keeping track of where in a block it is.
#[derive(Debug, Clone)]
pub struct Encoder {
    block_size: usize,
    padding: Padding,
    form: Form,
    header: usize,
    /// Offset in the current block; may equal the block size.
    at: usize,
    /// Checksums of type and log number, by kind: what every record of a kind begins with.
    seeds: [u32; Kind::ALL.len()],
}

impl Encoder {
    /// An encoder for a stream of which `position` bytes are already written.
    /// `block_size_bytes` must be more than a header; `Options` holds it to 4 KiB and above.
    pub fn new(block_size_bytes: u32, padding: Padding, form: Form, position: u64) -> Encoder {
        let block_size = block_size_bytes as usize;
        let (header, number) = match form {
            Form::Legacy => (LEGACY_HEADER, None),
            Form::Recyclable(number) => (RECYCLABLE_HEADER, Some(number)),
        };
        let seeds = Kind::ALL.map(|kind| {
            let crc = crc32c::crc32c(&[kind.code(number.is_some())]);
            number.map_or(crc, |number| {
                crc32c::crc32c_append(crc, &number.to_le_bytes())
            })
        });
        Encoder {
            block_size,
            padding,
            form,
            header,
            at: (position % u64::from(block_size_bytes)) as usize,
            seeds,
        }
    }

    /// Appends one logical record to `out`, split as blocks and padding ask.
    pub fn record(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let kinds = [Kind::Full, Kind::First, Kind::Middle, Kind::Last];
        self.split(kinds, FRAGMENT_MAX, payload, out);
    }

    /// Appends a compressed batch to `out`, split as a record is. Only in recyclable form.
    pub(crate) fn batch(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let kinds = [
            Kind::BatchFull,
            Kind::BatchFirst,
            Kind::BatchMiddle,
            Kind::BatchLast,
        ];
        // Its length counts the log number.
        let fragment_max = FRAGMENT_MAX - (RECYCLABLE_HEADER - LEGACY_HEADER);
        self.split(kinds, fragment_max, payload, out);
    }

    /// Appends a payload, whole or in fragments of at most `fragment_max` bytes.
    fn split(
        &mut self,
        [full, first_of, middle, last]: [Kind; 4],
        fragment_max: usize,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) {
        self.skip_tail(self.header, out);
        if self.padding == Padding::Pad && self.at > 0 {
            let needed = self.encoded(payload.len(), fragment_max);
            if needed > self.block_size - self.at && needed <= self.block_size {
                self.pad(out);
            }
        }
        let mut rest = payload;
        let mut first = true;
        loop {
            self.skip_tail(self.header, out);
            let room = (self.block_size - self.at - self.header).min(fragment_max);
            let (piece, after) = rest.split_at(rest.len().min(room));
            let kind = match (first, after.is_empty()) {
                (true, true) => full,
                (true, false) => first_of,
                (false, false) => middle,
                (false, true) => last,
            };
            self.physical(kind, piece, out);
            rest = after;
            first = false;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Appends a record of Dunlin's own, never split. Only in recyclable form; `payload` must fit
    /// in a block.
    pub(crate) fn own(&mut self, kind: Kind, payload: &[u8], out: &mut Vec<u8>) {
        self.skip_tail(self.header, out);
        if self.block_size - self.at < self.header + payload.len() {
            self.pad(out);
        }
        self.physical(kind, payload, out);
    }

    /// Bytes that a payload of this length takes when it begins in an empty block.
    fn encoded(&self, length: usize, fragment_max: usize) -> usize {
        length + self.header * length.div_ceil(fragment_max).max(1)
    }

    /// Fills the rest of a block in which not even `needed` bytes are left.
    fn skip_tail(&mut self, needed: usize, out: &mut Vec<u8>) {
        let left = self.block_size - self.at;
        if left < needed {
            out.resize(out.len() + left, 0);
            self.at = 0;
        }
    }

    /// Says that the rest of the block is empty. At least a header is left.
    fn pad(&mut self, out: &mut Vec<u8>) {
        // Legacy readers know no pad record; zeros are all they need.
        if matches!(self.form, Form::Recyclable(_)) {
            self.physical(Kind::Pad, &[], out);
        }
        let left = self.block_size - self.at;
        out.resize(out.len() + left, 0);
        self.at = 0;
    }

    fn physical(&mut self, kind: Kind, piece: &[u8], out: &mut Vec<u8>) {
        let crc = mask(crc32c::crc32c_append(self.seeds[kind.index()], piece));
        let mut header = [0; RECYCLABLE_HEADER];
        let counted = piece.len()
            + if kind.is_own() {
                RECYCLABLE_HEADER - LEGACY_HEADER
            } else {
                0
            };
        header[..4].copy_from_slice(&crc.to_le_bytes());
        header[4..6].copy_from_slice(&(counted as u16).to_le_bytes());
        match self.form {
            Form::Legacy => header[6] = kind.code(false),
            Form::Recyclable(number) => {
                header[6] = kind.code(true);
                header[7..].copy_from_slice(&number.to_le_bytes());
            }
        }
        out.extend_from_slice(&header[..self.header]);
        out.extend_from_slice(piece);
        self.at += self.header + piece.len();
    }
}
