//! A link from another cluster, as its receiver keeps it: the receiver checks its age by its own clock, whatever the
//! sender says. Pure.

use std::collections::BTreeSet;

use dunlin_entry::{Version, cluster_number};
use dunlin_proto::api::{HexVersion, Homes};
use serde::{Deserialize, Serialize};

use crate::age::{self, Age, Checked};
use crate::home::home_of;

/// Reports are kept for so long beyond the clock bound, in milliseconds: until all replicas have what they speak of.
const KEPT_MS: u64 = 60_000;
/// The most reports that are kept.
const REPORTS: usize = 64;

/// The record of a link in `_system` of its receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Inbound {
    /// Its name at the sender; empty before the sender's first report.
    pub name: String,
    /// Keys that begin with this arrive.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Number of the sender's keyspace; 0 before the sender's first report.
    pub keyspace_id: u32,
    /// When its first batch or report arrived, in milliseconds since 1970.
    created_ms: u64,
    /// Since when it is broken. Never taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_ms: Option<u64>,
    /// Since when it is dropped. Never taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_ms: Option<u64>,
    /// The last reports, in their order.
    tables: Vec<Table>,
}

/// A report of the sender.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Table {
    homes: Homes,
    /// When the report arrived, in milliseconds since 1970.
    seen_ms: u64,
}

impl Inbound {
    /// A link of which nothing had arrived before.
    pub fn new(now_ms: u64) -> Inbound {
        Inbound {
            created_ms: now_ms,
            ..Inbound::default()
        }
    }

    /// The record after a report. A late report takes nothing back. `bound_ms` is the clock bound of the receiver.
    pub fn report(
        mut self,
        (name, prefix): (&str, &str),
        reported: &Homes,
        (now_ms, bound_ms): (u64, u64),
    ) -> Inbound {
        let mut homes = self.homes().clone();
        for (home, new) in reported {
            let known = homes.entry(home.clone()).or_insert(*new);
            known.delivered = known.delivered.max(new.delivered);
            known.is_ended = new.is_ended;
        }
        name.clone_into(&mut self.name);
        prefix.clone_into(&mut self.prefix);
        self.tables.push(Table {
            homes,
            seen_ms: now_ms,
        });
        // One from before that time stays.
        let from_ms = now_ms.saturating_sub(bound_ms + KEPT_MS);
        let old = self.tables.iter().filter(|table| table.seen_ms < from_ms);
        let more = self.tables.len().saturating_sub(REPORTS);
        self.tables.drain(..old.count().saturating_sub(1).max(more));
        self
    }

    /// The record after its sender, or somebody here, has dropped the link.
    pub fn drop_link(mut self, now_ms: u64) -> Inbound {
        self.dropped_ms.get_or_insert(now_ms);
        self
    }

    /// Its progress by home, after the last report.
    pub fn homes(&self) -> &Homes {
        static NONE: Homes = Homes::new();
        self.tables.last().map_or(&NONE, |table| &table.homes)
    }

    /// The numbers of the clusters whose entries it may bring: the sender has reported when their age begins.
    pub fn numbers(&self) -> BTreeSet<u16> {
        let id = |key: &String| u128::from_str_radix(home_of(key).0, 16).ok();
        let ids = self.homes().keys().filter_map(id);
        ids.map(cluster_number).collect()
    }

    /// Up to which version all entries of a home had arrived before a time.
    pub fn delivered(&self, home: &str, before_ms: u64) -> Option<Version> {
        let seen = self.tables.iter().rev().find(|t| t.seen_ms < before_ms)?;
        let HexVersion(version) = seen.homes.get(home)?.delivered?;
        Some(version)
    }

    /// Since when nothing arrives over it any more, if so.
    pub fn ended_ms(&self) -> Option<u64> {
        match (self.dropped_ms, self.broken_ms) {
            (Some(dropped), Some(broken)) => Some(dropped.min(broken)),
            (dropped, broken) => dropped.or(broken),
        }
    }

    /// Whether it is dropped.
    pub fn is_dropped(&self) -> bool {
        self.dropped_ms.is_some()
    }

    /// Its age, and the record after the check; `grace_ms` is the tombstone grace of the receiver.
    pub fn check(mut self, sender: &str, now_ms: u64, grace_ms: u64) -> (Inbound, Checked) {
        let homes = self.homes();
        let mut checked = age::check(now_ms, grace_ms, (sender, self.created_ms), homes);
        if self.broken_ms.is_some() {
            checked.age = Age::Broken;
        } else if checked.age == Age::Broken && self.dropped_ms.is_none() {
            self.broken_ms = Some(now_ms);
        }
        (self, checked)
    }
}

#[cfg(test)]
#[path = "inbound_tests.rs"]
mod tests;
