//! What a shard counts about itself.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_log::Lack;
use dunlin_proto::api::{
    BackfillStatus, FeedStatus, FollowerStatus, PinStatus, RangeStatus, RecoveryStatus,
};
use dunlin_proto::{Request, Response, ShardAddress};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Peer, Shard};
use crate::follow::{Segment, bytes_behind};
use crate::limits::CALL_TIMEOUT;
use crate::meters::CLASSES;
use crate::plug::{RangeTrouble, TellFeeds, Transactional, TxnCounts};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub writes: Cell<u64>,
    pub reads: Cell<u64>,
    pub disk_reads: Cell<u64>,
    pub damaged_reads: Cell<u64>,
    pub restamps: Cell<u64>,
    /// Values whose time was found to be over, and whose end was logged here.
    pub ended: Cell<u64>,
    pub repairs: Cell<u64>,
    pub hedges: Cell<u64>,
    pub flushes: Cell<u64>,
    pub pulled: Cell<u64>,
    pub backfilled: Cell<u64>,
    /// Bytes of them.
    pub backfilled_bytes: Cell<u64>,
    /// Bytes of records that were looked at for that, elsewhere.
    pub backfill_looked_bytes: Cell<u64>,
    /// Backfills begun, those apart that went on where they had been interrupted.
    pub backfills: Cell<u64>,
    /// Writes that were held up for a replica about to fall off the log.
    pub slowed: Cell<u64>,
    pub moved: Cell<u64>,
    /// Times that what was copied from a shard had to be copied again.
    pub copied_again: Cell<u64>,
    pub http_requests: Cell<u64>,
    /// By the classes of their statuses.
    pub http_responses: [Cell<u64>; CLASSES.len()],
    /// Ranges that broke off after their first page.
    pub broken_scans: Cell<u64>,
    /// Stamps from elsewhere, refused for being further ahead than the bound.
    pub refused_stamps: Cell<u64>,
    /// Times that entries from elsewhere were refused because they make no sense.
    pub refused_entries: Cell<u64>,
    /// Entries met with the stamp of another that they differ from.
    pub equal_stamps: Cell<u64>,
}

