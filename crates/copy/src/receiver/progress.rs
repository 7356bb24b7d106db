//! What a receiver has received, for whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that only grow.
#[derive(Debug, Default)]
pub struct Received {
    pairs: AtomicU64,
    bytes: AtomicU64,
}

impl Received {
    pub(crate) fn add(&self, pairs: u64, bytes: u64) {
        self.pairs.fetch_add(pairs, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Pairs received, those that had to be sent again too.
    pub fn pairs(&self) -> u64 {
        self.pairs.load(Ordering::Relaxed)
    }

    /// Bytes of keys and values, or of files, received.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}
