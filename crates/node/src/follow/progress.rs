//! Progress: how far a backfill is, for people.

use std::cell::Cell;
use std::time::Duration;

use dunlin_proto::api::BackfillStatus;
use tokio::time::Instant;

use crate::rate::Rate;

/// A backfill under way.
#[derive(Debug)]
pub(crate) struct Progress {
    since: Instant,
    /// Done when it began, for it went on where it had been interrupted.
    begun_at: u64,
    pub parts: u64,
    pub parts_done: Cell<u64>,
    pub records: Cell<u64>,
    pub bytes: Cell<u64>,
    pub looked_bytes: Cell<u64>,
    rate: Rate,
}

impl Progress {
    /// Of `parts` partitions, the first `done` of which were looked through before.
    pub fn new(parts: u64, done: u64) -> Progress {
        Progress {
            since: Instant::now(),
            begun_at: done,
            parts,
            parts_done: Cell::new(done),
            records: Cell::default(),
            bytes: Cell::default(),
            looked_bytes: Cell::default(),
            rate: Rate::default(),
        }
    }

    /// Some records have come, and more have been looked at.
    pub fn came(&self, records: u64, bytes: u64, looked_bytes: u64) {
        self.records.set(self.records.get() + records);
        self.bytes.set(self.bytes.get() + bytes);
        self.looked_bytes
            .set(self.looked_bytes.get() + looked_bytes);
        self.rate
            .add(usize::try_from(looked_bytes).unwrap_or(usize::MAX));
        self.rate.tick(Instant::now());
    }

    /// For people.
    pub fn status(&self, from: &str) -> BackfillStatus {
        let done = self.parts_done.get();
        BackfillStatus {
            from: from.to_owned(),
            parts: self.parts,
            parts_done: done,
            records: self.records.get(),
            bytes: self.bytes.get(),
            bytes_read: self.looked_bytes.get(),
            bytes_read_per_s: self.rate.bytes_per_s(),
            left_s: left(
                self.since.elapsed(),
                done - self.begun_at,
                self.parts - done,
            )
            .map(|left| left.as_secs()),
        }
    }
}

/// How long the rest takes if `done` parts took `elapsed`.
fn left(elapsed: Duration, done: u64, rest: u64) -> Option<Duration> {
    let each = (done > 0).then(|| elapsed.as_secs_f64() / done as f64)?;
    Duration::try_from_secs_f64(each * rest as f64).ok()
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
