//! Whether what a store says is believed, and what becomes of it beside what is known: decisions
//! without I/O. A store that has lost its memory is refused as a whole; an object that is missing
//! or cannot be read changes nothing. See decision 21.
use crate::access::Access;
use crate::cluster::Cluster;
use crate::dropped::Dropped;
use crate::keyspace::Keyspace;
use crate::members::Members;
use crate::node::NodeRecord;
use crate::objects::{
    ACCESS, CLUSTER, DROPS, KEYSPACE_COUNTER, KEYSPACES, MEMBERS, NODE_COUNTER, NODES, Object,
    Objects, drop_key, read,
};
use crate::topology::{Counters, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Why a store is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is another cluster's.
    #[error("it is of cluster {found}, not of {known}: check --metadata")]
    OtherCluster {
        /// The store's.
        found: String,
        /// The one that is known.
        known: String,
    },
    /// Its cluster's id is gone: it was wiped, or somebody deleted it.
    #[error("it has lost cluster {known}: {RESTORE}")]
    NoCluster {
        /// The one that is known.
        known: String,
    },
    /// It is older than what has been seen of it.
    #[error("it is at revision {revision} after {seen} was seen, so it is an old copy: {RESTORE}")]
    Behind {
        /// The store's revision.
        revision: u64,
        /// The revision that was seen.
        seen: u64,
    },
    /// What only grows has shrunk.
    #[error("it is an old copy, for {what}: {RESTORE}")]
    Shrunk {
        /// What, and from what to what.
        what: String,
    },
    /// It knows none of the nodes.
    #[error("it has none of the nodes that are known: {RESTORE}")]
    NoNodes,
    /// An object without which nothing can be placed cannot be read, and was never read before.
    #[error("its object {key} cannot be read: {detail}")]
    Unreadable {
        /// Its key.
        key: &'static str,
        /// What is wrong with it.
        detail: String,
    },
}

const RESTORE: &str = "dunlin metadata restore puts it back";

/// What becomes of what a store says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one is looked at at a time, and most are of the large variant"
)]
pub(crate) enum Verdict {
    /// This is the topology now, and this is what is wrong with the store's objects, a line each.
    Accept(Topology, Vec<String>),
    /// What is known stands.
    Refuse(Refusal),
}

/// Judges what a store says beside what is `known`, of the cluster `directory` when the data
/// directory names one.
pub(crate) fn accept(known: &Topology, directory: Option<&str>, store: &Objects) -> Verdict {
    let mut said = match Said::read(store) {
        Ok(said) => said,
        Err(refusal) => return Verdict::Refuse(refusal),
    };
    match check(known, directory, &said, store.revision) {
        Ok(()) => match said.merge(known, store.revision) {
            Ok(topology) => Verdict::Accept(topology, said.problems),
            Err(refusal) => Verdict::Refuse(refusal),
        },
        Err(refusal) => Verdict::Refuse(refusal),
    }
}

/// What a store says, as far as it can be read.
struct Said {
    cluster: Option<Cluster>,
    nodes: BTreeMap<String, NodeRecord>,
    keyspaces: BTreeMap<String, Keyspace>,
    drops: BTreeMap<u32, Dropped>,
    members: Option<Result<Members, String>>,
    access: Option<Result<Access, String>>,
    node_counter: Option<u16>,
    keyspace_counter: Option<u32>,
    /// Names of nodes and keyspaces, and numbers of drops, that cannot be read, with the reason.
    bad_nodes: BTreeMap<String, String>,
    bad_keyspaces: BTreeMap<String, String>,
    bad_drops: BTreeMap<u32, String>,
    problems: Vec<String>,
}

