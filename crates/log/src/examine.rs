//! Reads a log's segments and judges what is wrong with them: torn or damaged. Changes nothing.
//! Used by open, check and repair.

mod scan;
mod verdict;

pub(crate) use scan::Scanned;
pub(crate) use verdict::{Judged, Verdict};

use crate::{
    disk::Disk,
    error::OpenError,
    segment::{header::SegmentHeader, name},
};
use std::path::Path;

/// All segments of a directory, in order.
pub(crate) struct Examined {
    pub segments: Vec<Scanned>,
    /// What is wrong, at most one for a segment, in order.
    pub faults: Vec<Judged>,
}

/// Examines a directory. Memory does not grow with the log but for what is known per segment.
///
/// # Errors
/// `Io`, `Missing`, or `Format` for a whole header this version does not know.
pub(crate) fn examine(disk: &dyn Disk, dir: &Path) -> Result<Examined, OpenError> {
    let numbers = numbers(disk, dir)?;
    let mut headers = Vec::with_capacity(numbers.len());
    for &number in &numbers {
        headers.push(scan::header(disk, dir, number)?);
    }
    let mut segments = Vec::with_capacity(numbers.len());
    let mut next_index = None;
    for (at, &number) in numbers.iter().enumerate() {
        let successor: Option<&SegmentHeader> = headers.get(at + 1).and_then(Option::as_ref);
        let segment = scan::scan(disk, dir, number, headers[at].as_ref(), successor)?;
        if let (Some(header), Some(expected)) = (&segment.header, next_index)
            && header.first_index != expected
        {
            return Err(OpenError::Format {
                file: name::segment(number),
                reason: format!(
                    "it begins with index {}, but the segment before ends at {}",
                    header.first_index,
                    expected - 1
                ),
            });
        }
        next_index = match (&segment.header, &segment.fault) {
            (Some(header), None) => Some(header.first_index + segment.records),
            _ => None,
        };
        segments.push(segment);
    }
    let faults = verdict::judge(disk, dir, &segments)?;
    Ok(Examined { segments, faults })
}

/// The numbers of a directory's segments, which must follow each other.
fn numbers(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, OpenError> {
    let names = disk.list(dir).map_err(OpenError::io(dir))?;
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|file| name::parse_segment(file))
        .collect();
    numbers.sort_unstable();
    for pair in numbers.windows(2) {
        if let [before, after] = pair
            && before + 1 != *after
        {
            return Err(OpenError::Missing(name::segment(before + 1)));
        }
    }
    Ok(numbers)
}
