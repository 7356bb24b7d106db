//! Where an operator wants the replicas of a range. Pure.

use crate::error::MetadataError;
use crate::node::NodeRecord;
use crate::range::{RangePlace, RangeRecord};
use crate::range_plan::{allowed, is_on_its_way};
use crate::topology::Topology;
use serde::Deserialize;

/// A wish of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Retarget {
    /// The replica on this node is to lead.
    Lead {
        /// The node's name.
        #[serde(rename = "lead")]
        node: String,
    },
    /// The replica on one node is to be on another.
    Move {
        /// The name of the first.
        from: String,
        /// The name of the other.
        to: String,
        /// Its shard; the one with the fewest replicas if it is left out.
        #[serde(default)]
        shard: Option<u16>,
        /// Whether it takes the place of a change that is under way.
        #[serde(default)]
        instead: bool,
    },
}

impl Retarget {
    /// The record of a range with another target; the same where it is as wanted.
    pub(crate) fn of(
        &self,
        now: &Topology,
        range: &RangeRecord,
        least: impl Fn(&NodeRecord) -> Option<RangePlace>,
    ) -> Result<RangeRecord, String> {
        let mut target = range.target.clone();
        let id = |name: &str| {
            let node = now.node_named(name);
            node.ok_or_else(|| format!("there is no node {name}: see dunlin node list"))
        };
        let place_on = |target: &[RangePlace], node: &NodeRecord| {
            target.iter().position(|place| place.node == node.id)
        };
        let has_none = |name: &str| {
            format!(
                "node {name} has no replica of it, nor is it to have one: see dunlin range list"
            )
        };
        match self {
            Retarget::Lead { node } => {
                let at = place_on(&target, id(node)?).ok_or_else(|| has_none(node))?;
                target[..=at].rotate_right(1);
            }
            Retarget::Move {
                from,
                to,
                shard,
                instead,
            } => {
                let (from_node, to_node) = (id(from)?, id(to)?);
                let at = place_on(&target, from_node).ok_or_else(|| has_none(from))?;
                if !allowed(now).iter().any(|node| node.id == to_node.id) {
                    return Err(format!(
                        "node {to} is no member, or is leaving: add it first"
                    ));
                }
                if from_node.id != to_node.id && place_on(&target, to_node).is_some() {
                    return Err(format!("node {to} has a replica of it already"));
                }
                if shard.is_some_and(|shard| shard >= to_node.shards) {
                    let (least, most) = (0, to_node.shards.saturating_sub(1));
                    return Err(format!("node {to} has the shards {least} to {most}"));
                }
                if is_on_its_way(range) && !instead {
                    return Err(
                        "its replicas are being changed: wait, or give --instead to replace that"
                            .to_owned(),
                    );
                }
                let chosen = shard.map(|shard| RangePlace {
                    node: to_node.id,
                    shard,
                });
                target[at] = (chosen.or_else(|| least(to_node)))
                    .ok_or_else(|| format!("node {to} has no shards"))?;
            }
        }
        Ok(if target == range.target {
            range.clone()
        } else {
            range.with_target(target)
        })
    }
}

/// A refusal of it.
pub(crate) fn refusal(keyspace: &str, range: u16, why: impl Into<String>) -> MetadataError {
    MetadataError::NoTarget {
        keyspace: keyspace.to_owned(),
        range,
        why: why.into(),
    }
}

#[cfg(test)]
#[path = "retarget_tests.rs"]
mod tests;