impl Said {
    fn read(store: &Objects) -> Result<Self, Refusal> {
        let cluster = match store.read::<Cluster>(CLUSTER) {
            None => None,
            Some(read) => {
                let sound = read.and_then(|cluster| cluster.check().map(|()| cluster));
                Some(sound.map_err(|detail| Refusal::Unreadable {
                    key: CLUSTER,
                    detail,
                })?)
            }
        };
        let mut said = Self {
            cluster,
            nodes: BTreeMap::new(),
            keyspaces: BTreeMap::new(),
            drops: BTreeMap::new(),
            members: store.read(MEMBERS),
            access: store.read(ACCESS),
            node_counter: None,
            keyspace_counter: None,
            bad_nodes: BTreeMap::new(),
            bad_keyspaces: BTreeMap::new(),
            bad_drops: BTreeMap::new(),
            problems: Vec::new(),
        };
        for (name, object) in store.under(NODES) {
            match node(name, object) {
                Ok(node) => drop(said.nodes.insert(name.to_owned(), node)),
                Err(why) => drop(said.bad_nodes.insert(name.to_owned(), why)),
            }
        }
        for (name, object) in store.under(KEYSPACES) {
            match keyspace(name, object) {
                Ok(keyspace) => drop(said.keyspaces.insert(name.to_owned(), keyspace)),
                Err(why) => drop(said.bad_keyspaces.insert(name.to_owned(), why)),
            }
        }
        for (number, object) in store.under(DROPS) {
            match (number.parse(), dropped(number, object)) {
                (Ok(id), Ok(dropped)) => drop(said.drops.insert(id, dropped)),
                (Ok(id), Err(why)) => drop(said.bad_drops.insert(id, why)),
                (Err(_), _) => said.problem(format!("{DROPS}{number} is no record of a drop")),
            }
        }
        said.node_counter = said.counter(store, NODE_COUNTER);
        said.keyspace_counter = said.counter(store, KEYSPACE_COUNTER);
        Ok(said)
    }

    fn counter<T: serde::de::DeserializeOwned>(&mut self, store: &Objects, key: &str) -> Option<T> {
        match store.read(key)? {
            Ok(counter) => Some(counter),
            Err(why) => {
                self.problem(format!(
                    "{key} cannot be read ({why}): the last known counts"
                ));
                None
            }
        }
    }

    fn problem(&mut self, line: String) {
        self.problems.push(format!("in the metadata store {line}"));
    }

    /// What is said, with what is known and neither said otherwise nor ended by a record.
    fn merge(&mut self, known: &Topology, revision: u64) -> Result<Topology, Refusal> {
        let dropped = self.merge_drops(known);
        let keyspaces = self.merge_keyspaces(known);
        let members = self.merge_members(known)?;
        let nodes = self.merge_nodes(known, &members);
        let access = self.merge_access(known);
        // A live keyspace is never taken for a dropped one.
        let (both, dropped): (Vec<_>, Vec<_>) = dropped
            .into_iter()
            .partition(|dropped| keyspaces.iter().any(|k| k.id == dropped.keyspace.id));
        for Dropped { keyspace, .. } in both {
            let Keyspace { id, name, .. } = keyspace;
            self.problem(format!(
                "keyspace {name} (number {id}) is there and dropped at once: it is kept"
            ));
        }
        let counters = Counters {
            node: self.node_counter.unwrap_or(0).max(known.counters.node),
            keyspace: (self.keyspace_counter.unwrap_or(0)).max(known.counters.keyspace),
        };
        let cluster = self.cluster.clone();
        let topology = Topology {
            cluster,
            revision,
            nodes,
            keyspaces,
            members,
            dropped,
            counters,
            access,
        };
        Ok(topology.ordered())
    }

    /// Users, of whom nothing that is missing or cannot be read lets anybody in.
    fn merge_access(&mut self, known: &Topology) -> Access {
        let is_marked = self.cluster.as_ref().is_some_and(|cluster| cluster.closed);
        let last = &known.access;
        let mut access = match self.access.take() {
            Some(Ok(access)) if access.changes < last.changes => {
                // Only a store that was put back gets here: see `shrunk`.
                let (now, seen) = (access.changes, last.changes);
                self.problem(format!(
                    "users were changed {now} times and {seen} times are known: the last known count"
                ));
                last.clone()
            }
            Some(Ok(access)) => access,
            Some(Err(why)) => {
                self.problem(format!(
                    "{ACCESS} cannot be read ({why}): the last known users count"
                ));
                Access {
                    // Who has never seen it knows nobody, and lets nobody in.
                    closed: last.closed || last.is_unheard_of(),
                    ..last.clone()
                }
            }
            None if last.is_unheard_of() && !is_marked => return Access::default(),
            None => {
                self.problem(format!("{ACCESS} is gone: the last known users count"));
                last.clone()
            }
        };
        if is_marked && !access.closed {
            self.problem(format!(
                "{CLUSTER} is marked as closed and {ACCESS} is not: nobody is let in"
            ));
            access.closed = true;
        }
        access
    }

