//! Reading records from a segment, away from the event loop.

use crate::{
    Index,
    block::{Decoded, Expect, Kind, decode},
    disk::{Disk, DiskFile},
    options::BLOCK_SIZE_BYTES_MIN,
    segment::{
        header::SegmentHeader,
        records::{Item, Records},
        scan::Scanner,
    },
};
use bytes::Bytes;
use std::{io, path::Path, sync::Arc};

/// Where a cursor is in a segment.
pub(super) struct Place {
    file: Arc<dyn DiskFile>,
    number: u64,
    block_size_bytes: u32,
    /// The next record.
    next: Index,
    /// Where it begins, or the batch it is in.
    offset: u64,
    /// The record that begins there.
    index: Index,
    /// Bytes of the segment known to be written.
    limit: u64,
}

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
        Ok(Place {
            file,
            number,
            block_size_bytes: header.block_size_bytes,
            next: first_index,
            offset: 0,
            index: first_index,
            limit,
        })
    }

    pub(super) fn is_at(&self, number: u64, index: Index) -> bool {
        self.number == number && self.next == index
    }

    /// The same place, when more of the segment has been written since.
    pub(super) fn grown(self, limit: u64) -> Place {
        Place { limit, ..self }
    }

    /// Reads records from `from` on: at least one, no more than `max_bytes` of payload else. Also
    /// gives the place behind them.
    pub(super) fn read(
        self,
        from: Index,
        max_bytes: usize,
    ) -> Result<(Vec<(Index, Bytes)>, Place), ReadError> {
        let scanner = Scanner::new(
            Arc::clone(&self.file),
            self.number,
            self.block_size_bytes,
            self.offset,
            self.limit,
        );
        let mut records = Records::new(scanner);
        let mut index = self.index;
        // Where reading goes on: a batch that is not read to its end is decompressed again.
        let mut resume = (self.index, self.offset);
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        while bytes.len() < max_bytes || ends.is_empty() {
            let sink = (index >= from).then_some(&mut bytes);
            match records.next(sink)? {
                Item::Record { offset, length } => {
                    if offset > resume.1 {
                        resume = (index, offset);
                    }
                    if index >= from {
                        if bytes.len() > max_bytes && !ends.is_empty() {
                            bytes.truncate(bytes.len() - length);
                            break;
                        }
                        ends.push(bytes.len());
                    }
                    index += 1;
                    if !records.is_within_batch() {
                        resume = (index, records.offset());
                    }
                }
                Item::Header { .. } | Item::Mark { .. } => {}
                Item::End { .. } if !ends.is_empty() => break,
                Item::End { offset } | Item::Invalid { offset, .. } => {
                    // What is whole is given; the next read meets the damage again.
                    if ends.is_empty() {
                        return Err(ReadError::Damaged(offset));
                    }
                    bytes.truncate(ends.last().copied().unwrap_or(0));
                    break;
                }
            }
        }
        let bytes = Bytes::from(bytes);
        let mut start = 0;
        let batch = (from..)
            .zip(ends)
            .map(|(index, end)| {
                let record = bytes.slice(start..end);
                start = end;
                (index, record)
            })
            .collect();
        let (begun, offset) = resume;
        Ok((
            batch,
            Place {
                next: index,
                offset,
                index: begun,
                ..self
            },
        ))
    }
}
