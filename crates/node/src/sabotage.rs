//! Deliberate bugs for the simulation to find: proof that it can. Never set outside tests.

/// Which promise the code breaks on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// None: the code as meant.
    #[default]
    None,
    /// Entries count as durable before they are synced.
    AckUnsynced,
    /// A stream begins at the log's end, and the replica takes a batch although something before
    /// it is missing.
    IgnoreGaps,
    /// A write that met a newer version is acknowledged without a new stamp.
    NoRestamp,
    /// A read takes the first answer for the newest.
    FirstAnswer,
    /// Backfills and repairs leave tombstones out.
    ForgetTombstones,
    /// The store is flushed before the log is synced.
    FlushUnsynced,
    /// A new replica does not read what the old one's log has had since its records were copied.
    SkipTail,
    /// While replicas change, writes go to those that are read, and not to the others.
    SkipJoint,
}

impl Sabotage {
    /// All of them, and none.
    pub const ALL: [Sabotage; 9] = [
        Sabotage::None,
        Sabotage::AckUnsynced,
        Sabotage::IgnoreGaps,
        Sabotage::NoRestamp,
        Sabotage::FirstAnswer,
        Sabotage::ForgetTombstones,
        Sabotage::FlushUnsynced,
        Sabotage::SkipTail,
        Sabotage::SkipJoint,
    ];
}
