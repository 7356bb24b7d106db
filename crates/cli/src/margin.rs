//! Keyspaces that one more loss would stop. Pure: from a cluster's status.

use std::collections::BTreeSet;

use dunlin_client::{KeyspaceDescription, Status};

use crate::command::range::target::leader;

/// So many ranges of a keyspace are named.
const NAMED: usize = 3;

/// Keyspaces that stop where one more node, or replica, is lost, each with why. One of a single replica stops with its node
/// whatever else is away: it does not count.
pub fn at_risk(status: &Status) -> Vec<String> {
    let keyspaces = status.keyspaces.iter();
    let copied = keyspaces.filter(|keyspace| keyspace.settings.replicas > 1);
    let risks = copied.filter_map(|keyspace| {
        let why = if keyspace.ranges.is_empty() {
            of_quorums(status, keyspace)
        } else {
            of_ranges(status, keyspace)
        };
        Some(format!("keyspace {}: {}", keyspace.name, why?))
    });
    risks.collect()
}

/// Whether a majority is left of these after one more loss.
fn has_one_to_spare(working: usize, all: usize) -> bool {
    working > all / 2 + 1
}

/// Any nodes may hold the replicas of some partition.
fn of_quorums(status: &Status, keyspace: &KeyspaceDescription) -> Option<String> {
    let replicas = usize::from(keyspace.settings.replicas);
    let away = away(status);
    let working =
        (status.members.members.len() - away.len()).min(replicas.saturating_sub(away.len()));
    if has_one_to_spare(working, replicas) {
        return None;
    }
    let mut reasons = Vec::new();
    if !away.is_empty() {
        let names: Vec<&str> = away.into_iter().collect();
        reasons.push(format!("not working: {}", names.join(", ")));
    }
    if status.members.members.len() < replicas {
        reasons.push(format!("members: {}", status.members.members.len()));
    }
    let reasons = reasons.join("; ");
    Some(format!(
        "{working} of {replicas} replicas of some partitions are there ({reasons})"
    ))
}

/// Members that do not work, or not with all of their shards.
fn away(status: &Status) -> BTreeSet<&str> {
    let works = |name: &str| {
        let node = status.nodes.iter().find(|node| node.name == name);
        let prefix = format!("{name}/");
        let shards = status.shards.iter();
        let working = shards.filter(|shard| {
            shard.shard.starts_with(&prefix) && !shard.refilling && shard.trouble.is_none()
        });
        node.is_some_and(|node| node.alive && working.count() == node.shards as usize)
    };
    let members = status.members.members.iter().map(String::as_str);
    members.filter(|name| !works(name)).collect()
}

fn of_ranges(status: &Status, keyspace: &KeyspaceDescription) -> Option<String> {
    let is_safe = |number: u64| {
        let leader = leader(status, (&keyspace.name, number));
        leader.is_some_and(|leader| {
            let voters = || {
                leader
                    .led
                    .replicas
                    .iter()
                    .filter(|replica| replica.role == "voter")
            };
            let working = voters().filter(|voter| voter.heard).count();
            has_one_to_spare(working, voters().count())
        })
    };
    let numbers = keyspace.ranges.iter().map(|range| range.number);
    let risky: Vec<u64> = numbers.filter(|number| !is_safe(*number)).collect();
    let first: Vec<String> = (risky.iter().take(NAMED))
        .map(|number| format!("{}/{number}", keyspace.name))
        .collect();
    let more = match risky.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!risky.is_empty()).then(|| format!("no replica to spare in {}{more}", first.join(", ")))
}

#[cfg(test)]
#[path = "margin_tests.rs"]
mod tests;
