//! What becomes of dropped keyspaces: when their data may go, and its going. Only a record of the
//! drop that says so makes it go, never that a keyspace is missing (decision 21).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use dunlin_metadata::{Dropped, Keyspace, Topology};
use dunlin_proto::ShardAddress;
use dunlin_proto::api::RangeStatus;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Shard;
use crate::placement::Placement;
use crate::sabotage::Sabotage;

/// Pause before what failed is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// What a keyspace without records may seem to take: sizes are estimates by whole blocks.
const LEFT_BYTES: u64 = 64 << 10;

/// What is to go.
#[derive(Default)]
pub(super) struct Purge {
    due: RefCell<BTreeSet<u32>>,
    wake: Notify,
    /// The greatest number of a keyspace that a topology had, or the store at the start.
    keyspace_max: Cell<u32>,
    /// Numbers of the keyspaces that the store held records of at the start; `None` before it said.
    held: RefCell<Option<Vec<u32>>>,
    looked: Notify,
}

impl Purge {
    /// Takes note of a new placement. At the first one after a start all that was ever purged is
    /// looked at: this node may have been away.
    pub fn adopted(&self, before: &Placement, now: &Placement, sabotage: Sabotage) {
        let met = now.keyspaces().map(|keyspace| keyspace.keyspace.id);
        let met = met.chain(now.transactional().keys().copied());
        self.met(met.chain(now.purged().iter().copied()).max());
        let new = now.purged().difference(before.purged());
        self.due.borrow_mut().extend(new);
        if sabotage == Sabotage::TrustEmptyMetadata {
            let ids = before.keyspaces().map(|keyspace| keyspace.keyspace.id);
            let missing = ids.filter(|id| now.keyspace(*id).is_none());
            self.due.borrow_mut().extend(missing);
        }
        if !self.due.borrow().is_empty() {
            self.wake.notify_one();
        }
    }

    /// The greatest number of a keyspace that this shard has met.
    pub fn keyspace_max(&self) -> u32 {
        self.keyspace_max.get()
    }

    fn met(&self, keyspace: Option<u32>) {
        let max = keyspace.into_iter().chain([self.keyspace_max.get()]).max();
        self.keyspace_max.set(max.unwrap_or(0));
    }
}

