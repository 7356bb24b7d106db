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
    /// A new replica leaves out what the old one's log has had of a part that is not copied to its end, of
    /// keys that are copied, too.
    ForgetTail,
    /// A new replica reads the old one's log while pages of it are on their way, and stores these behind that.
    TailAmongPages,
    /// While replicas change, writes go to those that are read, and not to the others.
    SkipJoint,
    /// A shard whose past is not certain answers reads.
    AnswerUncertain,
    /// A refill asks each replica only for what it wrote itself.
    RefillOwnOnly,
    /// An attempt at a write that comes after its deadline is stamped as if it were new.
    IgnoreDeadlines,
    /// A conditional write that met something newer is stamped again, above it.
    RestampConditions,
    /// Clocks may be off by any time: another's is taken over however far ahead it is, and nobody is
    /// fenced for its own.
    FollowAnyClock,
    /// Incarnations in hellos are not looked at.
    AcceptTwins,
    /// Whatever the metadata store says is believed (the simulation's store is made so, too), and
    /// what it does not name is dropped.
    TrustEmptyMetadata,
    /// An entry goes to the first `from` replicas that its write asks for, and to no others.
    NarrowFrom,
    /// A replica answers a node that is no member by whatever phase that asks.
    ServeBehind,
    /// The word of a shard that may have forgotten what it acknowledged counts like any other's.
    CountUnsure,
    /// That a value is over is stamped with the time it is found, not with the value's own stamp.
    EndByNow,
    /// A shard says that its earlier starts are final whoever has not seen all they wrote, and others seal
    /// them on its word.
    SealUnequal,
    /// Nothing is noted of what comes in beside the log.
    HideGaps,
    /// A shard whose past is not certain is sent only what its vector does not name, and takes what is
    /// left out for deleted and forgotten.
    CompareNewer,
    /// Followers are shown what one replica has.
    ShowEarly,
    /// A stream that goes on at another replica goes on with what comes from now on.
    SkipAtSwitch,
    /// The token of a stream is that of all that had come, where not all of it was told.
    TokenAhead,
    /// The token of a stream names a partition of which a complete snapshot begins, as if it were kept.
    NameForgotten,
    /// Deletes that a backfill may have left out count as forgotten by every replica.
    PromiseByGap,
    /// Who comes to the end of a log goes on with what comes there next, whatever he has read of it.
    JoinAtEnd,
    /// The index of a view takes the change that comes last for the newest.
    IndexAnyOrder,
    /// A replica of a range acknowledges entries before they are synced.
    RangeAckUnsynced,
    /// A replica of a range tells its vote before it is synced.
    VoteUnsynced,
    /// A read of a range joins a round that began before it came.
    ReadJoinsOlderRound,
    /// A replica of a range that is empty, or was put back from a copy, votes as the one it was.
    PutBackVotes,
    /// A range is taken over from its leader, and its log is not told.
    SnapshotWithoutRecord,
    /// A range's log keeps old entries of a higher index than those that replaced others, when it is read at a start.
    KeepHigherEntries,
    /// The leader of a range judges a condition by what it has applied when the write comes.
    JudgeAtLeader,
    /// The leader of a range lets be read above its lease.
    ReadPastLease,
    /// The leader of the oracle gives timestamps without knowing whether it still leads.
    TimestampUnconfirmed,
    /// The cached row of a range's key stays when a newer version is written.
    KeepCachedRow,
    /// A replica of a range starts without what it knew a majority to have.
    ForgetCommit,
    /// Voters of a range are changed without two configurations in between.
    SkipJointOfRange,
    /// A replica of a range that has lost its data is made again under its number, as if it were the same.
    ReuseReplicaNumber,
    /// A replica of a range goes by the configuration from before a snapshot.
    KeepOldConfiguration,
    /// A replica of a range that was removed may be made again under its number.
    RemakeRemoved,
    /// A shard makes an empty replica of a range where one speaks.
    PrepareDiscardsVoter,
    /// An entry of another cluster is logged without its position in this one.
    LinkTimestampAsPosition,
    /// A write that keeps its timestamp gets another when it meets something newer.
    LinkNewTimestamp,
    /// An entry of another cluster is logged again though it is there.
    LinkRelog,
    /// An entry of another cluster that one replica has is acknowledged.
    LinkHeldAlone,
    /// The progress of a link is committed before it is acknowledged.
    LinkTokenAhead,
    /// All clusters have one number.
    LinkSameNumber,
    /// No link is ever too old.
    LinkNoAge,
    /// A stored record that was sent is sent again.
    LinkSnapshotAgain,
    /// A comparison of linked clusters reads the other cluster before the link has delivered the records here.
    VerifyEarly,
}

