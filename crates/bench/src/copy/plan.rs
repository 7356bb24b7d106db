//! How much is measured.

use serde::Serialize;

use crate::options::CopyOptions;

/// Bytes of every key, as in the paper.
pub const KEY_BYTES: u64 = 16;
/// The values at which connections and settings are varied.
pub const VARIED_VALUE_BYTES: u64 = 256;
/// Connections of a copy unless varied: what `dunlin copy` takes by itself.
pub const CONNECTIONS: usize = 4;

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Keys and values of each source.
    pub size_bytes: u64,
    /// Values of each source.
    pub value_bytes: Vec<u64>,
    /// Runs of every way on every source.
    pub repeats: usize,
    /// Keys and values of one more source, for copies that last; 0 for none.
    pub long_size_bytes: u64,
    /// Runs of every way on that one.
    pub long_repeats: usize,
    /// Numbers of connections that `ingest` is run with beside its own.
    pub connections: Vec<usize>,
}

impl Plan {
    /// What the flags ask for.
    pub fn of(options: &CopyOptions) -> Plan {
        let mut plan = if options.quick {
            Plan {
                size_bytes: 64 << 20,
                value_bytes: vec![128, 256],
                repeats: 2,
                long_size_bytes: 0,
                long_repeats: 1,
                connections: vec![1, 4],
            }
        } else {
            Plan {
                size_bytes: 2 << 30,
                value_bytes: vec![128, 256, 512, 1024],
                repeats: 5,
                long_size_bytes: 8 << 30,
                long_repeats: 2,
                connections: vec![1, 2, 4, 8],
            }
        };
        if !options.values.is_empty() {
            plan.value_bytes.clone_from(&options.values);
        }
        plan.size_bytes = options.size.unwrap_or(plan.size_bytes);
        plan.long_size_bytes = options.long_size.unwrap_or(plan.long_size_bytes);
        plan.repeats = options.repeats.unwrap_or(plan.repeats).max(1);
        plan
    }

    /// Bytes that must be free before anything is made. A source is written, written again when it
    /// is compacted, and later there is one copy of it at a time.
    pub fn room_bytes(&self, keep: bool) -> u64 {
        let largest = self.size_bytes.max(self.long_size_bytes);
        let kept = if keep {
            self.size_bytes * self.value_bytes.len() as u64 + self.long_size_bytes
        } else {
            largest
        };
        kept + largest + largest / 2
    }
}
