//! Reads one segment from its beginning to where it is no longer valid.

use crate::{
    batch::Tally,
    block::{Decoded, Expect, Invalid, Kind, decode},
    disk::{Disk, DiskFile},
    error::OpenError,
    options::BLOCK_SIZE_BYTES_MIN,
    segment::{
        header::SegmentHeader,
        name,
        records::{Item, Records},
        scan::Scanner,
    },
};
use bytes::Bytes;
use std::{path::Path, sync::Arc};

/// What reading a segment gave.
pub(crate) struct Scanned {
    pub number: u64,
    pub file: Arc<dyn DiskFile>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// None when its bytes are no header of this segment.
    pub header: Option<SegmentHeader>,
    pub preamble: Bytes,
    /// Logical records before `end`, the preamble among them.
    pub records: u64,
    /// Payload bytes of those records.
    pub payload_bytes: u64,
    /// Compressed batches before `end`.
    pub tally: Tally,
    /// Bytes before `end` that are padding or Dunlin's own records.
    pub overhead_bytes: u64,
    /// Where the valid part ends, at a record's boundary.
    pub end: u64,
    /// The greatest offset a sync mark of the valid part vouches for; 0 when there is none.
    pub synced_offset: u64,
    pub fault: Option<Fault>,
}

/// Invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    pub offset: u64,
    pub reason: Option<Invalid>,
}

/// A segment's header; none when its bytes are no header of this segment.
pub(super) fn header(
    disk: &dyn Disk,
    dir: &Path,
    number: u64,
) -> Result<Option<SegmentHeader>, OpenError> {
    let file_name = name::segment(number);
    let path = dir.join(&file_name);
    let file = disk.open(&path, false).map_err(OpenError::io(&path))?;
    // Smaller than any block, larger than the header.
    let mut bytes = vec![0; BLOCK_SIZE_BYTES_MIN as usize];
    let read = file.read_at(&mut bytes, 0).map_err(OpenError::io(&path))?;
    match decode(&bytes[..read], 0, Expect::Number(number as u32)) {
        Decoded::Record {
            kind: Kind::SegmentHeader,
            payload,
        } => match SegmentHeader::decode(&bytes[payload]) {
            Ok(header) if header.number == number => Ok(Some(header)),
            Ok(header) => Err(OpenError::Format {
                file: file_name,
                reason: format!("its header says it is segment {}", header.number),
            }),
            Err(reason) => Err(OpenError::Format {
                file: file_name,
                reason: reason.to_owned(),
            }),
        },
        _ => Ok(None),
    }
}

/// Reads a whole segment. A successor's header says where it must end.
pub(super) fn scan(
    disk: &dyn Disk,
    dir: &Path,
    number: u64,
    header: Option<&SegmentHeader>,
    successor: Option<&SegmentHeader>,
) -> Result<Scanned, OpenError> {
    let path = dir.join(name::segment(number));
    let file = disk.open(&path, false).map_err(OpenError::io(&path))?;
    let file_bytes = file.len().map_err(OpenError::io(&path))?;
    let mut scanned = Scanned {
        number,
        file: Arc::clone(&file),
        file_bytes,
        header: header.copied(),
        preamble: Bytes::new(),
        records: 0,
        payload_bytes: 0,
        tally: Tally::default(),
        overhead_bytes: 0,
        end: 0,
        synced_offset: 0,
        fault: None,
    };
    let Some(header) = header else {
        scanned.fault = Some(Fault {
            offset: 0,
            reason: None,
        });
        return Ok(scanned);
    };
    let limit = successor.map_or(file_bytes, |next| next.previous_length.min(file_bytes));
    let mut records = Records::new(Scanner::new(file, number, header.block_size_bytes, limit));
    loop {
        match records.next().map_err(OpenError::io(&path))? {
            Item::Record { length, .. } => {
                if scanned.records == 0 {
                    // Its own memory: it outlives what was read around it.
                    scanned.preamble = Bytes::copy_from_slice(&records.record());
                    records.gather = false;
                }
                scanned.records += 1;
                scanned.payload_bytes += length as u64;
                scanned.end = records.offset();
                scanned.overhead_bytes = records.overhead_bytes;
                scanned.tally = records.tally;
            }
            Item::Header { offset: 0, .. } => scanned.end = records.offset(),
            Item::Header { offset, .. } => {
                scanned.fault = Some(Fault {
                    offset,
                    reason: Some(Invalid::Kind),
                });
                break;
            }
            Item::Mark { synced_offset } => {
                scanned.synced_offset = scanned.synced_offset.max(synced_offset);
                scanned.end = records.offset();
                scanned.overhead_bytes = records.overhead_bytes;
            }
            Item::End { offset } => {
                let short = successor.is_some_and(|next| scanned.end < next.previous_length);
                if short || scanned.records == 0 {
                    scanned.fault = Some(Fault {
                        offset,
                        reason: None,
                    });
                }
                break;
            }
            Item::Invalid { offset, reason, .. } => {
                scanned.fault = Some(Fault {
                    offset,
                    reason: Some(reason),
                });
                break;
            }
        }
    }
    Ok(scanned)
}
