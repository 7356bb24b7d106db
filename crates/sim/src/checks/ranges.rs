//! The keys of a transactional keyspace are registers, its transactions have one order, and no replica has lost what it should have.

use std::collections::BTreeMap;

use dunlin_history::{Limits, check, check_appends};
use dunlin_metadata::ranges_outside;
use dunlin_proto::api::RangeStatus;

use super::Broken;
use crate::harness::cluster::Cluster;
use crate::txns::Additions;

/// Configurations to look at before a key is left undecided.
const STATES_MAX: u64 = 2_000_000;

/// Judges what clients of the transactional keyspace did and saw; how many operations were judged.
///
/// # Errors
/// The first key that is no register, or transactions that have no order.
pub fn ranges(cluster: &Cluster) -> Result<u64, Broken> {
    let operations = cluster.shared.ranges.operations();
    let report = check(&operations, Limits { states: STATES_MAX });
    if let Some(violation) = report.violations.first() {
        return Err(broken(violation.to_string()));
    }
    let txns = cluster.shared.txns.history.borrow();
    check_appends(&txns).map_err(|anomaly| broken(anomaly.to_string()))?;
    let additions = cluster.shared.txns.additions.get();
    if !is_exact(additions) {
        return Err(broken(format!("counters are not exact: {additions:?}")));
    }
    Ok((operations.len() + txns.len()) as u64)
}

/// Whether both counters have all acknowledged additions, and no more than may have happened.
fn is_exact(additions: Additions) -> bool {
    let Additions {
        done,
        unknown,
        read,
    } = additions;
    read.is_none_or(|[one, other]| one == other && (done..=done + unknown).contains(&one))
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
        .filter(|range| range.is_silent() || range.role == "failed");
    let mut lost: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    for range in silent.clone() {
        *lost.entry((&range.keyspace, range.range)).or_default() += 1;
    }
    let is_lost = lost.values().any(|silent| *silent > 1);
    cluster.shared.is_range_lost.set(is_lost);
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
    let mut leaders: BTreeMap<(&str, u64, u64), &str> = BTreeMap::new();
    for range in told.iter().filter(|range| range.role == "leader") {
        let term = (&*range.keyspace, range.range, range.term);
        if let Some(other) = leaders.insert(term, &range.at) {
            return Err(broken(format!(
                "{other} and {} lead range {} of {} in term {}",
                range.at, range.range, range.keyspace, range.term
            )));
        }
    }
    Ok(())
}

/// Timestamps are not further ahead of the clocks than this, in milliseconds, where all clocks are right. Attempts at quorum
/// writes that break at once push clocks ahead, by half their bound of 10 s and some windows of half a second; timestamps
/// that add up leases of a second would go on to the bound.
const AHEAD_MS_MAX: u64 = 8_000;

/// Whether timestamps stay near the clocks, however often leaders change.
///
/// # Errors
/// A shard that was given one far ahead.
pub fn timestamps(cluster: &Cluster) -> Result<(), Broken> {
    if cluster.shared.plan.bad_clocks {
        return Ok(());
    }
    for host in &cluster.hosts {
        for shard in host.live() {
            let ahead_ms = shard.status().txns.ahead_ms;
            if ahead_ms > AHEAD_MS_MAX {
                let name = &host.name;
                return Err(broken(format!(
                    "a timestamp given at {name} is {ahead_ms} ms ahead"
                )));
            }
        }
    }
    Ok(())
}

/// Whether each range of each keyspace that is not dropped has all its replicas, with all entries of its leader, and
/// has published its configuration.
///
/// # Errors
/// A range that is not whole.
pub fn whole(cluster: &Cluster) -> Result<(), Broken> {
    let shards = cluster.hosts.iter().flat_map(|host| host.live());
    let rows: Vec<_> = shards.flat_map(|shard| shard.status().ranges).collect();
    let topology = cluster.shared.metadata.topology().borrow().clone();
    for keyspace in &topology.keyspaces {
        for range in &keyspace.ranges {
            let number = u64::from(range.number);
            let here = |row: &&RangeStatus| row.number == keyspace.id && row.range == number;
            let whole = rows
                .iter()
                .filter(here)
                .find(|row| RangeStatus::is_whole(row, &rows));
            let outside = ranges_outside(&topology, &topology.members.ids);
            if let Some(line) = outside.into_iter().next() {
                return Err(broken(line));
            }
            if whole.is_none_or(|leader| leader.config != range.config) {
                let lines: Vec<String> = rows.iter().filter(here).map(row_line).collect();
                return Err(broken(format!(
                    "range {number} of {} is not whole, by its record of configuration {}: {}",
                    keyspace.name,
                    range.config,
                    lines.join("; ")
                )));
            }
        }
    }
    Ok(())
}

fn row_line(row: &RangeStatus) -> String {
    let members = row.led.replicas.iter();
    let members =
        members.map(|m| format!("{} {} heard {} has {}", m.id, m.role, m.heard, m.matched));
    format!(
        "{} {} is {} of configuration {}, term {}, last {}, applied {}, {:?} {:?} [{}]",
        row.id,
        row.at,
        row.role,
        row.config,
        row.term,
        row.last,
        row.applied,
        row.reason,
        row.led.doing,
        members.collect::<Vec<String>>().join(", ")
    )
}

fn broken(text: String) -> Broken {
    Broken {
        text,
        place: None,
        at: None,
    }
}
