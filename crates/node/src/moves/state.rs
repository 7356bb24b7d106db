//! What a shard tells of its part in a change of the members.

use dunlin_entry::{Origin, Version};
use dunlin_metadata::Phase;
use serde::{Deserialize, Serialize};

use super::Moves;
use super::books::Fill;

/// How far a shard is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveState {
    /// `NODE/SHARD`.
    pub shard: String,
    /// Number of the change it knows of; the last one when none is under way.
    pub change: u64,
    /// The phase it acts by; absent when no change is under way.
    pub phase: Option<Phase>,
    /// Whether it has copied all it takes over, so that only the newest is missing.
    pub filled: bool,
    /// Whether it has all that was acknowledged before new replicas had to acknowledge, too.
    pub caught_up: bool,
    /// Whether it has all that those who leave have ever written.
    pub level: bool,
    /// Up to where it had the entries of each origin when it said so, but for nodes that are gone for
    /// good: a writer may itself have lost some of what others have of it.
    pub marks: Vec<(u64, u64)>,
    /// The same of nodes that are gone for good: nobody else can say any more what they wrote.
    pub of_dead: Vec<(u64, u64)>,
    /// By how many replicas it knows entries to be stored, of each keyspace by its number where
    /// that is more than the keyspace's settings say.
    pub widths: Vec<(u32, u8)>,
    /// Pieces it takes over: partitions times old replicas.
    pub parts: u64,
    /// Pieces copied.
    pub parts_done: u64,
    /// Records copied.
    pub records: u64,
    /// Bytes of keys and values copied.
    pub bytes: u64,
    /// Bytes a second copied, over the last seconds.
    pub bytes_per_s: u64,
    /// Bytes a second it allows itself to copy.
    pub bytes_per_s_max: u64,
    /// 99th percentile of the latency of requests that clients made here, over the last seconds,
    /// in microseconds.
    pub latency_us_p99: u64,
}

impl MoveState {
    /// The marks as versions.
    pub(super) fn marks(&self) -> impl Iterator<Item = (Origin, Version)> + '_ {
        versions(&self.marks)
    }

    /// Up to where it has the entries of nodes that are gone for good.
    pub(super) fn of_dead(&self) -> impl Iterator<Item = (Origin, Version)> + '_ {
        versions(&self.of_dead)
    }
}

fn versions(plain: &[(u64, u64)]) -> impl Iterator<Item = (Origin, Version)> + '_ {
    let version = |(origin, version): &(u64, u64)| (Origin(*origin), Version(*version));
    plain.iter().map(version)
}

impl Moves {
    /// How far this shard is with the change of the members.
    pub fn state(&self) -> MoveState {
        let placement = self.shard.placement();
        let fill = self.fill.borrow();
        // What was copied in a change before says nothing of this one.
        let change = placement.change.as_ref();
        let fill = change.and_then(|change| (change.id == fill.change).then_some(&*fill));
        let count = |of: fn(&Fill) -> u64| fill.map_or(0, of);
        let vector = self.shard.vector();
        let (of_dead, marks): (Vec<_>, Vec<_>) = vector
            .iter()
            .map(|(origin, version)| (origin, version.0))
            .partition(|(origin, _)| placement.is_dead(origin.node()));
        let plain = |list: Vec<(Origin, u64)>| list.into_iter().map(|(o, v)| (o.0, v)).collect();
        MoveState {
            shard: self.shard.label(),
            change: placement.changes,
            phase: placement.change.as_ref().map(|change| change.phase),
            filled: fill.is_some_and(|fill| fill.filled),
            caught_up: fill.is_some_and(|fill| fill.caught_up),
            level: fill.is_some_and(|fill| fill.level),
            marks: plain(marks),
            of_dead: plain(of_dead),
            widths: placement.widths(),
            parts: count(Fill::parts),
            parts_done: count(Fill::parts_done),
            records: count(|fill| fill.records),
            bytes: count(|fill| fill.bytes),
            bytes_per_s: self.rate.bytes_per_s(),
            bytes_per_s_max: self.pace.borrow().bytes_per_s(),
            latency_us_p99: self.shard.latency().p99_us(),
        }
    }
}
