//! What tokens have to outlive, for who checks that they do.

use dunlin_entry::Version;

use super::Shard;

/// What happened at a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Happened {
    /// In which of its starts it is.
    pub incarnation: u32,
    /// Records that came in beside its log since then.
    pub ingested: u64,
    /// Starts of any shard that it has sealed, added up.
    pub sealed: u64,
    /// Deletes of the keyspace up to this stamp may be forgotten.
    pub forgotten: Version,
}

impl Shard {
    /// What happened here, as far as it concerns a keyspace.
    pub fn happened(&self, keyspace: u32) -> Happened {
        let vector = self.vector.borrow();
        let seals = vector.iter().filter(|(origin, _)| origin.is_seal());
        Happened {
            incarnation: self.origin.incarnation(),
            ingested: self.counters.backfilled.get() + self.counters.moved.get(),
            sealed: seals.map(|(_, start)| start.0).sum(),
            forgotten: self.forgotten(keyspace),
        }
    }
}
