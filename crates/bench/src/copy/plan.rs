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
    /// Numbers of connections that `ingest` is run with beside its own.
    pub connections: Vec<usize>,
}

impl Plan {
    /// What the flags ask for.
    pub fn of(options: &CopyOptions) -> Plan {
        let mut plan = match options.quick {
            true => Plan {
                size_bytes: 64 << 20,
                value_bytes: vec![128, 256],
                repeats: 2,
                connections: vec![1, 4],
            },
            false => Plan {
                size_bytes: 2 << 30,
                value_bytes: vec![128, 256, 512, 1024],
                repeats: 5,
                connections: vec![1, 2, 4, 8],
            },
        };
        if !options.values.is_empty() {
            plan.value_bytes.clone_from(&options.values);
        }
        plan.size_bytes = options.size.unwrap_or(plan.size_bytes);
        plan.repeats = options.repeats.unwrap_or(plan.repeats).max(1);
        plan
    }

    /// Pairs of a source: as many as fill its size.
    pub fn pairs(&self, value_bytes: u64) -> u64 {
        (self.size_bytes / (KEY_BYTES + value_bytes)).max(1)
    }
}
