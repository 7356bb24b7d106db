//! Cuts a log at damage. Nothing is thrown away: what is cut off stays beside the log.

use crate::{
    disk::Disk,
    segment::name::{self, damaged},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Copy this much at once, in bytes.
const CHUNK: usize = 1 << 20;

/// Where to cut. `check` proposes one; what follows the cut, later segments too, is lost to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Number of the segment to cut.
    pub segment: u64,
    /// Offset to cut at, a record's boundary; 0 takes the whole segment.
    pub cut: u64,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// The files that keep what was cut off.
    pub kept: Vec<String>,
}

/// Why a log could not be repaired. What was done before is whole: repeat when it is remedied.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The operating system refused; the message says which file.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The plan does not fit the directory; run `check` again.
    #[error("there is no {0} to cut")]
    NoSegment(String),
}

/// Cuts a log, whose node must not be running. The cut bytes are kept as
/// `NNN.log.damaged-OFFSET`, later segments as `NNN.log.damaged-0`.
///
/// # Errors
/// See [`RepairError`].
pub fn repair(disk: &dyn Disk, dir: &Path, plan: Plan) -> Result<Repaired, RepairError> {
    let mut numbers: Vec<u64> = at(dir, disk.list(dir))?
        .iter()
        .filter_map(|file| name::parse_segment(file))
        .filter(|&number| number >= plan.segment)
        .collect();
    numbers.sort_unstable();
    if numbers.first() != Some(&plan.segment) {
        return Err(RepairError::NoSegment(name::segment(plan.segment)));
    }
    let mut repaired = Repaired::default();
    // Newest first, each durably, so that a crash between leaves no hole.
    for &number in numbers.iter().rev() {
        let file = name::segment(number);
        let path = dir.join(&file);
        if number == plan.segment && plan.cut > 0 {
            let kept = damaged(&file, plan.cut);
            keep(disk, &path, &dir.join(&kept), plan.cut)?;
            at(dir, disk.sync_dir(dir))?;
            let segment = at(&path, disk.open(&path, false))?;
            at(&path, segment.set_len(plan.cut))?;
            at(&path, segment.sync())?;
            repaired.kept.push(kept);
        } else {
            let kept = damaged(&file, 0);
            at(&path, disk.rename(&path, &dir.join(&kept)))?;
            at(dir, disk.sync_dir(dir))?;
            repaired.kept.push(kept);
        }
    }
    repaired.kept.reverse();
    Ok(repaired)
}

/// Copies what is behind an offset to a file of its own, durably.
fn keep(disk: &dyn Disk, from: &Path, to: &Path, offset: u64) -> Result<(), RepairError> {
    let source = at(from, disk.open(from, false))?;
    let target = at(to, disk.open(to, true))?;
    at(to, target.set_len(0))?;
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    loop {
        let read = at(from, source.read_at(&mut buffer, offset + done))?;
        if read == 0 {
            break;
        }
        at(to, target.write_at(&buffer[..read], done))?;
        done += read as u64;
    }
    at(to, target.sync())
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, RepairError> {
    result.map_err(|source| RepairError::Io {
        path: path.to_owned(),
        source,
    })
}
