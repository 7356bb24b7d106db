//! The newest records, in memory.

use crate::Index;
use bytes::Bytes;
use std::collections::VecDeque;

/// Records `first..first + records.len()`, without a gap up to the last one accepted.
pub(crate) struct Tail {
    first: Index,
    records: VecDeque<Bytes>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn new(next: Index) -> Tail {
        Tail {
            first: next,
            records: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Index of the oldest record held; that of the next one when none is.
    pub(crate) fn first(&self) -> Index {
        self.first
    }

    /// Payload bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, record: Bytes) {
        self.bytes += record.len();
        self.records.push_back(record);
    }

    /// Drops the oldest records while more than `limit` bytes are held, but none above `written`:
    /// those are nowhere else.
    pub(crate) fn trim(&mut self, limit: usize, written: Index) {
        while self.bytes > limit && self.first <= written {
            let Some(record) = self.records.pop_front() else {
                return;
            };
            self.bytes -= record.len();
            self.first += 1;
        }
    }

    /// Records from `from` on, at least one if there is one, no more than `max_bytes` else.
    /// `from` must not be below `first`.
    pub(crate) fn read(&self, from: Index, max_bytes: usize) -> Vec<(Index, Bytes)> {
        let skip = from.saturating_sub(self.first);
        let mut batch = Vec::new();
        let mut bytes = 0;
        for (index, record) in
            (from..).zip(self.records.range(self.records.len().min(skip as usize)..))
        {
            bytes += record.len();
            if bytes > max_bytes && !batch.is_empty() {
                break;
            }
            batch.push((index, record.clone()));
        }
        batch
    }
}
