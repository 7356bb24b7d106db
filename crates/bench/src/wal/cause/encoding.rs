//! Encoding in memory: copying and checksums, no file.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;

use super::Setup;
use crate::error::BenchError;
use crate::wal::Session;
use crate::wal::entry::{Entry, Source};
use crate::wal::grid::block_name;
use crate::wal::layout::Policy;
use crate::wal::patch::PatchEncoder;

/// Different payloads, so that the processor does not learn one.
const PAYLOADS: usize = 512;
/// The encoded bytes are thrown away after this many, as a write would.
const FLUSH_BYTES: usize = 64 << 10;
const UNIT: &str = "ns a record";

/// Policies side by side, entries of one record size side by side, block sizes side by side.
pub fn setups(session: &Session) -> Vec<Setup<'_>> {
    let records = session.plan.cause_records;
    let mut setups = Vec::new();
    for (key_bytes, value_bytes, block_bytes) in [
        (16, 128, 8 << 10),
        (16, 1024, 8 << 10),
        (1024, 4096, 8 << 10),
        (1024, 4096, 32 << 10),
    ] {
        let entry = Entry {
            key_bytes,
            value_bytes,
        };
        let mut setup = Setup::new(
            format!(
                "encoding in memory, {} in {}",
                entry.name(),
                block_name(block_bytes)
            ),
            "The same records, copied and checksummed but not written: what padding saves or \
             costs the processor.",
            UNIT,
        );
        for policy in [Policy::Fragment, Policy::Pad] {
            let name = format!("{policy:?}").to_lowercase();
            encode(&mut setup, name, entry, block_bytes, policy, records);
        }
        setups.push(setup);
    }
    setups.push(equal_padding(records));
    setups.push(fragments(records));
    setups
}

/// `k16v256` and `k256v16` have the same record and so the same padding.
fn equal_padding<'a>(records: u64) -> Setup<'a> {
    let mut setup = Setup::new(
        "encoding in memory, key and value swapped, padded in 32 KiB",
        "Record, padding and number of records a block are equal; a difference would come from \
         the log.",
        UNIT,
    );
    for (key_bytes, value_bytes) in [(16, 256), (256, 16)] {
        let entry = Entry {
            key_bytes,
            value_bytes,
        };
        encode(
            &mut setup,
            entry.name(),
            entry,
            32 << 10,
            Policy::Pad,
            records,
        );
    }
    setup
}

fn fragments<'a>(records: u64) -> Setup<'a> {
    let entry = Entry {
        key_bytes: 16,
        value_bytes: 4096,
    };
    let mut setup = Setup::new(
        format!("number of fragments, {} without padding", entry.name()),
        "The same records; smaller blocks cut them into more fragments, each with a header and a \
         checksum of its own.",
        UNIT,
    );
    for block_bytes in [128 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10] {
        let name = format!("blocks of {}", block_name(block_bytes));
        encode(
            &mut setup,
            name,
            entry,
            block_bytes,
            Policy::Fragment,
            records,
        );
    }
    setup
}

fn encode(
    setup: &mut Setup<'_>,
    name: String,
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    records: u64,
) {
    let payloads = payloads(entry);
    let mut buffer = Vec::with_capacity(2 * FLUSH_BYTES + block_bytes as usize);
    setup.variant(name, move || {
        let mut encoder = PatchEncoder::new(block_bytes, policy);
        Ok::<f64, BenchError>(per_record(records, |at| {
            encoder.record(&payloads[at % PAYLOADS], &mut buffer);
            if buffer.len() >= FLUSH_BYTES {
                black_box(buffer.as_slice());
                buffer.clear();
            }
        }))
    });
}

/// Entries made ahead.
pub fn payloads(entry: Entry) -> Vec<Bytes> {
    let mut source = Source::new(entry, 3);
    (0..PAYLOADS).map(|_| source.next_payload()).collect()
}

/// Nanoseconds that one of `records` calls takes.
pub fn per_record(records: u64, mut call: impl FnMut(usize)) -> f64 {
    let begun = Instant::now();
    for at in 0..records {
        call(at as usize);
    }
    begun.elapsed().as_secs_f64() * 1e9 / records.max(1) as f64
}
