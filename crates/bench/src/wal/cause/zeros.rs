//! Zeros alone: as many as padding would write, without its other effects.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use super::Setup;
use super::encoding::payloads;
use super::write_size::create;
use crate::error::BenchError;
use crate::wal::Session;
use crate::wal::entry::Entry;
use crate::wal::grid::block_name;
use crate::wal::layout::{Header, Layout, Policy};
use crate::wal::patch::PatchEncoder;

/// Much padding: one record a block, and 3050 bytes of zeros.
const ENTRY: Entry = Entry {
    key_bytes: 1024,
    value_bytes: 4096,
};
const BLOCK_BYTES: u32 = 8 << 10;
/// Records written together, as six writers do.
const GROUP: usize = 6;

/// Unpadded, unpadded with the same number of zeros behind each group, padded.
pub fn setup<'a>(session: &'a Session, directory: &'a Path) -> Setup<'a> {
    let records = session.plan.cause_records / 4;
    let mut setup = Setup::new(
        format!(
            "zeros alone, {} in {}, groups of {GROUP} written",
            ENTRY.name(),
            block_name(BLOCK_BYTES)
        ),
        "Encoded and written to the page cache. The second variant fragments, and adds as many \
         zeros as padding would; the rest of the way to the third is what padding changes besides.",
        "ns a record",
    );
    let extra = zeros_a_record();
    for (name, policy, zeros) in [
        ("fragment", Policy::Fragment, 0.0),
        ("fragment and as many zeros", Policy::Fragment, extra),
        ("pad", Policy::Pad, 0.0),
    ] {
        let path = directory.join("zeros");
        let payloads = payloads(ENTRY);
        setup.variant(name, move || {
            write(&path, &payloads, policy, zeros, records as usize)
        });
    }
    setup
}

/// By how many bytes a padded record is longer than an unpadded one.
pub fn zeros_a_record() -> f64 {
    const MANY: u64 = 10_000;
    let bytes = |policy| {
        let mut layout = Layout::new(BLOCK_BYTES, policy, Header::Legacy);
        for _ in 0..MANY {
            layout.record(ENTRY.payload_bytes() as u64);
        }
        layout.counts().file_bytes as f64
    };
    (bytes(Policy::Pad) - bytes(Policy::Fragment)) / MANY as f64
}

fn write(
    path: &Path,
    payloads: &[bytes::Bytes],
    policy: Policy,
    zeros: f64,
    records: usize,
) -> Result<f64, BenchError> {
    let file = create(path)?;
    let mut encoder = PatchEncoder::new(BLOCK_BYTES, policy);
    let (mut buffer, mut at, mut due) = (Vec::new(), 0, 0.0);
    let begun = Instant::now();
    for group in 0..records / GROUP {
        for record in 0..GROUP {
            let payload = &payloads[(group * GROUP + record) % payloads.len()];
            encoder.record(payload, &mut buffer);
        }
        due += zeros * GROUP as f64;
        let whole = due as usize;
        due -= whole as f64;
        buffer.resize(buffer.len() + whole, 0);
        file.write_all_at(&buffer, at)?;
        at += buffer.len() as u64;
        buffer.clear();
    }
    let written = (records / GROUP * GROUP).max(1);
    Ok(begun.elapsed().as_secs_f64() * 1e9 / written as f64)
}
