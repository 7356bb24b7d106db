//! Writes that end where pages end, or within, with a sync after each.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use rustix::fs::OFlags;

use super::Setup;
use super::write_size::create;
use crate::error::BenchError;
use crate::wal::Session;

const PAGE_BYTES: usize = 4096;

/// 4 KiB on and off page boundaries and a record of 1 KiB, each with `fdatasync`; buffered, and
/// past the page cache where the file system allows it.
///
/// # Errors
/// When the file cannot be made.
pub fn setup<'a>(session: &'a Session, directory: &Path) -> Result<Setup<'a>, BenchError> {
    let syncs = session.plan.cause_syncs;
    let mut setup = Setup::new(
        "alignment of synced writes",
        "One write and one fdatasync each time, over bytes that exist; a write that ends within a \
         page makes the next one touch that page again.",
        "us a write",
    );
    let path = directory.join("sync-alignment");
    let length = (syncs as usize + 3) * 2 * PAGE_BYTES;
    let buffered = create(&path)?;
    buffered.write_all_at(&vec![0; length], 0)?;
    buffered.sync_all()?;
    for (name, bytes, step, from) in [
        ("buffered, 4 KiB on a page", PAGE_BYTES, PAGE_BYTES, 0),
        (
            "buffered, 4 KiB across two pages",
            PAGE_BYTES,
            PAGE_BYTES,
            PAGE_BYTES / 2,
        ),
        (
            "buffered, 1 KiB records one behind the other",
            1046,
            1046,
            0,
        ),
        ("buffered, 1 KiB records a page each", 1046, PAGE_BYTES, 0),
    ] {
        let file = buffered.try_clone()?;
        let chunk = vec![0x5a; bytes];
        setup.variant(name, move || write(&file, &chunk, step, from, syncs));
    }
    // Refused by some file systems, tmpfs among them: then the variants are missing.
    let direct = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(&path);
    if let Ok(direct) = direct {
        for (name, pages) in [
            ("O_DIRECT, 4 KiB on a page", 1),
            ("O_DIRECT, two pages, as 4 KiB across them takes", 2),
        ] {
            let file = direct.try_clone()?;
            // Direct writes want memory at a page boundary, too.
            let memory = vec![0x5a; (pages + 1) * PAGE_BYTES];
            setup.variant(name, move || {
                let skip = memory.as_ptr().align_offset(PAGE_BYTES);
                let chunk = &memory[skip..skip + pages * PAGE_BYTES];
                write(&file, chunk, PAGE_BYTES, 0, syncs)
            });
        }
    }
    Ok(setup)
}

fn write(
    file: &File,
    chunk: &[u8],
    step: usize,
    from: usize,
    syncs: u64,
) -> Result<f64, BenchError> {
    let begun = Instant::now();
    for at in 0..syncs {
        file.write_all_at(chunk, from as u64 + at * step as u64)?;
        file.sync_data()?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / syncs.max(1) as f64)
}
