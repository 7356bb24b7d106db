//! The keys of a transactional keyspace are registers, and no replica has lost what it should have.

use std::collections::BTreeMap;

use dunlin_history::{Limits, check};

use super::Broken;
use crate::harness::cluster::Cluster;

/// Configurations to look at before a key is left undecided.
const STATES_MAX: u64 = 2_000_000;

/// Judges what clients of the transactional keyspace did and saw; how many operations were judged.
///
/// # Errors
/// The first key that is no register.
pub fn ranges(cluster: &Cluster) -> Result<u64, Broken> {
    let operations = cluster.shared.ranges.operations();
    let report = check(&operations, Limits { states: STATES_MAX });
    match report.violations.first() {
        None => Ok(operations.len() as u64),
        Some(violation) => Err(broken(violation.to_string())),
    }
}

/// Looks at the replicas: whether a majority of them keeps silent for what was lost, and that all others have the
/// same where they have applied the same.
///
/// # Errors
/// A replica that lacks entries of its log.
pub fn replicas(cluster: &Cluster) -> Result<(), Broken> {
    let shards = cluster.hosts.iter().flat_map(|host| host.live());
    let told: Vec<_> = shards.flat_map(|shard| shard.status().ranges).collect();
    let silent = told
        .iter()
        .filter(|range| matches!(range.role.as_str(), "mute" | "failed"));
    cluster.shared.is_range_lost.set(silent.clone().count() > 1);
    let mut reasons = silent.filter_map(|range| Some((&range.at, range.reason.as_ref()?)));
    let unfounded = |reason: &str| {
        reason.contains("contradicts itself")
            || reason.contains("older than its log")
            || reason.contains("contradiction")
    };
    if let Some((at, reason)) = reasons.find(|(_, reason)| unfounded(reason)) {
        return Err(broken(format!(
            "the replica of the range at {at} is silent: {reason}"
        )));
    }
    let mut leaders: BTreeMap<u64, &str> = BTreeMap::new();
    for range in told.iter().filter(|range| range.role == "leader") {
        if let Some(other) = leaders.insert(range.term, &range.at) {
            return Err(broken(format!(
                "{other} and {} lead the range in term {}",
                range.at, range.term
            )));
        }
    }
    Ok(())
}

fn broken(text: String) -> Broken {
    Broken {
        text,
        place: None,
        at: None,
    }
}
