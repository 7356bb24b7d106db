//! Options: what a store is told when it is opened.

use std::sync::Arc;
use std::time::Duration;

use crate::SharedResources;

/// Milliseconds since 1970. Called only on the caller's own threads, so a simulated clock that
/// lives in one thread will do.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How long a keyspace remembers deletes; `None` for ever. Called on RocksDB's threads while
/// they compact: it must not block, and it must answer `None` for keyspaces it does not know.
pub type Grace = Arc<dyn Fn(u32) -> Option<Duration> + Send + Sync>;

/// Options of [`crate::Store::open`].
#[derive(Clone)]
pub struct StoreOptions {
    /// The process's cache and threads.
    pub shared: SharedResources,
    /// How large the caller lets the memtable grow between flushes, in bytes. Also the room a
    /// full disk must have again before writing resumes.
    pub flush_bytes: usize,
    /// How long each keyspace remembers deletes. It must be longer than a replica may be away
    /// and still catch up from logs: an older write that arrives after its tombstone was
    /// forgotten brings the key back.
    pub tombstone_grace: Grace,
    /// Whether background threads compact when they see fit, or [`crate::Store::compact`] alone does.
    pub auto_compaction: bool,
    /// The clock that tombstones and expiries are measured by.
    pub now_ms: Clock,
}

impl StoreOptions {
    /// 32 MiB between flushes, deletes remembered for ever.
    pub fn new(shared: SharedResources, now_ms: Clock) -> Self {
        Self {
            shared,
            flush_bytes: 32 << 20,
            tombstone_grace: Arc::new(|_| None),
            auto_compaction: true,
            now_ms,
        }
    }
}