impl Shard {
    /// Removes the data of purged keyspaces, for as long as the shard runs.
    pub(super) async fn purge_loop(self: Rc<Self>) {
        let held = self.store_behind(|store| store.keyspaces()).await;
        let held = held.unwrap_or_else(|error| {
            tracing::warn!(%error, "the store does not say what it holds");
            Vec::new()
        });
        self.purge.met(held.iter().max().copied());
        self.purge.held.replace(Some(held));
        self.purge.looked.notify_waiters();
        if let Some(strays) = self.strays() {
            tracing::warn!("{strays}");
        }
        loop {
            let next = self.purge.due.borrow().first().copied();
            let Some(id) = next else {
                self.purge.wake.notified().await;
                continue;
            };
            match self.purge_keyspace(id).await {
                Ok(()) => drop(self.purge.due.borrow_mut().remove(&id)),
                Err(error) => {
                    tracing::warn!(%error, keyspace = id, "removing its data failed; trying again");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Waits until the store has said what it held at the start.
    pub(crate) async fn has_looked(&self) {
        while self.purge.held.borrow().is_none() {
            self.purge.looked.notified().await;
        }
    }

    /// What is wrong when the store holds records of keyspaces that the metadata does not know, not
    /// as dropped ones either.
    pub(crate) fn strays(&self) -> Option<String> {
        let held = self.purge.held.borrow();
        let strays = strays(held.as_deref()?, &self.placement());
        let (is, numbers) = match &strays[..] {
            [] => return None,
            [one] => ("keyspace number", one.to_string()),
            many => {
                let numbers: Vec<String> = many.iter().map(u32::to_string).collect();
                ("keyspace numbers", numbers.join(", "))
            }
        };
        Some(format!(
            "shard {} holds data of {is} {numbers}, of which the metadata knows nothing: if an older copy of the metadata was put back, put the newest back; until then the data stays, and no keyspace gets its number",
            self.label()
        ))
    }

    /// Drops what there is of a keyspace and gives its space back, behind requests. Nothing is
    /// applied to it any more. The flush in between keeps the compaction from flushing by itself,
    /// and a crash from bringing the records back.
    async fn purge_keyspace(&self, id: u32) -> Result<(), String> {
        if !self.holds_any_of(id).await? {
            return Ok(());
        }
        self.store_behind(move |store| store.drop_keyspace(id))
            .await?;
        self.flush().await?;
        self.store_behind(move |store| store.compact_keyspace(id))
            .await?;
        // What RocksDB finds no room for it leaves out, and does not say so.
        if self.holds_any_of(id).await? {
            return Err("some of it is still in the store's files".to_owned());
        }
        tracing::info!(keyspace = id, "the data of a dropped keyspace is gone");
        Ok(())
    }

    /// Whether the store has anything of a keyspace, be it only in its files.
    async fn holds_any_of(&self, id: u32) -> Result<bool, String> {
        self.store_behind(move |store| {
            let is_held = store.keyspaces()?.contains(&id);
            Ok(is_held || store.keyspace_bytes(id)? > LEFT_BYTES)
        })
        .await
    }

    /// Lets the data of dropped keyspaces go when their delay is over, for as long as the shard
    /// runs. One shard of a node does it.
    pub(super) async fn drop_delay_loop(self: Rc<Self>) {
        let delay = Duration::from_millis(self.config.drop_delay_ms);
        let mut topology = self.metadata.topology();
        let mut sight = Sight::default();
        loop {
            let now = Instant::now();
            let seen = topology.borrow_and_update().clone();
            let next = sight.look(&seen, now, delay);
            let mut retry = None;
            for dropped in &next.due {
                if !self.let_go(dropped).await {
                    retry = Some(Instant::now() + RETRY);
                }
            }
            let wake = retry.into_iter().chain(next.wake).min();
            let asleep = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                changed = topology.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = asleep => {}
            }
        }
    }

    /// Lets the data of a dropped keyspace go, if nothing keeps it; whether it goes.
    async fn let_go(self: &Rc<Self>, dropped: &Dropped) -> bool {
        let keyspace = &dropped.keyspace.name;
        if !self.is_agreed(dropped).await {
            return false;
        }
        if !self.is_ended(&dropped.keyspace).await {
            tracing::info!(
                keyspace,
                "its data stays for now: its ranges have no leader, or other keyspaces do not know the outcomes of all its transactions yet"
            );
            return false;
        }
        let purged = self.metadata.purge_keyspace(dropped).await;
        if let Err(error) = &purged {
            tracing::warn!(%error, keyspace, "its data does not go yet");
        }
        purged.is_ok()
    }

    /// Whether a dropped keyspace may go, as far as its ranges are concerned.
    async fn is_ended(self: &Rc<Self>, keyspace: &Keyspace) -> bool {
        if keyspace.ranges.is_empty() {
            return true;
        }
        let shards: Vec<ShardAddress> = self.placement().shards().collect();
        let statuses = self.statuses(&shards).await;
        let statuses = statuses.iter().filter_map(|(_, status)| status.as_ref());
        let replicas: Vec<&RangeStatus> = statuses.flat_map(|status| &status.ranges).collect();
        ranges_are_ended(keyspace, &replicas)
    }

    /// Whether a majority of the members has this drop in sight. A node that was away may be the
    /// only one to believe an old copy of the metadata store, from before the drop was taken back.
    async fn is_agreed(self: &Rc<Self>, dropped: &Dropped) -> bool {
        let members = self.metadata.topology().borrow().members.ids.clone();
        let firsts: Vec<ShardAddress> = members
            .iter()
            .map(|node| ShardAddress {
                node: *node,
                shard: 0,
            })
            .collect();
        let drop = (dropped.keyspace.id, dropped.dropped_ms);
        let told = self.statuses(&firsts).await;
        let agree = told.iter().filter(|(_, status)| {
            status
                .as_ref()
                .is_some_and(|status| status.drops.contains(&drop))
        });
        is_majority(agree.count(), members.len())
    }
}

/// Whether no other range will need the outcomes of transactions that committed in those of a dropped keyspace, by the
/// status of their replicas: the leaders have applied the drop, and all participants know. A range that never served has
/// no outcomes; and a majority that keeps silent for good will never reveal any, so waiting for it would never end.
fn ranges_are_ended(keyspace: &Keyspace, replicas: &[&RangeStatus]) -> bool {
    let drops = Some(2 * u64::from(keyspace.undrops) + 1);
    keyspace.ranges.iter().all(|range| {
        let number = u64::from(range.number);
        let own = |row: &&&RangeStatus| row.number == keyspace.id && row.range == number;
        let rows = || replicas.iter().filter(own);
        let silent = rows().filter(|row| row.is_silent()).count();
        let is_ended = |row: &&RangeStatus| row.role == "leader" && row.ended == drops;
        !range.ready || 2 * silent > range.replicas.len() || rows().any(is_ended)
    })
}

/// Whether so many of all members are enough for what cannot be taken back.
fn is_majority(agree: usize, members: usize) -> bool {
    2 * agree > members
}

/// Of the numbers of keyspaces that a store holds records of, those that nobody knows.
fn strays(held: &[u32], placement: &Placement) -> Vec<u32> {
    let is_known = |id: u32| placement.keyspace(id).is_some() || placement.is_purged(id);
    held.iter().copied().filter(|id| !is_known(*id)).collect()
}

/// Since when this process has had drops in sight. Wall clocks are not asked: one that is set
/// forward must not take data, so a restart counts from the beginning.
#[derive(Default)]
struct Sight(BTreeMap<(u32, u64), Instant>);

/// What is to be done about drops.
struct Next {
    /// Those whose delay is over.
    due: Vec<Dropped>,
    /// When the next one's is.
    wake: Option<Instant>,
}

impl Sight {
    fn look(&mut self, topology: &Topology, now: Instant, delay: Duration) -> Next {
        let key = |dropped: &Dropped| (dropped.keyspace.id, dropped.dropped_ms);
        let waiting = topology.dropped.iter().filter(|dropped| !dropped.purged);
        let waiting: BTreeMap<_, _> = waiting.map(|dropped| (key(dropped), dropped)).collect();
        self.0.retain(|key, _| waiting.contains_key(key));
        let mut next = Next {
            due: Vec::new(),
            wake: None,
        };
        for (key, dropped) in waiting {
            let since = *self.0.entry(key).or_insert(now);
            match since.checked_add(delay) {
                Some(due) if due <= now => next.due.push(dropped.clone()),
                due => next.wake = next.wake.into_iter().chain(due).min(),
            }
        }
        next
    }
}

#[cfg(test)]
#[path = "purge_tests.rs"]
mod tests;
