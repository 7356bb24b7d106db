//! Whom the log and the stored records of a shard are read for.

/// What somebody reads for who is not a client that waits for a put or a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A shard takes partitions over.
    Move,
    /// A replica is given what it lacks of stored records, and goes on in the log behind them: it stands
    /// still there for as long as it asks for pages.
    Backfill,
    /// A replica follows, and is far behind.
    Replica,
    /// Somebody who is no replica reads entries.
    Follower,
    /// Somebody will, from where he committed last.
    Cursor,
}

/// Ranks there are.
pub(super) const RANKS: usize = 3;

impl Class {
    /// Who goes first where not all can be read for at once; 0 is before all others: what acknowledged
    /// writes have too few copies of, then moves, then all who are no replicas.
    pub(super) fn rank(self) -> usize {
        match self {
            Class::Backfill | Class::Replica => 0,
            Class::Move => 1,
            Class::Follower | Class::Cursor => 2,
        }
    }
}
