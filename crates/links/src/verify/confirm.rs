//! Keys whose ranges differ, read on majorities of both clusters: whether they differ.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Entry, Version, cluster_number};
use dunlin_node::{Sabotage, Services};
use tokio::time::{Instant, sleep};

use super::other::Other;
use super::outcome::{Known, Outcome, outcome};
use super::serve::{Read, read_all};
use crate::arrivals::sources;
use crate::home::home_key;
use crate::kept;
use crate::place::cluster_id;
use crate::repairs::is_old;
use crate::report::grace_ms;
use crate::sources::{arrived, lacking};

/// How often a key that is being written is read again.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// Reads of keys in both clusters.
#[derive(Clone)]
pub(crate) struct Confirm {
    pub services: Rc<Services>,
    pub keyspace: u32,
    pub other: Other,
    /// How long it waits until writes are delivered.
    pub timeout: Duration,
}

/// A key, its records, and whether it differs.
pub(crate) struct Confirmed {
    pub key: Bytes,
    pub here: Option<Entry>,
    pub there: Option<Entry>,
    /// None where that is not known.
    pub outcome: Option<Outcome>,
}

impl Confirm {
    /// Waits until the link has delivered all that was logged here up to a version, of one partition or of all.
    pub async fn delivered(&self, wanted: &BTreeMap<u16, Version>) -> Result<(), String> {
        let services = &self.services;
        if services.sabotage() == Sabotage::VerifyEarly {
            return Ok(());
        }
        let link = &self.other.link;
        let own = home_key(&cluster_id(services), &link.prefix);
        let until = Instant::now() + self.timeout;
        loop {
            let progress = kept::progress(services, self.keyspace, link.id).await;
            let progress = progress
                .map_err(|failure| format!("the link's progress cannot be read: {failure}"))?;
            let behind = wanted.iter().find(|(partition, version)| {
                let delivered = progress.delivered([**partition], &own);
                delivered <= Some(**version)
            });
            let Some((_, version)) = behind else {
                return Ok(());
            };
            if Instant::now() >= until {
                return Err(self.why(*version));
            }
            sleep(PAUSE).await;
        }
    }

    /// Why nothing up to a version is delivered.
    fn why(&self, version: Version) -> String {
        let services = &self.services;
        let shards = services.all_shards().into_iter();
        let own = services.shard().address();
        let away =
            shards.filter(|(at, is_gone)| !is_gone && *at != own && !services.is_reachable(*at));
        let away: Vec<String> = away.map(|(at, _)| services.label_of(at)).collect();
        let link = &self.other.link.name;
        let behind_ms = services.now_ms().saturating_sub(version.millis());
        let line = format!(
            "the link has not delivered all writes of up to {} s ago within {} s",
            behind_ms / 1_000,
            self.timeout.as_secs()
        );
        if away.is_empty() {
            format!("{line}: dunlin link show {link} says why")
        } else {
            format!("{line}: {} cannot be reached", away.join(", "))
        }
    }

    /// Whether keys differ.
    pub async fn all(&self, mut keys: Vec<Bytes>) -> Result<Vec<Confirmed>, String> {
        let mut confirmed = Vec::with_capacity(keys.len());
        for turn in 1.. {
            let mut again = Vec::new();
            for mut key in self.once(keys).await? {
                if key.outcome != Some(Outcome::Again) {
                    confirmed.push(key);
                } else if turn < TRIES {
                    again.push(key.key);
                } else {
                    key.outcome = None;
                    confirmed.push(key);
                }
            }
            if again.is_empty() {
                break;
            }
            keys = again;
            sleep(PAUSE).await;
        }
        Ok(confirmed)
    }

