//! The state of a link at one shard, for people.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use dunlin_node::Rate;
use dunlin_proto::api::{LinkAtShard, LinkCounts, LinkError, LinkState, StreamStatus};
use tokio::time::Instant;

use crate::age::{Age, Checked};
use crate::answer::Trouble;

/// Latencies that percentiles are of.
const LATENCIES: usize = 4_096;
/// A link that is behind for longer, or by more, catches up.
const BEHIND: Duration = Duration::from_secs(5);
const BEHIND_BYTES: u64 = 1 << 20;
/// The last errors.
const ERRORS: usize = 8;

/// A link at a shard.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    trouble: RefCell<Option<Trouble>>,
    /// Its age at the shard that checks it, and whether this shard does not know what all replicas have.
    age: RefCell<Option<(Checked, bool)>>,
    partitions: Cell<u64>,
    loading: RefCell<BTreeSet<u16>>,
    is_acknowledged: Cell<bool>,
    /// Since when there have been entries to read or to acknowledge.
    behind_since: Cell<Option<Instant>>,
    counts: RefCell<LinkCounts>,
    rate: Rate,
    latencies: RefCell<VecDeque<u64>>,
    errors: RefCell<VecDeque<LinkError>>,
}

impl Gauge {
    /// Changes counts.
    pub fn count(&self, change: impl FnOnce(&mut LinkCounts)) {
        change(&mut self.counts.borrow_mut());
    }

    /// Something was acknowledged: so many bytes of keys and values.
    pub fn acknowledged(&self, bytes: u64) {
        self.is_acknowledged.set(true);
        self.rate.add(bytes as usize);
        *self.trouble.borrow_mut() = None;
    }

    /// How long a write took to be acknowledged.
    pub fn latency(&self, ms: u64) {
        let mut latencies = self.latencies.borrow_mut();
        if latencies.len() == LATENCIES {
            latencies.pop_front();
        }
        latencies.push_back(ms);
    }

    /// It does not go on.
    pub fn fail(&self, trouble: &Trouble, now_ms: u64) {
        let mut errors = self.errors.borrow_mut();
        let line = &trouble.line;
        match errors.back_mut() {
            Some(last) if last.line == *line => last.at_ms = now_ms,
            _ => {
                tracing::warn!(line, "a link does not go on");
                errors.push_back(LinkError {
                    at_ms: now_ms,
                    line: line.clone(),
                });
            }
        }
        if errors.len() > ERRORS {
            errors.pop_front();
        }
        *self.trouble.borrow_mut() = Some(trouble.clone());
    }

    /// Its age, at the shard that checks it.
    pub fn set_age(&self, age: Option<(Checked, bool)>) {
        *self.age.borrow_mut() = age;
    }

    /// So many partitions are sent from here.
    pub fn lead(&self, partitions: usize) {
        self.partitions.set(partitions as u64);
        if partitions == 0 {
            *self.trouble.borrow_mut() = None;
            self.loading.borrow_mut().clear();
            self.behind_since.set(None);
        }
    }

    /// Stored records of a partition are on their way, or were the last.
    pub fn load(&self, partition: u16, ends: bool) {
        let mut loading = self.loading.borrow_mut();
        if ends {
            loading.remove(&partition);
        } else {
            loading.insert(partition);
        }
    }

    /// The progress of the stream.
    pub fn follow(&self, stream: &StreamStatus, is_waiting: bool) {
        let is_behind = stream.state != "streaming" || is_waiting;
        let since = self.behind_since.get().unwrap_or_else(Instant::now);
        self.behind_since.set(is_behind.then_some(since));
        self.count(|counts| {
            counts.entries_behind = stream.entries_behind.unwrap_or(0);
            counts.bytes_behind = stream.bytes_behind.unwrap_or(0);
        });
    }

    /// Whether there have been old entries to read or to acknowledge for long: a few may be at any moment, if only of other
    /// keyspaces.
    fn is_behind(&self) -> bool {
        let since = self.behind_since.get();
        let is_much = self.counts.borrow().bytes_behind > BEHIND_BYTES;
        is_much || since.is_some_and(|since| since.elapsed() > BEHIND)
    }

    fn state(&self) -> (LinkState, Option<String>) {
        let (state, why) = match &*self.trouble.borrow() {
            Some(trouble) => (trouble.state, Some(trouble.line.clone())),
            None if !self.loading.borrow().is_empty() => (LinkState::Loading, None),
            None if self.is_behind() => (LinkState::CatchingUp, None),
            None => (LinkState::Current, None),
        };
        match &*self.age.borrow() {
            Some((checked, is_unknown)) if checked.age == Age::Late && state < LinkState::Late => {
                (LinkState::Late, Some(late(checked, *is_unknown, why)))
            }
            _ => (state, why),
        }
    }

    /// As it is shown.
    pub fn status(&self, at: String) -> LinkAtShard {
        let (state, why) = self.state();
        self.rate.tick(Instant::now());
        let mut counts = self.counts.borrow().clone();
        counts.bytes_per_s = self.rate.bytes_per_s();
        let mut latencies: Vec<u64> = self.latencies.borrow().iter().copied().collect();
        latencies.sort_unstable();
        let of = |percent: usize| {
            let at = (latencies.len() * percent).div_ceil(100).max(1) - 1;
            latencies.get(at).copied().unwrap_or(0)
        };
        counts.latency_ms_p80 = of(80);
        counts.latency_ms_p95 = of(95);
        counts.latency_ms_p99 = of(99);
        LinkAtShard {
            at,
            state,
            why,
            partitions: self.partitions.get(),
            loading: self.loading.borrow().len() as u64,
            is_acknowledged: self.is_acknowledged.get(),
            counts,
            errors: self.errors.borrow().iter().cloned().collect(),
        }
    }
}

/// Why a link is late.
fn late(checked: &Checked, is_unknown: bool, why: Option<String>) -> String {
    let home = checked.home.as_deref().unwrap_or("this cluster");
    let age_s = checked.age_ms / 1_000;
    let mut line = format!(
        "the entries of cluster {home} are acknowledged only up to {age_s} s ago: remove the cause before the link is broken"
    );
    if is_unknown {
        line += "; a node of this cluster is away, or a clock is not trusted: see dunlin status";
    }
    why.map_or(line.clone(), |why| format!("{line}; {why}"))
}
