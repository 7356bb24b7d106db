//! The same bytes to the page cache in writes of different size.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use super::Setup;
use crate::error::BenchError;
use crate::wal::Session;
use crate::wal::entry::Entry;

/// The entry whose record size the writes have.
const ENTRY: Entry = Entry {
    key_bytes: 16,
    value_bytes: 1024,
};

/// One write a record, one for six, one for 64 KiB, and the same ending where pages end.
pub fn setup<'a>(session: &'a Session, directory: &'a Path) -> Setup<'a> {
    let record = ENTRY.paper_record_bytes();
    let records = session.plan.cause_records;
    let mut setup = Setup::new(
        format!("write size, {record} B a record, nothing encoded"),
        "The same bytes in the same order; what a system call costs, and whether it matters that \
         writes end within a page.",
        "ns a record",
    );
    for (name, bytes) in [
        ("one pwrite a record", record),
        ("one pwrite for 6 records", 6 * record),
        ("one pwrite for 64 KiB", 64 << 10),
        ("one pwrite for 4 KiB, ends with a page", 4 << 10),
        (
            "one pwrite for 4 KiB less a record, ends within",
            (4 << 10) - record,
        ),
    ] {
        let path = directory.join("write-size");
        setup.variant(name, move || {
            let total = records as usize * record;
            let took = write(&path, &vec![0x5a; bytes], total)?;
            Ok(took * 1e9 / records as f64)
        });
    }
    setup
}

/// Writes `total` bytes to a new file, `chunk` after `chunk`; returns the seconds it took.
fn write(path: &Path, chunk: &[u8], total: usize) -> Result<f64, BenchError> {
    let file = create(path)?;
    let begun = Instant::now();
    let mut at = 0;
    while at < total {
        let count = chunk.len().min(total - at);
        file.write_all_at(&chunk[..count], at as u64)?;
        at += count;
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// A new empty file of this name.
pub fn create(path: &Path) -> Result<File, BenchError> {
    let failed = |source| BenchError::File {
        path: path.to_owned(),
        source,
    };
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed)
}
