//! Where the replicas of ranges should be. Pure: the same for every node that looks.
//!
//! Replicas stay where they are allowed to be; the others go to the nodes that hold the fewest. When nothing is on its
//! way, nodes are made even. The first shard of a target is the one that leads.

use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings};
use crate::members::Phase;
use crate::node::NodeRecord;
use crate::range::{ORACLE_KEYSPACE, RangePlace, RangeRecord, RangeReplica};
use crate::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

/// Replicas of the oracle, where there are so many members; one where there are fewer.
const ORACLE_REPLICAS: u8 = 3;

/// The replicas that shards hold, and the ranges that nodes lead, by the targets.
#[derive(Debug, Default)]
pub(crate) struct Load {
    held: BTreeMap<RangePlace, usize>,
    led: BTreeMap<u16, usize>,
}

impl Load {
    /// By the targets of all ranges.
    pub fn of(now: &Topology) -> Load {
        let mut load = Load::default();
        for (_, range) in all(now) {
            load.add(&range.target);
        }
        load
    }

    fn add(&mut self, target: &[RangePlace]) {
        for place in target {
            *self.held.entry(*place).or_default() += 1;
        }
        if let Some(first) = target.first() {
            *self.led.entry(first.node).or_default() += 1;
        }
    }

    fn remove(&mut self, target: &[RangePlace]) {
        let less = |count: &mut usize| *count = count.saturating_sub(1);
        for place in target {
            self.held.entry(*place).and_modify(less);
        }
        if let Some(first) = target.first() {
            self.led.entry(first.node).and_modify(less);
        }
    }

    fn at(&self, place: RangePlace) -> usize {
        self.held.get(&place).copied().unwrap_or(0)
    }

    fn on(&self, node: &NodeRecord) -> usize {
        places(node).map(|place| self.at(place)).sum()
    }

    /// The shard with the fewest replicas, of the node with the fewest that has none of a range.
    pub fn least(&self, allowed: &[&NodeRecord], target: &[RangePlace]) -> Option<RangePlace> {
        let is_free = |node: &&&NodeRecord| target.iter().all(|place| place.node != node.id);
        let free = allowed.iter().filter(is_free);
        let node = free.min_by_key(|node| (self.on(node), node.id))?;
        places(node).min_by_key(|place| (self.at(*place), place.shard))
    }

    /// Puts the shard first whose node leads the fewest; on a tie the first stays.
    fn order(&self, target: &mut [RangePlace]) {
        let led = |place: &RangePlace| self.led.get(&place.node).copied().unwrap_or(0);
        let least = (0..target.len()).min_by_key(|at| led(&target[*at]));
        if let Some(least) = least {
            target[..=least].rotate_right(1);
        }
    }
}

fn places(node: &NodeRecord) -> impl Iterator<Item = RangePlace> + use<> {
    let id = node.id;
    (0..node.shards).map(move |shard| RangePlace { node: id, shard })
}

/// The nodes that may hold replicas: the members, as they will be after a change, without the dead.
pub(crate) fn allowed(now: &Topology) -> Vec<&NodeRecord> {
    let change = now.members.change.as_ref();
    let ids = change.map_or(&now.members.ids, |change| &change.to);
    let lives = |id: &&u16| change.is_none_or(|change| !change.dead.contains(id));
    let nodes = ids.iter().filter(lives).filter_map(|id| now.node(*id));
    nodes.filter(|node| node.shards > 0).collect()
}

fn is_allowed(allowed: &[&NodeRecord], place: &RangePlace) -> bool {
    let mut same = allowed.iter().filter(|node| node.id == place.node);
    same.any(|node| place.shard < node.shards)
}

/// The ranges whose data there is, with their keyspaces.
pub(crate) fn all(now: &Topology) -> impl Iterator<Item = (&Keyspace, &RangeRecord)> {
    keyspaces(now).flat_map(|keyspace| keyspace.ranges.iter().map(move |range| (keyspace, range)))
}

fn keyspaces(now: &Topology) -> impl Iterator<Item = &Keyspace> {
    let dropped = now.dropped.iter().filter(|dropped| !dropped.purged);
    let dropped = dropped.map(|dropped| &dropped.keyspace);
    // One that was dropped while it was made has nothing.
    let dropped = dropped.filter(|keyspace| keyspace.ranges.iter().all(|range| range.ready));
    now.keyspaces.iter().chain(dropped)
}

