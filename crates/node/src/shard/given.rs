//! Writes that keep the timestamp they have: those of another cluster, and repairs. A write that is there already is not
//! logged again.

use dunlin_entry::{Position, Rank};
use dunlin_proto::{ReadAnswer, ReadRequest};

use super::Shard;

/// The fate of such a write at the replica through which it enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    /// The same or something newer was logged there. It is acknowledged once that is on a majority.
    Held(Position),
    /// It is logged.
    Log,
}

/// Decides about a write, against the record of its key.
pub(crate) fn decide(held: Option<(Rank, Position)>, offered: Rank) -> Offered {
    match held {
        Some((held, at)) if held >= offered => Offered::Held(at),
        _ => Offered::Log,
    }
}

impl Shard {
    /// The newest that is applied here for a key, from memory or the disk; none where nothing is held, or where this
    /// shard cannot say.
    pub(crate) async fn newest_applied(&self, request: ReadRequest) -> Option<(Rank, Position)> {
        let answer = match self.read_cached(&request) {
            Some(answer) => answer,
            None => self.read_disk(request).await,
        };
        match answer {
            ReadAnswer::Value(item) => Some((item.rank(), item.position())),
            _ => None,
        }
    }

    /// The newest that is logged here for a key and not applied yet.
    pub(crate) fn newest_queued(&self, keyspace: u32, key: &[u8]) -> Option<(Rank, Position)> {
        let newest = self.newest_unapplied(keyspace, key);
        newest.map(|entry| (entry.rank(), entry.position()))
    }
}

#[cfg(test)]
#[path = "given_tests.rs"]
mod tests;
