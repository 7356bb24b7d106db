//! Putting a lost store back from what nodes know: decisions without I/O.
use crate::accept::{Refusal, Verdict, accept};
use crate::cluster::Cluster;
use crate::error::MetadataError;
use crate::objects::{
    ACCESS, CLUSTER, KEYSPACE_COUNTER, MEMBERS, NODE_COUNTER, Objects, Put, drop_key, encode,
    keyspace_key, node_key,
};
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a node tells of the metadata: `GET /v1/metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The node's name.
    pub node: String,
    /// The last topology that it accepted.
    pub topology: Topology,
    /// What is wrong with the store, a line each.
    pub problems: Vec<String>,
    /// The greatest incarnation of each node that it has seen, also in what it has stored.
    pub incarnations: BTreeMap<u16, u32>,
    /// The greatest number of a keyspace that it has seen, also in what it has stored.
    pub keyspace: u32,
    /// Whether the topology has its users, which it is told with only where that is asked for.
    pub has_users: bool,
}

/// Why a store is not put back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// No node told what it knows. Start one, or name others.
    #[error("no node has told what it knows: name nodes that run with --server")]
    NoReports,
    /// The nodes were not asked for their users. Ask as an admin.
    #[error("{node} did not tell its users: ask as one of them with admin on *")]
    NoUsers {
        /// One of them.
        node: String,
    },
    /// The nodes are not all of one cluster. Name nodes of one only.
    #[error("{first} is of cluster {one}, {second} of {other}: name nodes of one cluster only")]
    TwoClusters {
        /// A node.
        first: String,
        /// Its cluster.
        one: String,
        /// Another node.
        second: String,
        /// Its cluster.
        other: String,
    },
    /// Others may know more. Name them too, or accept that what they know is lost.
    #[error(
        "only {reached} of {of} members told what they know, and {} may know more: start them and \
         name them with --server, or accept that loss with --force", missing.join(", ")
    )]
    NoMajority {
        /// How many did.
        reached: usize,
        /// Of how many.
        of: usize,
        /// Names of the others.
        missing: Vec<String>,
    },
    /// The store is in use by another cluster. Point to the right one.
    #[error(
        "it holds cluster {found}, not {known}, and nothing was changed: if a new node has begun \
         that by mistake, stop it and delete what is under /dunlin/v1/ in etcd first"
    )]
    OtherCluster {
        /// The store's.
        found: String,
        /// The nodes'.
        known: String,
    },
    /// The store is not lost. There is nothing to do.
    #[error("it is whole, at revision {revision}: there is nothing to restore")]
    Healthy {
        /// Its revision.
        revision: u64,
    },
    /// The nodes follow a store that is whole. Look whether this is the right one.
    #[error(
        "{node} and all others that were asked follow a metadata store that is whole, which this one \
         is not: check --metadata; with --force they are to follow this one from now on"
    )]
    NotLost {
        /// One of them.
        node: String,
    },
    /// Somebody else writes to it at the same moment. Look again.
    #[error("somebody else changed it at the same moment: look at it with dunlin metadata show")]
    Raced,
    /// The store cannot be read or written.
    #[error("{0}")]
    Store(#[from] MetadataError),
}

/// What is written to the store, and what nodes will see then. Of what several nodes know the
/// newest counts; numbers go on above all that any has seen.
pub(crate) fn plan(
    reports: &[Report],
    store: &Objects,
    force: bool,
    fresh: &Cluster,
) -> Result<(Topology, Vec<Put>), RestoreError> {
    check_one_cluster(reports)?;
    check_users(reports)?;
    let newest = reports.iter().max_by_key(|report| report.topology.order());
    let newest = &newest.ok_or(RestoreError::NoReports)?.topology;
    if !force {
        check_majority(reports, newest)?;
    }
    check_target(reports, newest, store)?;
    if !force {
        check_lost(reports)?;
    }
    let topology = merge(reports, newest, fresh);
    let mut puts = objects(&topology)?;
    let kept: BTreeSet<&str> = puts.iter().map(|(key, _)| key.as_str()).collect();
    let gone: Vec<Put> = store
        .keys()
        .filter(|key| !kept.contains(key))
        .map(|key| (key.to_owned(), None))
        .collect();
    puts.extend(gone);
    Ok((topology, puts))
}

fn check_one_cluster(reports: &[Report]) -> Result<(), RestoreError> {
    let of = |report: &Report| Some(report.topology.cluster.as_ref()?.id.clone());
    let known = reports
        .iter()
        .filter_map(|report| Some((report, of(report)?)));
    let mut known = known.collect::<Vec<_>>().into_iter();
    let Some((first, one)) = known.next() else {
        return Ok(());
    };
    match known.find(|(_, other)| *other != one) {
        None => Ok(()),
        Some((second, other)) => Err(RestoreError::TwoClusters {
            first: first.node.clone(),
            one,
            second: second.node.clone(),
            other,
        }),
    }
}

/// What is put back without the users would lock them out.
fn check_users(reports: &[Report]) -> Result<(), RestoreError> {
    let is_closed = |report: &Report| {
        let cluster = report.topology.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.closed)
    };
    let mut silent = reports.iter().filter(|report| !report.has_users);
    match silent.find(|report| is_closed(report)) {
        None => Ok(()),
        Some(report) => Err(RestoreError::NoUsers {
            node: report.node.clone(),
        }),
    }
}

/// A majority of the members, and of those that shall be members while that changes.
fn check_majority(reports: &[Report], newest: &Topology) -> Result<(), RestoreError> {
    let members = &newest.members;
    let to = members.change.iter().map(|change| &change.to);
    for ids in to.chain([&members.ids]) {
        let names = ids.iter().filter_map(|id| newest.node(*id));
        let names = names.map(|node| node.name.clone());
        let told = |name: &String| reports.iter().any(|report| report.node == *name);
        let (reached, missing): (Vec<_>, Vec<_>) = names.partition(told);
        if 2 * reached.len() <= ids.len() {
            return Err(RestoreError::NoMajority {
                reached: reached.len(),
                of: ids.len(),
                missing,
            });
        }
    }
    Ok(())
}

/// Somebody misses the store, or it is not lost.
fn check_lost(reports: &[Report]) -> Result<(), RestoreError> {
    match reports.first() {
        Some(first) if reports.iter().all(|report| report.problems.is_empty()) => {
            Err(RestoreError::NotLost {
                node: first.node.clone(),
            })
        }
        _ => Ok(()),
    }
}

fn check_target(
    reports: &[Report],
    newest: &Topology,
    store: &Objects,
) -> Result<(), RestoreError> {
    let mut is_believed_by_all = true;
    for report in reports {
        match accept(&report.topology, None, store) {
            Verdict::Accept(..) => {}
            Verdict::Refuse(Refusal::OtherCluster { found, known }) => {
                return Err(RestoreError::OtherCluster { found, known });
            }
            Verdict::Refuse(_) => is_believed_by_all = false,
        }
    }
    if is_believed_by_all {
        return Err(RestoreError::Healthy {
            revision: store.revision,
        });
    }
    match (&newest.cluster, store.read::<Cluster>(CLUSTER)) {
        // Nodes of a version without ids have not joined it.
        (None, Some(Ok(cluster))) => Err(RestoreError::OtherCluster {
            found: cluster.id,
            known: "of theirs, which has no id yet".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn merge(reports: &[Report], newest: &Topology, fresh: &Cluster) -> Topology {
    let mut topology = newest.clone();
    let cluster = topology.cluster.get_or_insert_with(|| fresh.clone());
    cluster.restores += 1;
    // Of equal numbers the one that lets fewer in.
    let told = reports.iter().map(|report| &report.topology.access);
    if let Some(access) = told.max_by_key(|access| (access.changes, access.closed)) {
        cluster.closed = access.closed;
        topology.access.clone_from(access);
    }
    for report in reports {
        let told = &report.topology;
        for dropped in &told.dropped {
            let id = dropped.keyspace.id;
            let is_live = topology.keyspace(id).is_some();
            match topology.dropped.iter_mut().find(|d| d.keyspace.id == id) {
                Some(known) => known.purged |= dropped.purged,
                None if is_live => {}
                None => topology.dropped.push(dropped.clone()),
            }
        }
        let counters = &mut topology.counters;
        counters.node = counters.node.max(told.counters.node);
        counters.keyspace = (counters.keyspace)
            .max(told.counters.keyspace)
            .max(report.keyspace);
    }
    for report in reports {
        for keyspace in &report.topology.keyspaces {
            // Whoever saw the drop taken back saw more.
            topology.dropped.retain(|dropped| {
                dropped.keyspace.id != keyspace.id || dropped.keyspace.undrops >= keyspace.undrops
            });
            let own = topology.keyspaces.iter_mut();
            if let Some(own) = own.into_iter().find(|own| own.id == keyspace.id) {
                *own = own.grown(keyspace);
                continue;
            }
            let is_known = topology.dropped(keyspace.id).is_some()
                || topology.keyspace_named(&keyspace.name).is_some();
            if !is_known {
                topology.keyspaces.push(keyspace.clone());
            }
        }
    }
    for node in &mut topology.nodes {
        let id = node.id;
        let told = reports.iter().flat_map(|report| {
            let record = report.topology.node(id).map(|node| node.incarnation);
            record
                .into_iter()
                .chain(report.incarnations.get(&id).copied())
        });
        node.incarnation = told.chain([node.incarnation]).max().unwrap_or(0);
    }
    topology.ordered()
}

fn objects(topology: &Topology) -> Result<Vec<Put>, MetadataError> {
    let mut puts = vec![
        (CLUSTER.to_owned(), Some(encode(&topology.cluster)?)),
        (MEMBERS.to_owned(), Some(encode(&topology.members)?)),
        (
            NODE_COUNTER.to_owned(),
            Some(encode(&topology.counters.node)?),
        ),
        (
            KEYSPACE_COUNTER.to_owned(),
            Some(encode(&topology.counters.keyspace)?),
        ),
    ];
    if topology.access.changes > 0 {
        puts.push((ACCESS.to_owned(), Some(encode(&topology.access)?)));
    }
    for node in &topology.nodes {
        puts.push((node_key(&node.name), Some(encode(node)?)));
    }
    for keyspace in &topology.keyspaces {
        puts.push((keyspace_key(&keyspace.name), Some(encode(keyspace)?)));
    }
    for dropped in &topology.dropped {
        puts.push((drop_key(dropped.keyspace.id), Some(encode(dropped)?)));
    }
    Ok(puts)
}

#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
