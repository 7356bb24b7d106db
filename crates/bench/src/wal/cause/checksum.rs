//! The parts of encoding: checksums in more or fewer calls, copies alone.

use std::hint::black_box;

use super::Setup;
use super::encoding::{payloads, per_record};
use crate::wal::Session;
use crate::wal::entry::Entry;

const UNIT: &str = "ns a record";
const BUFFER_BYTES: usize = 64 << 10;

/// Checksum calls on small and on large records.
pub fn setups(session: &Session) -> Vec<Setup<'_>> {
    [128, 1024, 4096]
        .map(|value_bytes| {
            let entry = Entry {
                key_bytes: 16,
                value_bytes,
            };
            pieces(entry, session.plan.cause_records)
        })
        .into()
}

fn pieces<'a>(entry: Entry, records: u64) -> Setup<'a> {
    let mut setup = Setup::new(
        format!("checksum calls, {}", entry.name()),
        "The same bytes in one call or in several of equal length, as fragments would; and the \
         copy alone.",
        UNIT,
    );
    for pieces in [1, 2, 4] {
        let payloads = payloads(entry);
        let plural = if pieces == 1 { "call" } else { "calls" };
        setup.variant(format!("{pieces} {plural}"), move || {
            Ok(per_record(records, |at| {
                let payload = &payloads[at % payloads.len()];
                for piece in payload.chunks(payload.len().div_ceil(pieces)) {
                    black_box(crc32c::crc32c(piece));
                }
            }))
        });
    }
    let payloads = payloads(entry);
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    setup.variant("copy, no checksum", move || {
        Ok(per_record(records, |at| {
            let payload = &payloads[at % payloads.len()];
            if buffer.len() + payload.len() > BUFFER_BYTES {
                black_box(buffer.as_slice());
                buffer.clear();
            }
            buffer.extend_from_slice(payload);
        }))
    });
    setup
}