/// Chooses where the replicas of a new range are to be, and counts them.
fn choose(
    now: &Topology,
    name: &str,
    count: u8,
    load: &mut Load,
) -> Result<Vec<RangePlace>, MetadataError> {
    let allowed = allowed(now);
    let members = &now.members.ids;
    // A node that is being added may be given up again.
    let stay: Vec<&NodeRecord> = allowed
        .into_iter()
        .filter(|node| members.contains(&node.id))
        .collect();
    let mut target = Vec::with_capacity(count.into());
    while target.len() < usize::from(count) {
        let Some(place) = load.least(&stay, &target) else {
            return Err(MetadataError::TooFewForRange {
                keyspace: name.to_owned(),
                replicas: count,
                nodes: stay.len(),
            });
        };
        target.push(place);
    }
    target.sort_unstable();
    load.order(&mut target);
    load.add(&target);
    Ok(target)
}

/// The ranges of a new keyspace: on the members that hold the fewest, so that each node holds one replica of a range at
/// most.
///
/// # Errors
/// `TooFewForRange` where there are too few members that stay.
pub fn new_ranges(
    now: &Topology,
    name: &str,
    settings: &KeyspaceSettings,
) -> Result<Vec<RangeRecord>, MetadataError> {
    let mut load = Load::of(now);
    let starts = std::iter::once(String::new()).chain(settings.split_at.iter().cloned());
    starts
        .zip(0..)
        .map(|(start, number)| {
            let target = choose(now, name, settings.replicas, &mut load)?;
            let replicas = target.iter().zip(1..).map(|(place, id)| RangeReplica {
                id,
                node: place.node,
                shard: place.shard,
                directory: None,
            });
            Ok(RangeRecord {
                number,
                start,
                config: 1,
                replicas: replicas.collect(),
                target,
                planned: 0,
                followed: 0,
                ready: false,
                recovered: None,
            })
        })
        .collect()
}

/// A keyspace with another number of replicas for each of its ranges, if there is room for them.
pub(crate) fn with_replicas(
    now: &Topology,
    keyspace: &Keyspace,
    replicas: u8,
) -> Result<Keyspace, MetadataError> {
    if !keyspace.is_transactional() {
        let what = format!("replicas of keyspace {}", keyspace.name);
        let rule = "can only be changed in mode transactional";
        return Err(MetadataError::invalid(what, rule));
    }
    let mut changed = keyspace.clone();
    changed.settings.replicas = replicas;
    changed.settings.check()?;
    let nodes = allowed(now).len();
    if nodes < usize::from(replicas) {
        return Err(MetadataError::TooFewForRange {
            keyspace: keyspace.name.clone(),
            replicas,
            nodes,
        });
    }
    Ok(changed)
}

/// The keyspaces whose ranges get other targets, as they are then. None when all is as it should be.
pub fn plan_places(now: &Topology) -> Vec<Keyspace> {
    let allowed = allowed(now);
    let mut load = Load::of(now);
    let mut planned: Vec<Keyspace> = Vec::new();
    let mut is_open = false;
    for keyspace in keyspaces(now).filter(|keyspace| keyspace.is_transactional()) {
        let mut next = keyspace.clone();
        let count = wanted(keyspace, allowed.len());
        // Not before there is room for all of them.
        if allowed.len() >= usize::from(count) {
            next.settings.replicas = count;
            for range in &mut next.ranges {
                replan(range, &allowed, count, &mut load);
            }
        }
        is_open |= next != *keyspace || next.ranges.iter().any(is_on_its_way);
        planned.push(next);
    }
    if !is_open {
        balance(&mut planned, &allowed, &mut load);
    }
    planned.retain(|next| keyspaces(now).all(|now| now != next));
    planned
}

/// The number of replicas that each range of a keyspace should have.
fn wanted(keyspace: &Keyspace, members: usize) -> u8 {
    if keyspace.name != ORACLE_KEYSPACE {
        return keyspace.settings.replicas;
    }
    if members < ORACLE_REPLICAS.into() {
        1
    } else {
        ORACLE_REPLICAS
    }
}

/// Whether the replicas of a range are not where they should be, or it is not known to go by its target.
pub(crate) fn is_on_its_way(range: &RangeRecord) -> bool {
    let of = |places: &[RangePlace]| places.iter().copied().collect::<BTreeSet<_>>();
    !range.ready
        || range.followed != range.planned
        || of(&range.places()) != of(&range.target)
        || range.replicas.len() != range.target.len()
}

