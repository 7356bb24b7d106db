//! How much of everything is measured.

use std::time::Duration;

use serde::Serialize;

use super::grid::{BLOCK_BYTES, KEY_BYTES, VALUE_BYTES};
use crate::options::{Part, WalOptions};

/// How much of everything is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// What is measured at all.
    pub parts: Vec<Part>,
    /// Keys of the grid.
    pub key_bytes: Vec<usize>,
    /// Values of the grid.
    pub value_bytes: Vec<usize>,
    /// Block sizes of the grid.
    pub block_bytes: Vec<u32>,
    /// Entries of a cell under each policy, for bytes, recovery and CPU.
    pub entries: u64,
    /// Timed runs of a cell under each policy.
    pub repeats: usize,
    /// A timed run writes no more than this, so that large entries do not take all the time.
    pub timed_bytes_max: u64,
    /// Random cuts of a cell's log under each policy.
    pub cuts: u64,
    /// Records of one run of an experiment in memory.
    pub cause_records: u64,
    /// Syncs of one run of an experiment with syncs.
    pub cause_syncs: u64,
    /// Runs of each variant of an experiment.
    pub cause_repeats: usize,
    /// Entries beside RocksDB, of each of six writers, without sync.
    pub rival_entries_each: u64,
    /// The same with sync.
    pub rival_entries_each_synced: u64,
    /// Runs of each side.
    pub rival_repeats: usize,
    /// Length of one run beside the device.
    #[serde(rename = "device_run_ms", serialize_with = "milliseconds")]
    pub device_run: Duration,
    /// Runs of each kind beside the device.
    pub device_repeats: usize,
    /// Bytes of the log that is read back.
    pub read_bytes: u64,
    /// Times it is.
    pub read_repeats: usize,
}

impl Plan {
    /// What the flags ask for.
    pub fn of(options: &WalOptions) -> Plan {
        let mut plan = if options.quick {
            Plan::quick()
        } else {
            Plan::full()
        };
        if !options.parts.is_empty() {
            plan.parts = options.parts.clone();
        }
        plan.entries = options.entries.unwrap_or(plan.entries).max(1);
        plan.repeats = options.repeats.unwrap_or(plan.repeats).max(1);
        plan
    }

    fn full() -> Plan {
        Plan {
            parts: Part::ALL.to_vec(),
            key_bytes: KEY_BYTES.to_vec(),
            value_bytes: VALUE_BYTES.to_vec(),
            block_bytes: BLOCK_BYTES.to_vec(),
            entries: 100_000,
            repeats: 8,
            timed_bytes_max: 96 << 20,
            cuts: 16,
            cause_records: 100_000,
            cause_syncs: 300,
            cause_repeats: 12,
            rival_entries_each: 100_000,
            rival_entries_each_synced: 5_000,
            rival_repeats: 7,
            device_run: Duration::from_millis(1_000),
            device_repeats: 7,
            read_bytes: 1 << 30,
            read_repeats: 5,
        }
    }

    fn quick() -> Plan {
        Plan {
            key_bytes: vec![16, 1024],
            value_bytes: vec![16, 128, 1024, 4096, 8192],
            block_bytes: vec![8 << 10, 16 << 10, 32 << 10, 128 << 10],
            entries: 20_000,
            repeats: 4,
            timed_bytes_max: 32 << 20,
            cuts: 8,
            cause_records: 30_000,
            cause_syncs: 50,
            cause_repeats: 5,
            rival_entries_each: 30_000,
            rival_entries_each_synced: 1_000,
            rival_repeats: 3,
            device_run: Duration::from_millis(400),
            device_repeats: 3,
            read_bytes: 256 << 20,
            read_repeats: 3,
            ..Plan::full()
        }
    }

    /// Entries of a timed run whose entries take `entry_bytes`.
    pub fn entries_timed(&self, entry_bytes: usize) -> u64 {
        let most = self.timed_bytes_max / entry_bytes.max(1) as u64;
        self.entries.min(most).max(1)
    }

    /// Whether this part is to be measured.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

fn milliseconds<S: serde::Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(duration.as_millis())
}
