//! Torn or damaged: the difference between a write that a crash cut short, which nobody was told
//! of, and bytes that were promised.

use super::scan::Scanned;
use crate::{
    disk::Disk,
    error::OpenError,
    segment::{
        name,
        proof::{behind, nonzero_end},
    },
};
use std::path::Path;

/// A fault and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Position of the segment among the examined ones.
    pub segment: usize,
    /// Where the invalid bytes begin.
    pub offset: u64,
    /// Where the valid part ends: no further than `offset`.
    pub cut: u64,
    /// Bytes behind the cut that were written in this segment's life, as far as can be seen.
    pub cut_bytes: u64,
    pub reason: String,
    pub verdict: Verdict,
}

/// What a fault is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A write that never finished.
    Torn,
    /// The bytes had been synced; the text says how that is known.
    Damage(String),
}

/// Judges every segment's fault, and finds what a clean end hides: writes behind a hole.
pub(super) fn judge(
    disk: &dyn Disk,
    dir: &Path,
    segments: &[Scanned],
) -> Result<Vec<Judged>, OpenError> {
    let mut faults = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        if segment.fault.is_none() && !last {
            continue;
        }
        let path = dir.join(name::segment(segment.number));
        let offset = segment.fault.map_or(segment.end, |fault| fault.offset);
        let found = behind(&*segment.file, segment.number, offset).map_err(OpenError::io(&path))?;
        if segment.fault.is_none() && found.end == 0 {
            continue;
        }
        let end = if found.end > 0 {
            found.end
        } else {
            nonzero_end(&*segment.file, offset).map_err(OpenError::io(&path))?
        };
        let reason = match segment.fault.and_then(|fault| fault.reason) {
            Some(reason) => reason.to_string(),
            None => "empty where records were".to_owned(),
        };
        let proof = if found.synced_offset > segment.end {
            Some(format!(
                "a later sync mark vouches for offsets below {}",
                found.synced_offset
            ))
        } else {
            later_proof(disk, dir, segments, at)?
        };
        faults.push(Judged {
            segment: at,
            offset,
            cut: segment.end,
            cut_bytes: end.saturating_sub(segment.end),
            reason,
            verdict: proof.map_or(Verdict::Torn, Verdict::Damage),
        });
    }
    Ok(faults)
}

/// Looks in later segments for proof that all of segment `at` had been synced. Syncs go in the
/// order of the log, so whatever vouches for a later segment vouches for this one too.
fn later_proof(
    disk: &dyn Disk,
    dir: &Path,
    segments: &[Scanned],
    at: usize,
) -> Result<Option<String>, OpenError> {
    let Some(segment) = segments.get(at) else {
        return Ok(None);
    };
    for (distance, later) in segments.iter().skip(at + 1).enumerate() {
        let file = name::segment(later.number);
        if let Some(header) = &later.header
            && header.previous_synced
            && (distance > 0 || header.previous_length > segment.end)
        {
            return Ok(Some(format!("{file} was begun after they were synced")));
        }
        let path = dir.join(&file);
        let opened = disk.open(&path, false).map_err(OpenError::io(&path))?;
        let found = behind(&*opened, later.number, 0).map_err(OpenError::io(&path))?;
        if found.synced_offset > 0 {
            return Ok(Some(format!("{file} holds a sync mark")));
        }
    }
    // Older segments are released only once the next one's beginning is synced.
    if at == 0 && segment.number > 1 && segment.records == 0 {
        return Ok(Some("older segments have been released".to_owned()));
    }
    Ok(None)
}
