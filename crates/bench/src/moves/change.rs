//! One change of the members, followed from its beginning to its end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::clients::Clients;
use super::members::{self, Change, Members, Step};
use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::interrupt::Interrupt;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A change that takes longer is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(3_600);

/// A change that came to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// What was done.
    pub step: String,
    /// When it began, in seconds from the start of the run.
    pub begin_s: f64,
    /// From the request until no change was under way any more.
    pub duration_s: f64,
    /// The part of it until the last stored record was copied.
    pub copy_s: f64,
    /// Partitions that changed hands, each counted for every old replica it came from.
    pub parts: u64,
    /// Records copied.
    pub records: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// What was seen on the way.
    pub looks: Vec<Look>,
}

/// What was seen at one moment, over all shards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Look {
    /// When, in seconds from the start of the run.
    pub at_s: f64,
    /// The phase then.
    pub phase: String,
    /// Bytes copied.
    pub bytes: u64,
    /// Bytes a second that each shard which takes something over allows itself.
    pub bytes_per_s_max: BTreeMap<String, u64>,
    /// The worst of the shards' own 99th percentiles of the last second, in microseconds.
    pub latency_us_p99: u64,
}

impl Moved {
    /// Bytes a second while stored records were copied.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.copy_s.max(1e-3)
    }
}

/// Makes a step and follows it to its end. Times are from `origin` on.
///
/// # Errors
/// When the step is refused, does not end, or ends with other members than it is to; when a
/// server or the clients break off; when the user stops the run.
pub fn follow(
    step: &Step,
    cluster: &mut Cluster,
    clients: &mut Option<Clients>,
    origin: Instant,
    interrupt: &Interrupt,
) -> Result<Moved, BenchError> {
    let address = *cluster
        .addresses
        .first()
        .ok_or_else(|| BenchError::Members("no node".into()))?;
    let begun = Instant::now();
    members::begin(address, step, interrupt)?;
    let mut seen = Vec::new();
    let ended = loop {
        let at = Instant::now();
        let now = members::ask(address, interrupt)?;
        let Some(change) = now.change else {
            check_ended(step, &now)?;
            break at;
        };
        seen.push((at.duration_since(origin), change));
        if begun.elapsed() > STUCK_AFTER {
            let name = step.name();
            return Err(BenchError::Members(format!(
                "{name} does not come to its end"
            )));
        }
        cluster.check()?;
        if let Some(clients) = clients {
            clients.check()?;
        }
        interrupt.sleep(LOOK_EVERY)?;
    };
    let begin_s = begun.duration_since(origin).as_secs_f64();
    Ok(moved(
        step,
        begin_s,
        ended.duration_since(origin).as_secs_f64(),
        &seen,
    ))
}

/// A node answers by what it knows: what it says last must be what was asked for.
fn check_ended(step: &Step, members: &Members) -> Result<(), BenchError> {
    if step.is_done(members) {
        Ok(())
    } else {
        Err(BenchError::Members(format!(
            "{} ended, and {members:?} is what it left",
            step.name()
        )))
    }
}

/// What the shards had copied at each look. What one said before counts where it says less: one that does
/// not answer in time is left out, and one for which the change is over already tells nothing of it.
fn copied(seen: &[(Duration, Change)]) -> Vec<Vec<members::Shard>> {
    let mut most: BTreeMap<String, members::Shard> = BTreeMap::new();
    let mut copied = Vec::with_capacity(seen.len());
    for (_, change) in seen {
        for shard in change.shards.iter().filter(|s| s.change == change.id) {
            let held = most.get(&shard.shard);
            if held.is_none_or(|held| (held.parts, held.bytes) <= (shard.parts, shard.bytes)) {
                most.insert(shard.shard.clone(), shard.clone());
            }
        }
        copied.push(most.values().cloned().collect());
    }
    copied
}

fn moved(step: &Step, begin_s: f64, end_s: f64, seen: &[(Duration, Change)]) -> Moved {
    let had = copied(seen);
    let bytes_of = |shards: &[members::Shard]| shards.iter().map(|shard| shard.bytes).sum();
    let looks: Vec<Look> = seen
        .iter()
        .zip(&had)
        .map(|((at, change), had)| Look {
            bytes: bytes_of(had),
            ..look(*at, change)
        })
        .collect();
    let last = had.last().map(Vec::as_slice).unwrap_or_default();
    let sum = |number: fn(&members::Shard) -> u64| last.iter().map(number).sum();
    let bytes = looks.last().map_or(0, |look| look.bytes);
    let copied = looks.iter().find(|look| look.bytes == bytes);
    let copied = copied.map_or(end_s, |look| look.at_s);
    Moved {
        step: step.name(),
        begin_s,
        duration_s: end_s - begin_s,
        copy_s: copied - begin_s,
        parts: sum(|shard| shard.parts),
        records: sum(|shard| shard.records),
        bytes: sum(|shard| shard.bytes),
        looks,
    }
}

fn look(at: Duration, change: &Change) -> Look {
    let knows = |shard: &&members::Shard| shard.change == change.id;
    let shards = || change.shards.iter().filter(knows);
    let taking = shards().filter(|shard| shard.parts > 0);
    Look {
        at_s: at.as_secs_f64(),
        phase: change.phase.clone(),
        bytes: shards().map(|shard| shard.bytes).sum(),
        bytes_per_s_max: taking
            .map(|shard| (shard.shard.clone(), shard.bytes_per_s_max))
            .collect(),
        latency_us_p99: shards()
            .map(|shard| shard.latency_us_p99)
            .max()
            .unwrap_or(0),
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
