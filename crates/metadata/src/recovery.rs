//! A range that has lost its majority begins again with one replica, because an operator says so. Pure.

use crate::error::MetadataError;
use crate::keyspace::Keyspace;
use crate::members::is_gone;
use crate::objects::{Objects, keyspace_key};
use crate::range::{RangeRecord, RangeReplica, Recovery};
use crate::retarget::refusal;
use crate::topology::Topology;

/// A recovery makes numbers greater by so much: more than any range has used, so that none is used twice.
const AHEAD: u64 = 1 << 32;

/// What an operator decided, by the answers of the shards of all nodes that are not gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recover {
    /// The replica with which the range begins again; one without a directory number is to be made, empty.
    pub keep: RangeReplica,
    /// The number of the newest configuration that any shard knows.
    pub config: u64,
    /// The least number that no replica has, as far as any shard knows.
    pub next: u64,
    /// The configuration that the record named then.
    pub recorded: u64,
    /// Nodes without an answer, for they are gone.
    pub gone: Vec<u16>,
    /// See [`Recovery`].
    pub at_ms: u64,
    /// See [`Recovery`].
    pub floor_ms: u64,
}

impl RangeRecord {
    fn recovered(&self, by: &Recover) -> RangeRecord {
        let config = self.config.max(by.config) + AHEAD;
        let ids = self.replicas.iter().map(|replica| replica.id + 1);
        let next = ids.fold(by.next.max(by.keep.id + 1), u64::max) + AHEAD;
        let is_new = by.keep.directory.is_none();
        let id = if is_new { next } else { by.keep.id };
        RangeRecord {
            config,
            replicas: vec![RangeReplica { id, ..by.keep }],
            ready: !is_new,
            recovered: Some(Recovery {
                config,
                next: next + u64::from(is_new),
                at_ms: by.at_ms,
                floor_ms: by.floor_ms,
            }),
            ..self.clone()
        }
    }
}

/// The record of a range that begins again with one replica.
pub(crate) fn recover(
    now: &Topology,
    store: &Objects,
    (name, number): (&str, u16),
    by: &Recover,
) -> Result<(String, Keyspace), MetadataError> {
    let refused = |why: String| Err(refusal(name, number, why));
    let key = keyspace_key(name);
    let keyspace = now.keyspace_named(name).filter(|k| k.is_transactional());
    let keyspace = keyspace.filter(|_| store.get(&key).is_some());
    let found = keyspace.and_then(|keyspace| Some((keyspace, keyspace.range(number)?)));
    let Some((keyspace, range)) = found else {
        return refused("there is no such range: see dunlin range list".to_owned());
    };
    if range.config != by.recorded {
        return refused("its replicas have changed meanwhile: look again".to_owned());
    }
    if is_gone(now, by.keep.node) {
        return refused("the node of that replica is gone, or leaving".to_owned());
    }
    if let Some(node) = by.gone.iter().find(|node| !is_gone(now, **node)) {
        let node = now.node(*node).map_or("of it", |node| &node.name);
        return refused(format!(
            "node {node} is not declared dead any more: look again"
        ));
    }
    let mut after = keyspace.clone();
    for range in &mut after.ranges {
        if range.number == number {
            *range = range.recovered(by);
        }
    }
    Ok((key, after))
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