    fn merge_drops(&mut self, known: &Topology) -> Vec<Dropped> {
        let mut drops = self.drops.clone();
        for last in &known.dropped {
            let id = last.keyspace.id;
            let name = &last.keyspace.name;
            let is_back = self.keyspaces.values().any(|keyspace| keyspace.id == id);
            if let Some(dropped) = drops.get_mut(&id) {
                // What is purged here is gone, whatever an older copy says.
                dropped.purged |= last.purged;
            } else if !is_back {
                drops.insert(id, last.clone());
                if !self.bad_drops.contains_key(&id) {
                    self.problem(format!(
                        "the record of the drop of {name} (number {id}) is gone"
                    ));
                }
            }
        }
        for (id, why) in self.bad_drops.clone() {
            let key = drop_key(id);
            self.problem(format!("{key} cannot be read ({why}): it changes nothing"));
        }
        drops.into_values().collect()
    }

    fn merge_keyspaces(&mut self, known: &Topology) -> Vec<Keyspace> {
        let mut keyspaces: BTreeMap<u32, Keyspace> = BTreeMap::new();
        for keyspace in self.keyspaces.values() {
            keyspaces.insert(keyspace.id, keyspace.clone());
        }
        let mut lost = self.bad_keyspaces.clone();
        for last in &known.keyspaces {
            if let Some(keyspace) = keyspaces.get_mut(&last.id) {
                // Entries were stored by that, whatever an older copy says.
                *keyspace = keyspace.grown(last);
                continue;
            }
            if self.drops.contains_key(&last.id) {
                continue;
            }
            let (name, id) = (&last.name, last.id);
            keyspaces.insert(id, last.clone());
            let line = match lost.remove(name) {
                Some(why) => {
                    format!("keyspace {name} cannot be read ({why}): it goes on as last known")
                }
                None => format!(
                    "keyspace {name} (number {id}) is gone without a record of its drop: it is kept"
                ),
            };
            self.problem(line);
        }
        for (name, why) in lost {
            self.problem(format!(
                "keyspace {name} cannot be read ({why}): it is not served"
            ));
        }
        keyspaces.into_values().collect()
    }

    fn merge_members(&mut self, known: &Topology) -> Result<Members, Refusal> {
        match self.members.take() {
            Some(Ok(members)) => Ok(members),
            Some(Err(detail)) if known.members.ids.is_empty() => Err(Refusal::Unreadable {
                key: MEMBERS,
                detail,
            }),
            Some(Err(why)) => {
                self.problem(format!(
                    "members cannot be read ({why}): the last known count"
                ));
                Ok(known.members.clone())
            }
            None if was_never_written(known) => Ok(Members::default()),
            None => {
                self.problem("members is gone: the last known count".to_owned());
                Ok(known.members.clone())
            }
        }
    }

    fn merge_nodes(&mut self, known: &Topology, members: &Members) -> Vec<NodeRecord> {
        let mut nodes = self.nodes.clone();
        let mut lost = self.bad_nodes.clone();
        let named = named(members);
        let ids: BTreeSet<u16> = nodes.values().map(|node| node.id).collect();
        for last in &known.nodes {
            let name = &last.name;
            if nodes.contains_key(name) || ids.contains(&last.id) {
                continue;
            }
            if let Some(why) = lost.remove(name) {
                self.problem(format!(
                    "node {name} cannot be read ({why}): the last known counts"
                ));
            } else if named.contains(&last.id) {
                self.problem(format!("node {name} is gone, and is a member: it is kept"));
            } else {
                continue;
            }
            nodes.insert(name.clone(), last.clone());
        }
        for (name, why) in lost {
            self.problem(format!(
                "node {name} cannot be read ({why}): it is left out"
            ));
        }
        nodes.into_values().collect()
    }
}

/// Whether the store may be believed at all.
fn check(
    known: &Topology,
    directory: Option<&str>,
    said: &Said,
    revision: u64,
) -> Result<(), Refusal> {
    let id = known.cluster.as_ref().map(|cluster| cluster.id.as_str());
    match (id.or(directory), &said.cluster) {
        (Some(known), None) => {
            return Err(Refusal::NoCluster {
                known: known.to_owned(),
            });
        }
        (Some(known), Some(found)) if found.id != known => {
            return Err(Refusal::OtherCluster {
                found: found.id.clone(),
                known: known.to_owned(),
            });
        }
        _ => {}
    }
    let restores = said.cluster.as_ref().map_or(0, |cluster| cluster.restores);
    let (seen_restores, seen) = known.order();
    // A store that was put back counts from the beginning, and an operator has answered for it.
    if restores > seen_restores {
        return Ok(());
    }
    if (restores, revision) < (seen_restores, seen) {
        return Err(Refusal::Behind { revision, seen });
    }
    if !known.nodes.is_empty() {
        let is_there = |last: &&NodeRecord| {
            let node = said.nodes.get(&last.name);
            node.is_some_and(|node| node.id == last.id) || said.bad_nodes.contains_key(&last.name)
        };
        if known.nodes.iter().find(is_there).is_none() {
            return Err(Refusal::NoNodes);
        }
    }
    match shrunk(known, said) {
        Some(what) => Err(Refusal::Shrunk { what }),
        None => Ok(()),
    }
}

