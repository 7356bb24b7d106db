//! Counters since the log was opened.

use super::Log;
use crate::batch::Tally;
use std::time::Duration;

/// Number of buckets of the sync latency histogram; bucket `i` counts latencies below `2^i`
/// microseconds that are in no lower one, the last one all above.
pub const SYNC_BUCKETS: usize = 24;

/// Counters since the log was opened, and what it holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Groups written.
    pub groups: u64,
    /// Groups synced; `records_synced / syncs` is what group commit saves.
    pub syncs: u64,
    /// Records written, preambles among them.
    pub records: u64,
    /// Records made durable by those syncs.
    pub records_synced: u64,
    /// Physical bytes written, but for preallocation.
    pub bytes: u64,
    /// Compressed batches among what was written.
    pub batches: u64,
    /// Payload bytes of the records in those batches.
    pub batch_raw_bytes: u64,
    /// What those batches took, compressed, without their headers.
    pub batch_compressed_bytes: u64,
    /// Sum of the latencies of synced groups (hand-over, encoding, write, sync), in microseconds.
    pub sync_latency_us_sum: u64,
    /// The greatest of them.
    pub sync_latency_us_max: u64,
    /// How they are distributed.
    pub sync_latency_us_buckets: [u64; SYNC_BUCKETS],
    /// Payload bytes of the in-memory tail.
    pub tail_bytes: usize,
    /// Payload bytes accepted and not yet written.
    pub pending_bytes: usize,
    /// Bytes of all segments.
    pub segment_bytes: u64,
    /// Segments, the active one among them.
    pub segments: usize,
    /// Spare segments ready.
    pub spares: usize,
    /// Whether the active segment was begun with direct I/O: asked for, and allowed by the file
    /// system.
    pub direct_io: bool,
}

/// The part that only grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub groups: u64,
    pub syncs: u64,
    pub records: u64,
    pub records_synced: u64,
    pub bytes: u64,
    pub tally: Tally,
    latency_us_sum: u64,
    latency_us_max: u64,
    latency_us_buckets: [u64; SYNC_BUCKETS],
}

impl Counters {
    pub(super) fn synced(&mut self, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.syncs += 1;
        self.latency_us_sum = self.latency_us_sum.saturating_add(us);
        self.latency_us_max = self.latency_us_max.max(us);
        let bucket = (u64::BITS - us.leading_zeros()) as usize;
        self.latency_us_buckets[bucket.min(SYNC_BUCKETS - 1)] += 1;
    }
}

impl Log {
    /// The counters now.
    pub fn stats(&self) -> Stats {
        let state = self.shared.state.borrow();
        let counters = &state.counters;
        Stats {
            groups: counters.groups,
            syncs: counters.syncs,
            records: counters.records,
            records_synced: counters.records_synced,
            bytes: counters.bytes,
            batches: counters.tally.batches,
            batch_raw_bytes: counters.tally.raw_bytes,
            batch_compressed_bytes: counters.tally.compressed_bytes,
            sync_latency_us_sum: counters.latency_us_sum,
            sync_latency_us_max: counters.latency_us_max,
            sync_latency_us_buckets: counters.latency_us_buckets,
            tail_bytes: state.tail.bytes(),
            pending_bytes: state.pending_bytes(),
            segment_bytes: state.segments.iter().map(|segment| segment.bytes).sum(),
            segments: state.segments.len(),
            spares: state.spares,
            direct_io: state.direct_io,
        }
    }
}