/// One shard's state, as it tells others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShardStatus {
    /// `NODE/SHARD`.
    pub shard: String,
    /// Whether writes are taken; if not, why.
    pub trouble: Option<String>,
    /// Whether it is being filled and so answers no reads yet.
    pub refilling: bool,
    /// Why, and who has not given all yet.
    pub refill: Option<RecoveryStatus>,
    /// Partitions of all keyspaces it holds a replica of.
    pub partitions: u64,
    /// Writes that entered the cluster here.
    pub writes: u64,
    /// Reads coordinated here.
    pub reads: u64,
    /// Reads that went to the disk.
    pub disk_reads: u64,
    /// Reads that met damaged bytes.
    pub damaged_reads: u64,
    /// Writes stamped again above a newer version.
    pub restamps: u64,
    /// Values whose time was found to be over, and whose end was logged here.
    pub ended: u64,
    /// Stale replicas mended after a read.
    pub repairs: u64,
    /// Reads that asked one more replica.
    pub hedges: u64,
    /// Memtable flushes.
    pub flushes: u64,
    /// Times entries were pulled out of another replica's log.
    pub pulled: u64,
    /// Records received by backfill.
    pub backfilled: u64,
    /// Bytes of them.
    pub backfilled_bytes: u64,
    /// Bytes of records that were looked at for that, elsewhere.
    pub backfill_looked_bytes: u64,
    /// Backfills begun, those apart that went on where they had been interrupted.
    pub backfills: u64,
    /// Writes that were held up for a replica about to fall off the log.
    pub slowed: u64,
    /// Whether they are now.
    pub slows: bool,
    /// Backfills under way.
    pub backfilling: Vec<BackfillStatus>,
    /// How far it is behind the writer of which it lacks most, in milliseconds of their clocks.
    pub behind_ms: u64,
    /// Records taken over from other nodes while members changed.
    pub moved: u64,
    /// Times that all it had copied from another shard had to be copied again.
    pub copied_again: u64,
    /// What of its log is kept for whom.
    pub pins: Vec<PinStatus>,
    /// Times that a pin was let go because it held more than it may.
    pub pins_cut: u64,
    /// HTTP requests served.
    pub http_requests: u64,
    /// The same by class of status: 2xx, 3xx, 4xx, 5xx.
    pub http_responses: [u64; CLASSES.len()],
    /// Ranges that broke off after their first page.
    pub broken_scans: u64,
    /// Reads that found their record among those read lately.
    pub row_cache_hits: u64,
    /// Reads that did not.
    pub row_cache_misses: u64,
    /// Stamps from elsewhere, refused for being further ahead than the bound.
    pub refused_stamps: u64,
    /// Times that entries from elsewhere were refused because they make no sense.
    pub refused_entries: u64,
    /// Entries met with the stamp of another that they differ from.
    pub equal_stamps: u64,
    /// Records appended to the log.
    pub log_records: u64,
    /// Bytes appended to the log.
    pub log_bytes: u64,
    /// Groups written to the log.
    pub log_groups: u64,
    /// Syncs of the log.
    pub log_syncs: u64,
    /// What they took together, in microseconds.
    pub log_sync_us: u64,
    /// Last record of the log.
    pub log_last: u64,
    /// Writes waiting for replicas.
    pub pending_writes: u64,
    /// Records not yet applied to the store.
    pub apply_backlog: u64,
    /// Bytes of records that wait to be written to the log.
    pub log_pending_bytes: u64,
    /// Bytes that wait to be sent to other shards.
    pub peer_queue_bytes: u64,
    /// Calls to other shards without an answer.
    pub peer_calls: u64,
    /// Origins that the vector names.
    pub vector_origins: u64,
    /// Segments of the log.
    pub log_segments: u64,
    /// Bytes of them.
    pub log_segment_bytes: u64,
    /// Bytes in the memtable.
    pub memtable_bytes: u64,
    /// Bytes in the store's files.
    pub store_bytes: u64,
    /// Memtables that wait to be written.
    pub memtables_waiting: u64,
    /// Files that reads must look into one by one, until a compaction has merged them.
    pub level0_files: u64,
    /// Bytes that compactions have yet to rewrite, estimated.
    pub compaction_debt_bytes: u64,
    /// Failures of flushes and compactions.
    pub store_errors: u64,
    /// Replicas that have not given it all it lacks, and pieces that it has yet to copy while
    /// members change.
    pub backfill_left: u64,
    /// Records in the store, estimated.
    pub store_keys: u64,
    /// Keys in the store, as far as they were counted: only for who asks for it.
    pub keys_counted: u64,
    /// Whether those are all.
    pub is_counted: bool,
    /// The greatest incarnation of each node that it has met, its own among them.
    pub incarnations: BTreeMap<u16, u32>,
    /// The greatest number of a keyspace that it has met.
    pub keyspace_max: u32,
    /// The drops that its node has in sight: number of the keyspace, and when it was dropped.
    pub drops: Vec<(u32, u64)>,
    /// Keyspaces that it does not serve because others say that they are dropped.
    pub drops_heard: Vec<u32>,
    /// How often users were changed, as it knows them; none of a version without.
    pub users: Option<u64>,
    /// Other shards with which it does not share a secret, each with what to do about it.
    pub distrusts: Vec<String>,
    /// Streams of changes that it serves, and views of which it has a part.
    #[serde(flatten)]
    pub feeds: FeedStatus,
    /// Replicas of ranges that it holds.
    pub ranges: Vec<RangeStatus>,
    /// Transactions that it has coordinated since its start.
    pub txns: TxnCounts,
    /// Shards that follow its log.
    pub followers: Vec<FollowerStatus>,
}

/// A shard that is further behind another than this is catching up, in milliseconds.
const BEHIND_MS: u64 = 5_000;

impl ShardStatus {
    /// Whether it lacks much of what others have, and gets it.
    pub fn is_catching_up(&self) -> bool {
        !self.backfilling.is_empty() || self.behind_ms > BEHIND_MS
    }

    /// How many keys the store holds, and whether that is an estimate.
    pub fn keys(&self) -> (u64, bool) {
        if self.is_counted {
            (self.keys_counted, false)
        } else {
            (self.store_keys.max(self.keys_counted), true)
        }
    }
}

impl Shard {
    /// From now on its status has these streams and views.
    pub(crate) fn set_feeds(&self, tell: TellFeeds) {
        *self.feeds.borrow_mut() = Some(tell);
    }

    /// From now on its status has the replicas of ranges.
    pub(crate) fn set_ranges(&self, ranges: Rc<dyn Transactional>) {
        *self.ranges.borrow_mut() = Some(ranges);
    }

    /// The reason why this shard does not serve ranges, if there is one.
    pub(crate) fn range_trouble(&self) -> Option<RangeTrouble> {
        self.ranges.borrow().as_ref()?.trouble()
    }

    fn feeds(&self) -> FeedStatus {
        let tell = self.feeds.borrow();
        tell.as_ref()
            .map_or_else(FeedStatus::default, |tell| tell())
    }

