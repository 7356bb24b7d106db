//! What is in a log's directory, and what is wrong with it. Changes nothing.

use crate::{
    Index,
    disk::Disk,
    error::OpenError,
    examine::{self, Verdict},
    repair::Plan,
    segment::{SegmentSettings, name},
};
use std::path::Path;

/// What is wrong with a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Where the invalid bytes begin.
    pub offset: u64,
    /// Where the last whole record before them ends.
    pub cut: u64,
    /// Bytes behind the cut that were written in this segment's life, as far as can be seen.
    pub cut_bytes: u64,
    /// What does not fit.
    pub reason: String,
    /// How it is known that the bytes had been synced: this is damage, and open refuses it. None
    /// for a torn tail, which open cuts.
    pub damage: Option<String>,
}

/// A segment's part of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentReport {
    /// The file's name.
    pub file: String,
    /// Index of its first record; none when its header is invalid.
    pub first_index: Option<Index>,
    /// Valid records, the preamble among them.
    pub records: u64,
    /// Payload bytes of those records.
    pub payload_bytes: u64,
    /// Bytes of the valid part.
    pub bytes: u64,
    /// Bytes of the valid part that are padding, or segment header and sync marks.
    pub padding_bytes: u64,
    /// The settings it was begun with; none when its header is invalid.
    pub settings: Option<SegmentSettings>,
    /// Compressed batches in the valid part.
    pub batches: u64,
    /// Records in those batches.
    pub batched_records: u64,
    /// Payload bytes of those records.
    pub batch_raw_bytes: u64,
    /// What those batches take, compressed, without their headers.
    pub batch_compressed_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// What is wrong with it.
    pub trouble: Option<Trouble>,
}

/// What is in a log's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Oldest first.
    pub segments: Vec<SegmentReport>,
    /// What `repair` would do about the first damage.
    pub plan: Option<Plan>,
}

impl Report {
    /// Whether open would refuse the log.
    pub fn is_damaged(&self) -> bool {
        self.plan.is_some()
    }
}

/// Examines a log's directory, streaming.
///
/// # Errors
/// `Io`, `Missing` or `Format`: what keeps it from being examined at all.
pub fn check(disk: &dyn Disk, dir: &Path) -> Result<Report, OpenError> {
    let examined = examine::examine(disk, dir)?;
    let mut segments: Vec<SegmentReport> = examined
        .segments
        .iter()
        .map(|segment| SegmentReport {
            file: name::segment(segment.number),
            first_index: segment.header.map(|header| header.first_index),
            records: segment.records,
            payload_bytes: segment.payload_bytes,
            bytes: segment.end,
            padding_bytes: segment.overhead_bytes,
            settings: segment.header.map(|header| header.settings()),
            batches: segment.tally.batches,
            batched_records: segment.tally.records,
            batch_raw_bytes: segment.tally.raw_bytes,
            batch_compressed_bytes: segment.tally.compressed_bytes,
            file_bytes: segment.file_bytes,
            trouble: None,
        })
        .collect();
    let mut plan = None;
    // Open stops at the first fault: when that one is torn, the rest is cut with it.
    if let Some(first) = examined.faults.first()
        && matches!(first.verdict, Verdict::Damage(_))
    {
        let segment = &examined.segments[first.segment];
        plan = Some(Plan {
            segment: segment.number,
            // Without its preamble nothing of a segment can be kept.
            cut: if segment.records > 0 { first.cut } else { 0 },
        });
    }
    for fault in examined.faults {
        segments[fault.segment].trouble = Some(Trouble {
            offset: fault.offset,
            cut: fault.cut,
            cut_bytes: fault.cut_bytes,
            reason: fault.reason,
            damage: match fault.verdict {
                Verdict::Torn => None,
                Verdict::Damage(proof) => Some(proof),
            },
        });
    }
    Ok(Report { segments, plan })
}
