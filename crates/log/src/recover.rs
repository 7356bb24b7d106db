//! Makes a directory ready for writing: cuts a torn tail, refuses damage, and makes sure that what
//! was read is really on the disk.

use crate::{
    Index,
    disk::{Disk, DiskFile},
    error::OpenError,
    examine::{self, Examined, Scanned, Verdict},
    options::Options,
    segment::{SegmentInfo, name},
    writer::Writer,
};
use std::{path::Path, sync::Arc};

/// Copy this much at once, in bytes.
const CHUNK: usize = 1 << 20;

/// A write at the end of the log that a crash cut short. Nobody had been told it was synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The segment's file name.
    pub file: String,
    /// The log was cut here.
    pub offset: u64,
    /// Bytes cut, as far as can be seen; whole later segments not counted.
    pub cut_bytes: u64,
    /// Whole segments removed, because they were never completely begun or came after the cut.
    pub segments_removed: usize,
}

/// What `open` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// Index of the oldest record.
    pub first_index: Index,
    /// Index of the newest record; `first_index - 1` when the log is empty.
    pub last_index: Index,
    /// What was cut off.
    pub torn: Option<Torn>,
    /// Segments there.
    pub segments: usize,
}

/// What open needs to begin.
pub(crate) struct Recovery {
    pub segments: Vec<SegmentInfo>,
    pub torn: Option<Torn>,
    pub writer: Writer,
}

pub(crate) fn recover(
    disk: Arc<dyn Disk>,
    dir: &Path,
    options: &Options,
) -> Result<Recovery, OpenError> {
    disk.create_dir_all(dir).map_err(OpenError::io(dir))?;
    remove_spares(&*disk, dir)?;
    let Examined {
        mut segments,
        faults,
    } = examine::examine(&*disk, dir)?;
    let mut torn = None;
    if let Some(fault) = faults.into_iter().next() {
        let file = name::segment(segments[fault.segment].number);
        if let Verdict::Damage(proof) = fault.verdict {
            return Err(OpenError::Damaged {
                file,
                offset: fault.offset,
                proof,
            });
        }
        // A segment without its preamble was never begun.
        let keep = fault.segment + usize::from(segments[fault.segment].records > 0);
        let removed = segments.split_off(keep);
        torn = Some(Torn {
            file,
            offset: fault.cut,
            cut_bytes: fault.cut_bytes,
            segments_removed: removed.len(),
        });
        // Newest first, each durably, so that a crash between leaves no hole. They are not
        // recycled: their numbers will be used again.
        for segment in removed.iter().rev() {
            let path = dir.join(name::segment(segment.number));
            disk.remove(&path).map_err(OpenError::io(&path))?;
            disk.sync_dir(dir).map_err(OpenError::io(dir))?;
        }
    }
    settle(dir, &segments, options)?;
    // A segment's name may never have been made durable.
    disk.sync_dir(dir).map_err(OpenError::io(dir))?;
    let infos = segments.iter().filter_map(info).collect::<Vec<_>>();
    let writer = match segments.last().and_then(|last| Some((last, last.header?))) {
        Some((last, header)) => Writer::resume(
            disk,
            dir,
            options,
            Arc::clone(&last.file),
            &header,
            last.end,
            header.first_index + last.records,
        )
        .map_err(OpenError::io(dir.join(name::segment(last.number))))?,
        None => Writer::empty(disk, dir, options),
    };
    Ok(Recovery {
        segments: infos,
        torn,
        writer,
    })
}

fn info(segment: &Scanned) -> Option<SegmentInfo> {
    let header = segment.header?;
    Some(SegmentInfo {
        number: segment.number,
        first_index: header.first_index,
        last_index: header.first_index + segment.records - 1,
        bytes: segment.end,
        preamble: segment.preamble.clone(),
        settings: header.settings(),
    })
}

/// Spare files may hold bytes of a segment number that will be used again, when their renaming was
/// lost in a crash. So none outlives an open.
fn remove_spares(disk: &dyn Disk, dir: &Path) -> Result<(), OpenError> {
    let mut removed = false;
    for file in disk.list(dir).map_err(OpenError::io(dir))? {
        if name::is_spare(&file) {
            let path = dir.join(&file);
            disk.remove(&path).map_err(OpenError::io(&path))?;
            removed = true;
        }
    }
    if removed {
        disk.sync_dir(dir).map_err(OpenError::io(dir))?;
    }
    Ok(())
}

/// Makes what was read durable, in order. What no mark vouches for may have been read from a cache
/// that a failed sync left clean, so it is written again before it is synced.
fn settle(dir: &Path, segments: &[Scanned], options: &Options) -> Result<(), OpenError> {
    let proven = segments
        .iter()
        .rposition(|segment| segment.synced_offset > 0)
        .max(segments.iter().enumerate().rev().find_map(|(at, segment)| {
            let synced = segment.header.is_some_and(|header| header.previous_synced);
            synced.then_some(at)
        }))
        .unwrap_or(0);
    for (at, segment) in segments.iter().enumerate().skip(proven) {
        let path = dir.join(name::segment(segment.number));
        let error = || OpenError::io(path.clone());
        if at + 1 == segments.len() {
            // What a torn write left behind the cut has this segment's number: it must not
            // follow the next record.
            segment.file.set_len(segment.end).map_err(error())?;
        }
        rewrite(&*segment.file, segment.synced_offset, segment.end).map_err(error())?;
        if at + 1 == segments.len() {
            // Without room the segment still grows as far as it can; appends learn it then.
            match segment.file.allocate(options.segment_bytes) {
                Err(full) if crate::disk::lack(&full) != Some(crate::error::Lack::Space) => {
                    return Err(error()(full));
                }
                _ => {}
            }
        }
        segment.file.sync().map_err(error())?;
    }
    Ok(())
}

fn rewrite(file: &dyn DiskFile, from: u64, to: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK.min((to - from) as usize)];
    let mut at = from;
    while at < to {
        let wanted = ((to - at) as usize).min(buffer.len());
        let read = file.read_at(&mut buffer[..wanted], at)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        file.write_at(&buffer[..read], at)?;
        at += read as u64;
    }
    Ok(())
}
