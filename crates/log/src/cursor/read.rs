//! Reading records from a segment, away from the event loop.

use crate::{
    Index,
    block::{Decoded, Expect, Kind, decode},
    disk::Disk,
    options::BLOCK_SIZE_BYTES_MIN,
    segment::{
        header::SegmentHeader,
        records::{Item, Records},
        scan::Scanner,
    },
};
use bytes::Bytes;
use std::{io, path::Path};

/// Where a cursor is in a segment, and what it has read around there.
pub(super) struct Place {
    number: u64,
    records: Records,
    /// The next record.
    next: Index,
    /// Its bytes, when it was read but did not fit.
    held: Option<Bytes>,
    /// How many records the last read gave: about as many as the next one will.
    given: usize,
}

/// Records with their indexes.
pub(super) type Batch = Vec<(Index, Bytes)>;

pub(super) enum ReadError {
    Damaged(u64),
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error)
    }
}

impl Place {
    /// The beginning of a segment.
    pub(super) fn open(
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        first_index: Index,
        limit: u64,
    ) -> Result<Place, ReadError> {
        let file = disk.open(path, false)?;
        let mut bytes = vec![0; BLOCK_SIZE_BYTES_MIN as usize];
        let read = file.read_at(&mut bytes, 0)?;
        let Decoded::Record {
            kind: Kind::SegmentHeader,
            payload,
        } = decode(&bytes[..read], 0, Expect::Number(number as u32))
        else {
            return Err(ReadError::Damaged(0));
        };
        let header = SegmentHeader::decode(&bytes[payload]).map_err(|_| ReadError::Damaged(0))?;
        let scanner = Scanner::new(file, number, header.block_size_bytes, limit);
        Ok(Place {
            number,
            records: Records::new(scanner),
            next: first_index,
            held: None,
            given: 0,
        })
    }

    /// Whether what is at an index is found by going on from here.
    pub(super) fn leads_to(&self, number: u64, index: Index) -> bool {
        self.number == number && self.next <= index
    }

    /// The same place, when more of the segment has been written since.
    pub(super) fn grown(mut self, limit: u64) -> Place {
        self.records.set_limit(limit);
        self
    }

    /// Reads records from `from` on: at least one, no more than `max_bytes` of payload else. Also
    /// gives the place behind them, but not where something is wrong.
    pub(super) fn read(
        mut self,
        from: Index,
        max_bytes: usize,
    ) -> Result<(Batch, Option<Place>), ReadError> {
        let mut batch = Vec::with_capacity(self.given.min(max_bytes));
        let mut bytes = 0;
        if let Some(record) = self.held.take() {
            // Others may have read it meanwhile for this one, too.
            if self.next == from {
                bytes = record.len();
                batch.push((self.next, record));
            }
            self.next += 1;
        }
        while bytes < max_bytes || batch.is_empty() {
            match self.records.next()? {
                Item::Record { .. } if self.next < from => self.next += 1,
                Item::Record { length, .. } => {
                    let record = self.records.record();
                    bytes += length;
                    if bytes > max_bytes && !batch.is_empty() {
                        self.held = Some(record);
                        break;
                    }
                    batch.push((self.next, record));
                    self.next += 1;
                }
                Item::Header { .. } | Item::Mark { .. } => {}
                Item::End { offset } | Item::Invalid { offset, .. } if batch.is_empty() => {
                    return Err(ReadError::Damaged(offset));
                }
                Item::End { .. } => break,
                // What is whole is given; the next read meets the damage again.
                Item::Invalid { .. } => return Ok((batch, None)),
            }
        }
        self.given = batch.len();
        self.records.shrink();
        Ok((batch, Some(self)))
    }
}