/// What only grows, and is less than was seen: others wrote to an old copy until its revision was
/// past what was seen.
fn shrunk(known: &Topology, said: &Said) -> Option<String> {
    for last in &known.nodes {
        if let Some(node) = said.nodes.get(&last.name)
            && node.id == last.id
            && node.incarnation < last.incarnation
        {
            let (name, now, seen) = (&node.name, node.incarnation, last.incarnation);
            return Some(format!(
                "start {seen} of node {name} was seen and it has {now}"
            ));
        }
    }
    let counters = [
        (
            said.node_counter.map(u32::from),
            known.counters.node.into(),
            "nodes",
        ),
        (said.keyspace_counter, known.counters.keyspace, "keyspaces"),
    ];
    for (now, seen, what) in counters {
        if let Some(now) = now
            && now < seen
        {
            return Some(format!("{seen} {what} were counted and it has {now}"));
        }
    }
    for last in &known.keyspaces {
        let live = said.keyspaces.values().find(|now| now.id == last.id);
        let dropped = said.drops.get(&last.id).map(|dropped| &dropped.keyspace);
        if let Some(now) = live.or(dropped)
            && now.undrops < last.undrops
        {
            return Some(format!(
                "that keyspace {} was taken back was seen",
                last.name
            ));
        }
    }
    if let Some(Ok(access)) = &said.access
        && access.changes < known.access.changes
    {
        let (now, seen) = (access.changes, known.access.changes);
        return Some(format!(
            "{seen} changes of users were seen and it has {now}"
        ));
    }
    let Some(Ok(members)) = &said.members else {
        return None;
    };
    let seen = &known.members;
    let has_ended = |id| members.changes == id && members.change.is_some();
    let went_back = members.changes < seen.changes
        || match (&seen.change, &members.change) {
            (None, _) => seen.changes > 0 && has_ended(seen.changes),
            (Some(last), Some(now)) => last.id == now.id && now.phase < last.phase,
            (Some(_), None) => false,
        };
    went_back.then(|| format!("its change of members {} has gone back", members.changes))
}

/// Whether the store of a topology had no members object: then all nodes are members.
fn was_never_written(known: &Topology) -> bool {
    let members = &known.members;
    let all = known.nodes.iter().map(|node| node.id);
    members.changes == 0 && members.change.is_none() && all.eq(members.ids.iter().copied())
}

/// The nodes that members, or a change of them, name and that are not dead.
fn named(members: &Members) -> BTreeSet<u16> {
    let to = members.change.iter().flat_map(|change| &change.to);
    members.ids.iter().chain(to).copied().collect()
}

fn node(name: &str, object: &Object) -> Result<NodeRecord, String> {
    let node: NodeRecord = read(object)?;
    if node.name == name {
        Ok(node)
    } else {
        Err(format!("it names {}", node.name))
    }
}

fn keyspace(name: &str, object: &Object) -> Result<Keyspace, String> {
    let keyspace: Keyspace = read(object)?;
    if keyspace.name != name {
        return Err(format!("it names {}", keyspace.name));
    }
    let checked = keyspace.settings.check();
    checked.map_err(|error| error.to_string())?;
    let is_sound = if keyspace.is_transactional() {
        keyspace.has_sound_ranges()
    } else {
        keyspace.ranges.is_empty()
    };
    is_sound
        .then_some(keyspace)
        .ok_or_else(|| "its ranges do not cover its keys".to_owned())
}

fn dropped(number: &str, object: &Object) -> Result<Dropped, String> {
    let dropped: Dropped = read(object)?;
    if dropped.keyspace.id.to_string() == number {
        Ok(dropped)
    } else {
        Err(format!("it is of number {}", dropped.keyspace.id))
    }
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
