//! What stands where in a log file, read as docs/formats.md has it and without the code under test.
#![allow(dead_code)]

use dunlin_log::Index;
use std::ops::Range;

pub const BLOCK_SIZE: usize = 4096;
const LEGACY: usize = 7;
const NUMBERED: usize = 11;
const HEADER: u8 = 192;
const MARK: u8 = 194;
const PAD: u8 = 196;

/// A physical record.
#[derive(Debug, Clone)]
pub struct Physical {
    pub bytes: Range<usize>,
    pub payload: Range<usize>,
    pub code: u8,
}

impl Physical {
    /// Where it is in a logical record or a batch.
    pub fn place(&self) -> Place {
        match self.code {
            1 | 5 | 200 | HEADER | MARK => Place::Whole,
            2 | 6 | 201 => Place::First,
            3 | 7 | 202 => Place::Middle,
            4 | 8 | 203 => Place::Last,
            PAD => Place::Pad,
            code => panic!("type {code} was not written"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Whole,
    First,
    Middle,
    Last,
    /// It says that nothing is here.
    Pad,
}

/// All physical records up to the end of the log, checksums and all. `number` is the log number in
/// their headers; none for legacy headers.
pub fn physical(file: &[u8], block_size: usize, number: Option<u32>) -> Vec<Physical> {
    let header = number.map_or(LEGACY, |_| NUMBERED);
    let mut found = Vec::new();
    for (base, block) in (0..).step_by(block_size).zip(file.chunks(block_size)) {
        let mut at = 0;
        while at + header <= block.len() {
            let code = block[at + 6];
            let counted = usize::from(u16::from_le_bytes([block[at + 4], block[at + 5]]));
            if block[at..at + LEGACY] == [0; LEGACY] {
                return found;
            }
            let end = if code >= HEADER {
                // Its length counts the log number.
                at + LEGACY + counted
            } else {
                at + header + counted
            };
            assert!(end <= block.len(), "a record crosses its block");
            let crc = crc32c::crc32c(&block[at + 6..end]);
            let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
            assert_eq!(block[at..at + 4], masked.to_le_bytes());
            if let Some(number) = number {
                assert_eq!(block[at + 7..at + 11], number.to_le_bytes());
            }
            found.push(Physical {
                bytes: base + at..base + end,
                payload: base + at + header..base + end,
                code,
            });
            at = end;
            if code == PAD {
                break;
            }
        }
    }
    found
}

/// A physical record, and what it belongs to.
#[derive(Debug, Clone)]
pub struct Piece {
    pub bytes: Range<usize>,
    pub place: Place,
    /// Where the logical record or batch begins that it belongs to; for others itself.
    pub begin: usize,
    /// Index of the first logical record that is not whole without it.
    pub index: Index,
    /// Every byte of the segment before this offset had been synced, a mark says; else 0.
    pub vouches: usize,
}

/// A segment.
pub struct Segment {
    pub number: u64,
    pub bytes: Vec<u8>,
    pub pieces: Vec<Piece>,
    pub first_index: Index,
    /// Its header says that all before it had been synced when it was begun.
    pub previous_synced: bool,
    /// Where the last piece ends.
    pub end: usize,
    /// Payloads of its logical records, in order.
    pub records: Vec<Vec<u8>>,
    /// Compressed batches in it.
    pub batches: usize,
}

pub fn segment(number: u64, bytes: Vec<u8>) -> Segment {
    let physical = physical(&bytes, BLOCK_SIZE, Some(number as u32));
    let head = &bytes[physical[0].payload.clone()];
    assert_eq!(
        (physical[0].code, &head[..8]),
        (HEADER, &b"DUNLOG\0\x02"[..])
    );
    let u64_at = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
    assert_eq!(u64_at(8), number);
    let first_index = u64_at(16);
    let previous_synced = head[29] == 1;
    let mut records = Vec::new();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut gathered = Vec::new();
    let mut batches = 0;
    for it in &physical {
        let place = it.place();
        let payload = &bytes[it.payload.clone()];
        let begin = match place {
            Place::Middle | Place::Last => pieces.last().unwrap().begin,
            _ => it.bytes.start,
        };
        let vouches = match it.code {
            MARK => u64::from_le_bytes(payload.try_into().unwrap()) as usize,
            _ => 0,
        };
        pieces.push(Piece {
            bytes: it.bytes.clone(),
            place,
            begin,
            index: first_index + records.len() as u64,
            vouches,
        });
        if matches!(it.code, HEADER | MARK | PAD) {
            continue;
        }
        gathered.extend_from_slice(payload);
        if matches!(place, Place::Whole | Place::Last) {
            let whole = std::mem::take(&mut gathered);
            if it.code >= 200 {
                batches += 1;
                records.extend(unpacked(&whole));
            } else {
                records.push(whole);
            }
        }
    }
    let end = pieces.last().unwrap().bytes.end;
    Segment {
        number,
        bytes,
        pieces,
        first_index,
        previous_synced,
        end,
        records,
        batches,
    }
}

/// The records of a batch.
fn unpacked(payload: &[u8]) -> Vec<Vec<u8>> {
    let (head, compressed) = payload.split_at(9);
    let u32_at = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let (count, length) = (u32_at(&head[1..]), u32_at(&head[5..]));
    let raw = match head[0] {
        1 => lz4_flex::block::decompress(compressed, length).unwrap(),
        2 => zstd::bulk::decompress(compressed, length).unwrap(),
        codec => panic!("codec {codec} was not written"),
    };
    let mut rest = &raw[..];
    let records = (0..count)
        .map(|_| {
            let (record, after) = rest[4..].split_at(u32_at(rest));
            rest = after;
            record.to_vec()
        })
        .collect();
    assert!(rest.is_empty());
    records
}

impl Segment {
    /// Where the end of the last whole thing that is no padding is, before a piece.
    pub fn whole_before(&self, piece: &Piece) -> usize {
        self.pieces
            .iter()
            .filter(|other| matches!(other.place, Place::Whole | Place::Last))
            .map(|other| other.bytes.end)
            .take_while(|end| *end <= piece.begin)
            .last()
            .unwrap_or(0)
    }

    /// Where the last thing before a piece ends that leads to it.
    pub fn valid_before(&self, piece: &Piece) -> usize {
        if piece.begin == piece.bytes.start {
            self.whole_before(piece)
        } else {
            self.pieces
                .iter()
                .map(|other| other.bytes.end)
                .take_while(|end| *end <= piece.bytes.start)
                .last()
                .unwrap_or(0)
        }
    }

    /// Where nothing has been written: the header that would come next.
    pub fn next_header(&self) -> usize {
        match BLOCK_SIZE - self.end % BLOCK_SIZE {
            left if left < NUMBERED => self.end + left,
            _ => self.end,
        }
    }

    /// Whether a piece is of the segment header or the preamble.
    pub fn is_beginning(&self, piece: &Piece) -> bool {
        piece.index == self.first_index
    }
}
