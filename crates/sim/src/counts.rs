//! What happened in a run, in numbers: proof that a run exercises what it is meant to.

use std::fmt;
use std::ops::AddAssign;

use dunlin_node::ShardStatus;

use crate::followers::Followers;
use crate::resumed::Resumed;

/// The same of transactional keyspaces.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RangeCounts {
    /// Operations of clients that were judged.
    pub operations: u64,
    /// Transactions in one request that were done, those over several, and those without HTTP between.
    pub txns: [u64; 3],
    /// Drops.
    pub drops: u64,
    /// Dropped keyspaces whose data was purged.
    pub purges: u64,
    /// Times that a replica began to lead.
    pub elections: u64,
    /// Snapshots that replicas took over.
    pub snapshots: u64,
}

impl AddAssign for RangeCounts {
    fn add_assign(&mut self, other: RangeCounts) {
        self.operations += other.operations;
        for (own, other) in self.txns.iter_mut().zip(other.txns) {
            *own += other;
        }
        self.drops += other.drops;
        self.purges += other.purges;
        self.elections += other.elections;
        self.snapshots += other.snapshots;
    }
}

/// Sums over all nodes and all their lives.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Writes that entered.
    pub writes: u64,
    /// Reads coordinated.
    pub reads: u64,
    /// Crashes of nodes.
    pub crashes: u64,
    /// Memtable flushes.
    pub flushes: u64,
    /// Log segments let go, counted again at every end of a node.
    pub released_segments: u64,
    /// Times entries were pulled out of another replica's log.
    pub pulled: u64,
    /// Records received by backfill.
    pub backfilled: u64,
    /// Records taken over while members changed.
    pub moved: u64,
    /// Changes of the members that ended.
    pub changes: u64,
    /// Writes stamped again.
    pub restamps: u64,
    /// Values whose time was over, and whose end was logged.
    pub ended: u64,
    /// Replicas mended after a read.
    pub repairs: u64,
    /// Reads that asked one more replica.
    pub hedges: u64,
    /// Partitions that followers went on with in the very log they had left.
    pub followed_again: u64,
    /// The same in a log, by what they had seen.
    pub followed_log: u64,
    /// The same with stored records and the deletes among them.
    pub followed_delta: u64,
    /// The same with stored records, all else to be forgotten.
    pub followed_complete: u64,
    /// Times that what a follower had been given was compared with a store.
    pub followed_checked: u64,
    /// Values that were not looked for there, as the replica had not heard of them yet.
    pub followed_unheard: u64,
    /// Times that what a merged stream told was taken.
    pub streamed: u64,
    /// Times that the index of a view was compared with the store beside it.
    pub indexes_compared: u64,
    /// Of transactional keyspaces.
    pub ranges: RangeCounts,
    /// Tokens used, and what had happened since each was given.
    pub resumed: Resumed,
}

impl Counts {
    /// Adds what followers counted in the whole run.
    pub fn count(&mut self, followers: &Followers) {
        let (begun, checked, unheard) = followers.counts();
        self.followed_again += begun.log_again;
        self.followed_log += begun.log;
        self.followed_delta += begun.delta;
        self.followed_complete += begun.complete;
        self.followed_checked += checked;
        self.followed_unheard += unheard;
        self.streamed += followers.streamed.get();
        self.resumed += followers.resumed();
    }

    /// Adds what one shard counted since its start.
    pub fn add(&mut self, status: &ShardStatus) {
        *self += Counts {
            writes: status.writes,
            reads: status.reads,
            flushes: status.flushes,
            pulled: status.pulled,
            backfilled: status.backfilled,
            moved: status.moved,
            restamps: status.restamps,
            ended: status.ended,
            repairs: status.repairs,
            hedges: status.hedges,
            ranges: RangeCounts {
                elections: status.ranges.iter().map(|range| range.elections).sum(),
                snapshots: status.ranges.iter().map(|range| range.snapshots).sum(),
                ..RangeCounts::default()
            },
            ..Counts::default()
        };
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.writes += other.writes;
        self.reads += other.reads;
        self.crashes += other.crashes;
        self.flushes += other.flushes;
        self.released_segments += other.released_segments;
        self.pulled += other.pulled;
        self.backfilled += other.backfilled;
        self.moved += other.moved;
        self.changes += other.changes;
        self.restamps += other.restamps;
        self.ended += other.ended;
        self.repairs += other.repairs;
        self.hedges += other.hedges;
        self.followed_again += other.followed_again;
        self.followed_log += other.followed_log;
        self.followed_delta += other.followed_delta;
        self.followed_complete += other.followed_complete;
        self.followed_checked += other.followed_checked;
        self.followed_unheard += other.followed_unheard;
        self.streamed += other.streamed;
        self.indexes_compared += other.indexes_compared;
        self.ranges += other.ranges;
        self.resumed += other.resumed;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} writes, {} reads, {} crashes, {} flushes, {} segments released, {} pulls, {} records backfilled, {} moved in {} changes, {} restamps, {} values ended, {} repairs, {} hedges, followers: {} in the same log, {} by vector, {} deltas, {} complete, {} compared, {} values not heard of yet, {} told by streams, {} indexes compared, {} operations of ranges with {} elections and {} snapshots, {} transactions in one request, {} over several and {} without HTTP, {} drops and {} purges under them, {} resumed, {} of them elsewhere; since the token was given: {} moved, {} ingested, {} purged, {} sealed, {} restarted, {} buried",
            self.writes,
            self.reads,
            self.crashes,
            self.flushes,
            self.released_segments,
            self.pulled,
            self.backfilled,
            self.moved,
            self.changes,
            self.restamps,
            self.ended,
            self.repairs,
            self.hedges,
            self.followed_again,
            self.followed_log,
            self.followed_delta,
            self.followed_complete,
            self.followed_checked,
            self.followed_unheard,
            self.streamed,
            self.indexes_compared,
            self.ranges.operations,
            self.ranges.elections,
            self.ranges.snapshots,
            self.ranges.txns[0],
            self.ranges.txns[1],
            self.ranges.txns[2],
            self.ranges.drops,
            self.ranges.purges,
            self.resumed.all,
            self.resumed.elsewhere,
            self.resumed.moved,
            self.resumed.ingested,
            self.resumed.purged,
            self.resumed.sealed,
            self.resumed.restarted,
            self.resumed.buried
        )
    }
}