    /// The replicas of ranges that it holds, and the transactions that it has coordinated.
    pub(crate) fn ranges(&self) -> (Vec<RangeStatus>, TxnCounts) {
        let told = self.ranges.borrow();
        told.as_ref()
            .map_or_else(Default::default, |ranges| ranges.status())
    }

    /// Why this shard takes no writes, if it takes none.
    pub fn trouble(&self) -> Option<String> {
        if let Some(failure) = self.log.progress().failed {
            return Some(format!("the log failed: {failure}; restart the node"));
        }
        if let Some(failed) = &*self.flush_failed.borrow()
            && failed.refuses
        {
            return Some(format!("the store takes nothing: {}", failed.line));
        }
        if let Some(stuck) = &*self.store_stuck.borrow() {
            return Some(format!("the store takes nothing: {stuck}"));
        }
        match self.log.progress().lack {
            Some(Lack::Space) => {
                return Some("no space left for the log: make room on its disk".into());
            }
            Some(Lack::Files) => {
                return Some("no file descriptors left for the log: raise the limit of open files (ulimit -n)".into());
            }
            None => {}
        }
        self.clock_trouble()
    }

    /// Counts and followers as they are now.
    pub fn status(&self) -> ShardStatus {
        let log = self.log.stats();
        // Refused only by a store that refuses everything, which `trouble` tells.
        let store = self.store.stats().unwrap_or_default();
        let counters = &self.counters;
        let peers = self.peers.borrow();
        let backfilling = peers.values().filter_map(|peer| {
            let progress = peer.backfill.borrow();
            Some(progress.as_ref()?.status(&peer.label))
        });
        let backfilling = backfilling.collect();
        let peers: Vec<_> = peers.values().map(|peer| peer.stats()).collect();
        let segments = self.log.segments();
        let refill = self.refill_status();
        let waits_for = refill.as_ref().map_or(0, |refill| refill.waits_for.len());
        let (row_cache_hits, row_cache_misses) = self.store.row_cache();
        let told = self.ranges();
        ShardStatus {
            shard: self.label(),
            trouble: self.trouble(),
            refilling: self.is_refilling(),
            refill,
            partitions: self.placement().partitions_held(self.address),
            writes: counters.writes.get(),
            reads: counters.reads.get(),
            disk_reads: counters.disk_reads.get(),
            damaged_reads: counters.damaged_reads.get(),
            restamps: counters.restamps.get(),
            ended: counters.ended.get(),
            repairs: counters.repairs.get(),
            hedges: counters.hedges.get(),
            flushes: counters.flushes.get(),
            pulled: counters.pulled.get(),
            backfilled: counters.backfilled.get(),
            backfilled_bytes: counters.backfilled_bytes.get(),
            backfill_looked_bytes: counters.backfill_looked_bytes.get(),
            backfills: counters.backfills.get(),
            slowed: counters.slowed.get(),
            slows: self.slow.is_on(),
            backfilling,
            behind_ms: self.behind_ms(),
            moved: counters.moved.get(),
            copied_again: counters.copied_again.get(),
            pins: {
                let bytes_from = |from| {
                    let kept = segments.iter().filter(|segment| segment.last_index >= from);
                    kept.map(|segment| segment.bytes).sum()
                };
                let mut pins = self.pins.status(Instant::now(), bytes_from);
                pins.extend(self.retained(bytes_from));
                pins
            },
            pins_cut: self.pins.cut_count(),
            http_requests: counters.http_requests.get(),
            http_responses: counters.http_responses.each_ref().map(Cell::get),
            broken_scans: counters.broken_scans.get(),
            row_cache_hits,
            row_cache_misses,
            refused_stamps: counters.refused_stamps.get(),
            refused_entries: counters.refused_entries.get(),
            equal_stamps: counters.equal_stamps.get(),
            log_records: log.records,
            log_bytes: log.bytes,
            log_groups: log.groups,
            log_syncs: log.syncs,
            log_sync_us: log.sync_latency_us_sum,
            log_last: self.log.last(),
            pending_writes: self.acks.borrow().len() as u64,
            apply_backlog: self.apply_backlog() as u64,
            log_pending_bytes: self.log.pending_bytes() as u64,
            peer_queue_bytes: peers.iter().map(|stats| stats.queued_bytes).sum(),
            peer_calls: peers.iter().map(|stats| stats.outstanding).sum(),
            vector_origins: self.vector.borrow().iter().count() as u64,
            log_segments: segments.len() as u64,
            log_segment_bytes: segments.iter().map(|segment| segment.bytes).sum(),
            memtable_bytes: store.memtable_bytes,
            store_bytes: store.sst_bytes,
            memtables_waiting: store.memtables_switched,
            level0_files: store.level0_files,
            compaction_debt_bytes: store.compaction_debt_bytes,
            store_errors: store.background_errors,
            backfill_left: waits_for as u64 + self.parts_left(),
            store_keys: store.keys_estimate,
            keys_counted: 0,
            is_counted: false,
            incarnations: self.incarnations(),
            keyspace_max: self.purge.keyspace_max(),
            drops: self.drops(),
            drops_heard: self.drops_heard(),
            users: Some(self.front.guard.changes()),
            distrusts: self.distrusts(),
            ranges: told.0,
            txns: told.1,
            feeds: self.feeds(),
            followers: self.followers_status(),
        }
    }

