//! Whether a node may be sent clients. Pure: from how this node and the others stand to one another.

use std::collections::BTreeMap;

use dunlin_proto::ShardAddress;
use serde::{Deserialize, Serialize};

/// How another member's shard and this one stand to one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Each reaches the other, and has what the other wrote before it connected.
    Whole,
    /// Each reaches the other, and it still sends what this shard missed.
    MissesHere,
    /// Each reaches the other, and it has yet to take what this shard wrote before.
    MissesThere,
    /// Each reaches the other, and it answers no reads or stamps no writes yet because it has just started.
    Unheard,
    /// This shard reaches it, and not the other way round.
    OneWay,
    /// No connection yet, and no attempt has failed.
    Connecting,
    /// Attempts to connect fail.
    Down,
}

impl Tie {
    fn reaches_both_ways(self) -> bool {
        matches!(self, Tie::Whole | Tie::MissesHere | Tie::MissesThere)
    }

    fn why(self) -> &'static str {
        match self {
            Tie::Whole => "nothing is missing",
            Tie::MissesHere => "it is sending what this node missed",
            Tie::MissesThere => "it has yet to take what this node wrote",
            Tie::Unheard => "it has yet to hear the others and to compare its clock",
            Tie::OneWay => "it does not reach this node",
            Tie::Connecting => "no connection yet",
            Tie::Down => "no connection",
        }
    }
}

/// What keeps a node from being ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// The shard it is about, as `NODE/SHARD`; of this node or another.
    pub shard: String,
    /// What is wrong, for people.
    pub why: String,
    /// The ranges of which its replicas do not work, as `KEYSPACE/NUMBER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<String>,
}

impl Lack {
    /// Without ranges.
    pub fn new(shard: impl Into<String>, why: impl Into<String>) -> Lack {
        Lack {
            shard: shard.into(),
            why: why.into(),
            ranges: Vec::new(),
        }
    }
}

/// Ranges without a majority of replicas that work, each with how many do and how many there are. Pure: from the shards of
/// each range's replicas, and from which of them its replica works, as far as is known.
pub(crate) fn without_majority(
    ranges: impl Iterator<Item = (String, Vec<ShardAddress>)>,
    works: impl Fn(&str, ShardAddress) -> bool,
) -> Vec<(String, usize, usize)> {
    let counted = ranges.filter_map(|(range, replicas)| {
        let working = replicas.iter().filter(|at| works(&range, **at)).count();
        let all = replicas.len();
        (2 * working <= all && all > 0).then_some((range, working, all))
    });
    counted.collect()
}

/// What is still missing before a shard is ready; nothing when it is. `ties` are those to the
/// members' shards in other nodes, with the number of the node; `is_member` tells whether this node is one.
///
/// A majority of all members must be there, both ways, each with all of its shards: a node has one replica of
/// a partition, however many shards it has. A shard that was never ready (`is_first`) waits for
/// every member besides that is not down, for the next one to be stopped may be any of the others:
/// by then this one must be able to make a majority with all that are left. What may never come
/// about is waited for only while it is patient.
pub(crate) fn lacks<'a>(
    ties: &[(u16, &'a str, Tie)],
    is_member: bool,
    is_first: bool,
    is_patient: bool,
) -> Vec<(&'a str, &'static str)> {
    let counts = |tie: Tie| {
        if is_first {
            matches!(tie, Tie::Whole | Tie::MissesThere)
        } else {
            tie.reaches_both_ways()
        }
    };
    let is_waited_for = |tie: Tie| match tie {
        Tie::Whole | Tie::Down => false,
        Tie::MissesHere => is_first,
        Tie::MissesThere | Tie::Unheard | Tie::OneWay | Tie::Connecting => is_first && is_patient,
    };
    let is_majority = is_majority(
        ties.iter().map(|(node, _, tie)| (*node, counts(*tie))),
        is_member,
    );
    ties.iter()
        .filter(|(_, _, tie)| is_waited_for(*tie) || !is_majority && !counts(*tie))
        .map(|(_, name, tie)| (*name, tie.why()))
        .collect()
}

/// Whether more than half of the members are there: of the others' shards each has the number of its node and
/// whether it is there, and `is_member` tells whether this node is one, which is.
pub(crate) fn is_majority(shards: impl Iterator<Item = (u16, bool)>, is_member: bool) -> bool {
    let mut nodes = BTreeMap::new();
    for (node, is_there) in shards {
        *nodes.entry(node).or_insert(true) &= is_there;
    }
    let own = usize::from(is_member);
    let there = own + nodes.values().filter(|is_there| **is_there).count();
    there * 2 > own + nodes.len()
}

/// Why no keyspace can be served by so many members; `None` when there is one that can, or none at
/// all. `keyspaces` are names and replicas. One that wants too many does not make a node unready.
pub(crate) fn unserved<'a>(
    mut keyspaces: impl Iterator<Item = (&'a str, u8)>,
    members: usize,
) -> Option<String> {
    let majority = |replicas: u8| replicas / 2 + 1;
    let (name, replicas) = keyspaces.next()?;
    let is_served = |replicas| members >= usize::from(majority(replicas));
    if is_served(replicas) || keyspaces.any(|(_, replicas)| is_served(replicas)) {
        return None;
    }
    let needed = majority(replicas);
    let there = match members {
        1 => "is 1 member".to_owned(),
        members => format!("are {members} members"),
    };
    Some(format!(
        "keyspace {name} needs {needed} of its {replicas} replicas and there {there}: start more nodes"
    ))
}

#[cfg(test)]
#[path = "ready_tests.rs"]
mod tests;
