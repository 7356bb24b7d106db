//! Equal records of unequal keys in RocksDB itself, with its log and without.

use super::Setup;
use crate::wal::Session;
use crate::wal::entry::Entry;
use crate::wal::rival::db_bench::{Call, DbBench};

/// `k16v256` against `k256v16`: their log records are equal to the byte, their memtables are not.
/// Nothing where `db_bench` is not installed.
pub fn setups(session: &Session) -> Vec<Setup<'_>> {
    let Some(program) = DbBench::find() else {
        return Vec::new();
    };
    let mut setup = Setup::new(
        "key and value swapped, in RocksDB (db_bench, 6 threads)",
        "The log records are equal to the byte. What differs without a log, too, comes from the \
         memtable.",
        "us an operation",
    );
    for (key_bytes, value_bytes) in [(16, 256), (256, 16)] {
        for wal in [true, false] {
            let entry = Entry {
                key_bytes,
                value_bytes,
            };
            let (program, log) = (program.clone(), if wal { "with" } else { "without" });
            setup.variant(format!("{}, {log} its log", entry.name()), move || {
                let call = Call {
                    entry,
                    entries_each: session.plan.cause_records / 6,
                    wal,
                    sync: false,
                    timed: false,
                };
                Ok(program.run(session, call)?.op_us)
            });
        }
    }
    vec![setup]
}