/// A new target, where the present one names shards that may not hold a replica, or is of another length.
fn replan(range: &mut RangeRecord, allowed: &[&NodeRecord], count: u8, load: &mut Load) {
    // The range has followed a target that this record has lost: its replicas stay where they are.
    let base = if range.followed > range.planned {
        range.places()
    } else {
        range.target.clone()
    };
    let mut nodes = BTreeSet::new();
    let mut target = base;
    target.retain(|place| is_allowed(allowed, place) && nodes.insert(place.node));
    target.truncate(count.into());
    let mut others = Load::default();
    std::mem::swap(load, &mut others);
    others.remove(&range.target);
    while target.len() < usize::from(count) {
        match others.least(allowed, &target) {
            Some(place) => target.push(place),
            None => break,
        }
    }
    if target != range.target && target.len() == usize::from(count) {
        others.order(&mut target);
    }
    if target.len() == usize::from(count) {
        set(range, target);
    }
    others.add(&range.target);
    *load = others;
}

fn set(range: &mut RangeRecord, target: Vec<RangePlace>) {
    if target != range.target || range.followed > range.planned {
        *range = range.with_target(target);
    }
}

/// Takes replicas from the nodes with the most to those with the fewest, until they differ by one at most. Of the ranges
/// that fit, the one whose target was changed least often gets another.
fn balance(planned: &mut [Keyspace], allowed: &[&NodeRecord], load: &mut Load) {
    loop {
        let mut nodes: Vec<&NodeRecord> = allowed.to_vec();
        nodes.sort_by_key(|node| (load.on(node), node.id));
        let pairs = nodes.iter().rev().flat_map(|most| {
            let fewer = nodes.iter().map(move |least| (*most, *least));
            fewer.filter(|(most, least)| load.on(most) > load.on(least) + 1)
        });
        let found = pairs.into_iter().find_map(|(most, least)| {
            let on = |range: &RangeRecord, node: &NodeRecord| {
                range.target.iter().any(|place| place.node == node.id)
            };
            let ranges = planned.iter().enumerate().flat_map(|(number, keyspace)| {
                let ranges = keyspace.ranges.iter().enumerate();
                ranges.map(move |(at, range)| (number, at, range))
            });
            let fit = ranges.filter(|(.., range)| on(range, most) && !on(range, least));
            // Where an operator has just put a replica it stays, if another can go.
            let (number, at, _) = fit.min_by_key(|(.., range)| range.planned)?;
            Some((number, at, most.id, least))
        });
        let Some((number, at, from, to)) = found else {
            return;
        };
        let range = &mut planned[number].ranges[at];
        load.remove(&range.target);
        let mut target = range.target.clone();
        target.retain(|place| place.node != from);
        target.extend(load.least(&[to], &target));
        load.order(&mut target);
        *range = range.with_target(target);
        load.add(&range.target);
    }
}

/// Ranges of which a replica is on a node that is not among `to`, or may be, a line each.
pub fn ranges_outside(now: &Topology, to: &[u16]) -> Vec<String> {
    all(now)
        .filter_map(|(keyspace, range)| {
            let name = format!("{}/{}", keyspace.name, range.number);
            if !range.ready {
                return Some(format!("range {name} is being made"));
            }
            let named = range.target.iter().map(|place| place.node);
            let named = named.chain(range.replicas.iter().map(|replica| replica.node));
            let mut outside = named.filter(|node| !to.contains(node));
            match outside.next() {
                Some(node) => {
                    let node = now.node(node).map_or_else(
                        || format!("node {node}"),
                        |node| format!("node {}", node.name),
                    );
                    Some(format!("range {name} has a replica on {node}"))
                }
                // Its leader may go by an older target, which names such a node.
                None if range.followed != range.planned => {
                    Some(format!("range {name} does not go by its target yet"))
                }
                None => None,
            }
        })
        .collect()
}

/// Refuses to end the first phase of a change while a range has a replica outside. Once none has, none gets one: a range
/// that goes by a target never goes back to an older one, and no new target names such a node.
pub(crate) fn check_left(now: &Topology, id: u64, from: Phase) -> Result<(), MetadataError> {
    let change = now.members.change.as_ref();
    let copies =
        change.filter(|change| (change.id, change.phase, from) == (id, Phase::Copy, Phase::Copy));
    match copies.and_then(|change| ranges_outside(now, &change.to).pop()) {
        Some(range) => Err(MetadataError::RangeOutside { id, range }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "range_plan_tests.rs"]
pub(crate) mod tests;