    /// The same with the keys counted, if that is done in time: who asks how a shard is must hear
    /// of it although its disk hangs.
    pub(crate) async fn status_with_keys(self: &Rc<Self>) -> ShardStatus {
        let counted = self.count_keys().await;
        let mut status = self.status();
        if let Some(counted) = counted {
            status.keys_counted = counted.keys;
            status.is_counted = counted.is_all;
        }
        status
    }

    /// Asks shards for their status, all at once; `None` for those that do not answer.
    pub(crate) async fn statuses(
        self: &Rc<Self>,
        addresses: &[ShardAddress],
    ) -> Vec<(ShardAddress, Option<ShardStatus>)> {
        self.ask_for_status(addresses, false).await
    }

    /// The same with the keys counted, for a user who wants to see them: it is work for each of
    /// the shards.
    pub(crate) async fn statuses_with_keys(
        self: &Rc<Self>,
        addresses: &[ShardAddress],
    ) -> Vec<(ShardAddress, Option<ShardStatus>)> {
        self.ask_for_status(addresses, true).await
    }

    async fn ask_for_status(
        self: &Rc<Self>,
        addresses: &[ShardAddress],
        counts_keys: bool,
    ) -> Vec<(ShardAddress, Option<ShardStatus>)> {
        join_all(addresses.iter().map(|address| async move {
            if *address == self.address() {
                let status = if counts_keys {
                    self.status_with_keys().await
                } else {
                    self.status()
                };
                return (*address, Some(status));
            }
            let Some(peer) = self.peer(*address) else {
                return (*address, None);
            };
            let request = Request::Status { counts_keys };
            let answer = peer.caller.call(request, CALL_TIMEOUT).await;
            let status = match answer {
                Ok(Response::Status(json)) => serde_json::from_slice(&json).ok(),
                _ => None,
            };
            (*address, status)
        }))
        .await
    }

    fn drops(&self) -> Vec<(u32, u64)> {
        let topology = self.metadata.topology();
        let dropped = topology.borrow();
        let drops = dropped.dropped.iter();
        drops
            .filter(|dropped| !dropped.purged)
            .map(|dropped| (dropped.keyspace.id, dropped.dropped_ms))
            .collect()
    }

    fn incarnations(&self) -> BTreeMap<u16, u32> {
        let vector = self.vector.borrow();
        let named = vector.iter().map(|(origin, _)| origin);
        let mut greatest = BTreeMap::new();
        for origin in named.chain([self.origin]) {
            let known: &mut u32 = greatest.entry(origin.node()).or_default();
            let start = origin.incarnation().max(vector.sealed_to(origin));
            *known = start.max(*known);
        }
        greatest
    }

    fn distrusts(&self) -> Vec<String> {
        let peers = self.peers.borrow();
        let line = |peer: &Rc<Peer>| {
            let line = peer.caller.distrust()?.line(self.config.guard.door());
            let how = if peer.caller.is_connected() {
                "connected without a proof"
            } else {
                "not connected"
            };
            Some(format!("{}: {how}: {line}", peer.label))
        };
        let mut lines: Vec<String> = peers.values().filter_map(line).collect();
        lines.sort();
        lines
    }

    fn followers_status(&self) -> Vec<FollowerStatus> {
        let segments: Vec<Segment> = self.log.segments().iter().map(Segment::of).collect();
        let peers = self.peers.borrow();
        peers
            .values()
            .filter(|peer| peer.shares.get())
            .map(|peer| {
                let connected = peer.caller.is_connected();
                let gauge = &peer.gauge;
                let latency = gauge.latency_us();
                FollowerStatus {
                    from: self.label(),
                    to: peer.label.clone(),
                    items_remaining: self.log.last().saturating_sub(gauge.acked_index()),
                    bytes_remaining: bytes_behind(&segments, gauge.acked_index()),
                    bytes_per_s: gauge.rate.bytes_per_s(),
                    latency_us_p50: latency[0],
                    latency_us_p95: latency[1],
                    latency_us_p99: latency[2],
                    connected,
                    state: if !connected { "down" } else { gauge.state() }.into(),
                }
            })
            .collect()
    }
}