    async fn once(&self, keys: Vec<Bytes>) -> Result<Vec<Confirmed>, String> {
        let services = &self.services;
        let unread = |failure| format!("keys cannot be read here: {failure}");
        let read = || read_all(services, self.keyspace, keys.clone());
        let first = read().await.map_err(unread)?;
        self.delivered(&self.positions(&first)).await?;
        let there = self.other.records(&keys, false).await?;
        let by_key = there.entries.into_iter().map(|e| (e.key.clone(), e));
        let mut by_key: BTreeMap<Bytes, Entry> = by_key.collect();
        let arrived = self.arrived(&by_key, &first).await?;
        let last = read().await.map_err(unread)?;
        let link = &self.other.link;
        let sources = sources(services, self.keyspace).await.map_err(unread)?;
        let grace_ms = grace_ms(services, link);
        let now_ms = services.now_ms();
        let own = cluster_id(services);
        let clusters = (own.as_str(), link.cluster.as_str());
        let may_miss_deletes =
            lacking(&sources, clusters, &there.homes, (now_ms, grace_ms)).is_some();
        let bound_ms = services.clock_bound_ms();
        let entry = |read: &Option<Read>| read.as_ref().map(|read| read.entry.clone());
        let mut all = Vec::with_capacity(keys.len());
        for ((key, first), last) in keys.iter().zip(&first).zip(&last) {
            let there = by_key.remove(key);
            let here = entry(first);
            let is_old = here
                .as_ref()
                .is_some_and(|here| is_old(here.rank().height(), now_ms, grace_ms, bound_ms));
            let known = Known {
                own: cluster_number(services.cluster_number()),
                may_be_deleted_there: is_old && may_miss_deletes,
                has_arrived: arrived.get(key).copied(),
            };
            let last = entry(last);
            let outcome = outcome(here.as_ref(), there.as_ref(), last.as_ref(), known);
            all.push(Confirmed {
                key: key.clone(),
                here: last,
                there,
                outcome: Some(outcome),
            });
        }
        Ok(all)
    }

    /// The position of the newest of some records, by partition.
    fn positions(&self, records: &[Option<Read>]) -> BTreeMap<u16, Version> {
        let mut newest: BTreeMap<u16, Version> = BTreeMap::new();
        let partitions = self.services.partition_count(self.keyspace).unwrap_or(1);
        for read in records.iter().flatten() {
            let partition = dunlin_proto::partition_of(&read.entry.key, partitions);
            let known = newest.entry(partition).or_default();
            *known = read.position.sequence.max(*known);
        }
        newest
    }

    /// Of records there that are newer than those here, and of clusters whose entries links bring here: whether these have
    /// arrived up to there. Waits for that.
    async fn arrived(
        &self,
        there: &BTreeMap<Bytes, Entry>,
        here: &[Option<Read>],
    ) -> Result<BTreeMap<Bytes, bool>, String> {
        let services = &self.services;
        let known = here.iter().flatten();
        let known: BTreeMap<&Bytes, &Entry> = known.map(|r| (&r.entry.key, &r.entry)).collect();
        let own = cluster_number(services.cluster_number());
        let newer = there.values().filter(|entry| {
            let is_newer = known
                .get(&entry.key)
                .is_none_or(|k| k.rank() < entry.rank());
            is_newer && entry.stamp.origin.cluster() != own
        });
        let newer: Vec<&Entry> = newer.collect();
        let until = Instant::now() + self.timeout;
        loop {
            let sources = sources(services, self.keyspace).await;
            let sources = sources.map_err(|failure| {
                format!("links from other clusters cannot be read: {failure}")
            })?;
            let of = |entry: &&Entry| {
                let home = entry.stamp.origin.cluster();
                let arrived = arrived(&sources, home, &entry.key)?;
                Some((entry.key.clone(), arrived >= entry.stamp.version))
            };
            let all: BTreeMap<Bytes, bool> = newer.iter().filter_map(of).collect();
            let is_done = all.values().all(|has_arrived| *has_arrived);
            let is_early = services.sabotage() == Sabotage::VerifyEarly;
            if is_done || is_early || Instant::now() >= until {
                return Ok(all);
            }
            sleep(PAUSE).await;
        }
    }
}
