//! How long clients' requests took and how they ended, by operation, keyspace and class of status.
//! Each shard writes its own meters, without locks; whoever is asked for `/metrics` reads those of
//! all shards of its node. How many there are is bounded: see [`KEYSPACES_SHOWN`].

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;

/// Keyspaces with figures of their own: those of the least ids. The rest are shown as one.
pub(crate) const KEYSPACES_SHOWN: usize = 100;
/// What the others are called together.
pub(crate) const OTHER: &str = "other";

/// What a request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Get,
    Put,
    Delete,
    /// Many puts of one request.
    Bulk,
    /// A range, up to its first page.
    Scan,
}

impl Operation {
    pub const ALL: [Operation; 5] = [
        Operation::Get,
        Operation::Put,
        Operation::Delete,
        Operation::Bulk,
        Operation::Scan,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Get => "get",
            Operation::Put => "put",
            Operation::Delete => "delete",
            Operation::Bulk => "bulk",
            Operation::Scan => "scan",
        }
    }
}

/// Classes of statuses that a request can be answered with.
pub(crate) const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// The place of a status among [`CLASSES`].
pub(crate) fn class(status: StatusCode) -> usize {
    usize::from(status.as_u16() / 100)
        .saturating_sub(2)
        .min(CLASSES.len() - 1)
}

/// Buckets with a bound; one without is behind them.
pub(crate) const BUCKETS: usize = 15;
/// The first bound is 2 to this, in microseconds: 128 us. Each further one is twice the last, up to 2.1 s.
const FIRST_BIT: u32 = 7;

/// The greatest duration of a bucket, in seconds.
pub(crate) fn bound_s(bucket: usize) -> f64 {
    f64::from(1_u32 << (FIRST_BIT + bucket as u32)) / 1e6
}

fn bucket_of(spent_us: u64) -> usize {
    let bits = u64::BITS - spent_us.saturating_sub(1).leading_zeros();
    (bits.saturating_sub(FIRST_BIT) as usize).min(BUCKETS)
}

/// Durations of one kind of request. Written by one thread only.
#[derive(Default)]
struct Durations {
    buckets: [AtomicU64; BUCKETS + 1],
    sum_us: AtomicU64,
}

impl Durations {
    fn record(&self, spent_us: u64) {
        // Not one step each, as nobody else writes.
        let add = |to: &AtomicU64, more| to.store(to.load(Relaxed).wrapping_add(more), Relaxed);
        add(&self.buckets[bucket_of(spent_us)], 1);
        add(&self.sum_us, spent_us);
    }
}

/// One keyspace's durations at one shard.
#[derive(Default)]
struct Meter([[Durations; CLASSES.len()]; Operation::ALL.len()]);

/// What a keyspace is called, and its meter.
type Named = (String, Arc<Meter>);
type Shown = Arc<Mutex<Vec<Named>>>;

/// The meters of one shard, for itself.
#[derive(Default)]
pub(crate) struct Requests {
    /// By id of the keyspace, in order.
    own: RefCell<Vec<(u32, Arc<Meter>)>>,
    others: Arc<Meter>,
    shown: Shown,
}

impl Requests {
    /// Takes note of a request that was answered.
    pub fn record(&self, operation: Operation, keyspace: u32, status: StatusCode, spent_us: u64) {
        let own = self.own.borrow();
        let meter = match own.binary_search_by_key(&keyspace, |(id, _)| *id) {
            Ok(place) => &own[place].1,
            Err(_) => &self.others,
        };
        meter.0[operation as usize][class(status)].record(spent_us);
    }

    /// Makes room for the keyspaces there are now. What was counted of one that stays, stays.
    pub fn follow<'a>(&self, keyspaces: impl Iterator<Item = (u32, &'a str)>) {
        let mut all: Vec<(u32, &str)> = keyspaces.collect();
        all.sort_unstable();
        all.truncate(KEYSPACES_SHOWN);
        let mut own = self.own.borrow_mut();
        let before: HashMap<u32, Arc<Meter>> = own.drain(..).collect();
        let mut shown = vec![(OTHER.to_owned(), self.others.clone())];
        for (id, name) in all {
            let meter = before.get(&id).cloned().unwrap_or_default();
            shown.push((name.to_owned(), meter.clone()));
            own.push((id, meter));
        }
        *lock(&self.shown) = shown;
    }
}

/// The meters of all shards of a process, by node and shard.
#[derive(Clone, Default)]
pub(crate) struct Meters(Arc<Mutex<BTreeMap<(String, u16), Shown>>>);

/// Which requests; the class is a place among [`CLASSES`].
pub(crate) type Series = (Operation, String, usize);

/// Durations of a node's requests of one kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Each by itself, not with those below it.
    pub buckets: [u64; BUCKETS + 1],
    pub sum_us: u64,
}

impl Meters {
    /// Meters for a shard that starts, from zero.
    pub fn of_shard(&self, node: &str, shard: u16) -> Requests {
        let requests = Requests::default();
        lock(&self.0).insert((node.to_owned(), shard), requests.shown.clone());
        requests
    }

    /// What the shards of a node have counted together; kinds of requests that never came are left
    /// out. A keyspace that is really named `other` is shown with the others.
    pub fn of_node(&self, node: &str) -> BTreeMap<Series, Sums> {
        let mut series: BTreeMap<Series, Sums> = BTreeMap::new();
        let shards = lock(&self.0);
        for (_, shown) in shards.iter().filter(|((name, _), _)| name == node) {
            for (keyspace, meter) in &*lock(shown) {
                for (operation, classes) in Operation::ALL.iter().zip(&meter.0) {
                    for (class, durations) in classes.iter().enumerate() {
                        let buckets: Vec<u64> =
                            durations.buckets.iter().map(|b| b.load(Relaxed)).collect();
                        if buckets.iter().all(|count| *count == 0) {
                            continue;
                        }
                        let sums = series
                            .entry((*operation, keyspace.clone(), class))
                            .or_default();
                        sums.sum_us += durations.sum_us.load(Relaxed);
                        for (sum, count) in sums.buckets.iter_mut().zip(buckets) {
                            *sum += count;
                        }
                    }
                }
            }
        }
        series
    }
}

/// A list is whole between any two statements.
fn lock<T>(list: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "meters_tests.rs"]
mod tests;