impl Sabotage {
    /// All of them, and none.
    pub const ALL: [Sabotage; 57] = [
        Sabotage::None,
        Sabotage::AckUnsynced,
        Sabotage::IgnoreGaps,
        Sabotage::NoRestamp,
        Sabotage::FirstAnswer,
        Sabotage::ForgetTombstones,
        Sabotage::FlushUnsynced,
        Sabotage::SkipTail,
        Sabotage::ForgetTail,
        Sabotage::TailAmongPages,
        Sabotage::SkipJoint,
        Sabotage::AnswerUncertain,
        Sabotage::RefillOwnOnly,
        Sabotage::IgnoreDeadlines,
        Sabotage::RestampConditions,
        Sabotage::FollowAnyClock,
        Sabotage::AcceptTwins,
        Sabotage::TrustEmptyMetadata,
        Sabotage::NarrowFrom,
        Sabotage::ServeBehind,
        Sabotage::CountUnsure,
        Sabotage::EndByNow,
        Sabotage::SealUnequal,
        Sabotage::HideGaps,
        Sabotage::CompareNewer,
        Sabotage::ShowEarly,
        Sabotage::SkipAtSwitch,
        Sabotage::TokenAhead,
        Sabotage::NameForgotten,
        Sabotage::PromiseByGap,
        Sabotage::JoinAtEnd,
        Sabotage::IndexAnyOrder,
        Sabotage::RangeAckUnsynced,
        Sabotage::VoteUnsynced,
        Sabotage::ReadJoinsOlderRound,
        Sabotage::PutBackVotes,
        Sabotage::SnapshotWithoutRecord,
        Sabotage::KeepHigherEntries,
        Sabotage::JudgeAtLeader,
        Sabotage::ReadPastLease,
        Sabotage::TimestampUnconfirmed,
        Sabotage::KeepCachedRow,
        Sabotage::ForgetCommit,
        Sabotage::SkipJointOfRange,
        Sabotage::ReuseReplicaNumber,
        Sabotage::KeepOldConfiguration,
        Sabotage::RemakeRemoved,
        Sabotage::PrepareDiscardsVoter,
        Sabotage::LinkTimestampAsPosition,
        Sabotage::LinkNewTimestamp,
        Sabotage::LinkRelog,
        Sabotage::LinkHeldAlone,
        Sabotage::LinkTokenAhead,
        Sabotage::LinkSameNumber,
        Sabotage::LinkNoAge,
        Sabotage::LinkSnapshotAgain,
        Sabotage::VerifyEarly,
    ];

    /// Whether it shows only where clusters are linked.
    pub fn is_of_links(self) -> bool {
        matches!(
            self,
            Sabotage::LinkTimestampAsPosition
                | Sabotage::LinkNewTimestamp
                | Sabotage::LinkRelog
                | Sabotage::LinkHeldAlone
                | Sabotage::LinkTokenAhead
                | Sabotage::LinkSameNumber
                | Sabotage::LinkNoAge
                | Sabotage::LinkSnapshotAgain
                | Sabotage::VerifyEarly
        )
    }
}
