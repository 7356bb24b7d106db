//! Who a starting node is to its cluster: told to the metadata store, or, while that is away or
//! refused, taken from what is known and told later.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use dunlin_metadata::{Cluster, KeyspaceSettings, Metadata, MetadataError, NodeRecord, Watcher};

use super::StartError;
use super::identity::Identity;
use crate::process::Superseded;

/// Pause between attempts to tell the store.
const RETRY: Duration = Duration::from_secs(1);
/// Starts without the store leave out up to so many incarnations: a copy of the directory that is
/// started meanwhile, or one put back from an older copy, must not take the same one.
const LEFT_OUT_MAX: u64 = 1 << 16;

/// Where a node is to be found.
#[derive(Debug, Clone)]
pub(super) struct Whereabouts {
    pub http: String,
    pub listen: String,
    pub shards: u16,
}

/// Who this start is.
pub(super) struct Joined {
    /// The cluster's number, as origins have it.
    pub cluster: u16,
    pub node: u16,
    pub incarnation: u32,
    /// The start before this one, if no other is known of.
    pub known_incarnation: u32,
    /// The last start that the directory knew of; 0 when it was new.
    pub remembered_incarnation: u32,
    /// Whether the store does not know of it yet.
    is_untold: bool,
}

/// Takes a number and an incarnation, and writes them down before they are used.
pub(super) async fn join(
    metadata: &Metadata,
    identity: &mut Identity,
    place: &Whereabouts,
    default_keyspace: &KeyspaceSettings,
) -> Result<Joined, StartError> {
    let is_new = !identity.has_data();
    match register(metadata, identity, place, default_keyspace).await {
        Ok((record, cluster)) => {
            let remembered_incarnation = identity.known_incarnation();
            let before = identity.remember(record.id, record.incarnation, true, cluster);
            if before.is_err() && is_new {
                // Registered for nothing. Should it fail, the node is listed as one that is down.
                drop(metadata.forget_node(identity.name()).await);
            }
            Ok(Joined {
                cluster: number_of_cluster(identity)?,
                node: record.id,
                incarnation: record.incarnation,
                known_incarnation: before?,
                remembered_incarnation,
                is_untold: false,
            })
        }
        Err(error) if is_away(&error) => without_store(metadata, identity, error),
        Err(MetadataError::Foreign { .. }) => Err(identity.foreign()),
        Err(error) => Err(error.into()),
    }
}

/// All that a shard logs names its cluster.
fn number_of_cluster(identity: &Identity) -> Result<u16, StartError> {
    identity.cluster_number().ok_or_else(|| {
        StartError::Config(
            "the metadata store has no cluster id, and this node's directory neither: start a node of the cluster that has data first, which gives the store its id".into(),
        )
    })
}

async fn register(
    metadata: &Metadata,
    identity: &Identity,
    place: &Whereabouts,
    default_keyspace: &KeyspaceSettings,
) -> Result<(NodeRecord, Option<Cluster>), MetadataError> {
    let cluster = metadata
        .join_cluster(identity.directory(), &fresh_cluster())
        .await?;
    metadata
        .ensure_keyspace("default", default_keyspace.clone())
        .await?;
    let record = metadata
        .register(
            identity.name(),
            &place.http,
            &place.listen,
            place.shards,
            identity.next_incarnation(1)?,
        )
        .await?;
    Ok((record, cluster))
}

fn is_away(error: &MetadataError) -> bool {
    matches!(
        error,
        MetadataError::Unavailable { .. } | MetadataError::Refused { .. }
    )
}

/// A node with data whose cached topology names it needs no store to serve.
fn without_store(
    metadata: &Metadata,
    identity: &mut Identity,
    error: MetadataError,
) -> Result<Joined, StartError> {
    let topology = metadata.topology().borrow().clone();
    let Some(node) = identity.number_in(&topology) else {
        return Err(error.into());
    };
    let remembered_incarnation = identity.known_incarnation();
    let left_out = 1 + random() % LEFT_OUT_MAX;
    let incarnation = identity.next_incarnation(u32::try_from(left_out).unwrap_or(1))?;
    // Those left out are no starts that this directory would know nothing of.
    let known_incarnation =
        identity.remember(node, incarnation, false, topology.cluster.clone())?;
    tracing::warn!(%error, incarnation, "starting by what is cached of the metadata");
    Ok(Joined {
        cluster: number_of_cluster(identity)?,
        node,
        incarnation,
        known_incarnation,
        remembered_incarnation,
        is_untold: true,
    })
}

/// What is left to do when the node serves: the store is told of this start as soon as it can be,
/// and the directory of its cluster's id as soon as there is one. Should a later start of this node
/// come to light, the next one begins above it: it may be one that the store never heard of.
pub(super) async fn settle(
    metadata: Metadata,
    mut identity: Identity,
    place: Whereabouts,
    joined: Joined,
    mut superseded: Watcher<Option<Superseded>>,
) {
    let name = identity.name().to_owned();
    let newer = async {
        let by = superseded.wait_for(|by| by.as_ref().is_some_and(|by| by.node == name));
        by.await.ok().and_then(|by| by.as_ref().map(|by| by.newer))
    };
    tokio::pin!(newer);
    let newer = tokio::select! {
        biased;
        newer = newer.as_mut() => newer,
        () = introduce(metadata, &mut identity, place, joined) => newer.await,
    };
    if let Some(newer) = newer
        && let Err(error) = identity.leave_out(newer)
    {
        tracing::warn!(%error, "the next start may have to be tried twice");
    }
}

async fn introduce(
    metadata: Metadata,
    identity: &mut Identity,
    place: Whereabouts,
    joined: Joined,
) {
    if joined.is_untold && !tell(&metadata, identity, &place, &joined).await {
        return;
    }
    let mut topology = metadata.topology();
    while !identity.has_cluster() {
        let known = topology.wait_for(|topology| topology.cluster.is_some());
        let Some(cluster) = known
            .await
            .ok()
            .and_then(|topology| topology.cluster.clone())
        else {
            return;
        };
        match identity.remember_cluster(cluster) {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "the cluster's id is not written down yet"),
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Tells the store of this start; false when there has been a later one.
async fn tell(
    metadata: &Metadata,
    identity: &Identity,
    place: &Whereabouts,
    joined: &Joined,
) -> bool {
    loop {
        tokio::time::sleep(RETRY).await;
        let told = metadata
            .announce(
                identity.name(),
                &place.http,
                &place.listen,
                place.shards,
                joined.node,
                joined.incarnation,
            )
            .await;
        let error = match told {
            Ok(_) => {
                metadata.tell_of_node(None);
                return true;
            }
            Err(error) if is_away(&error) => continue,
            Err(error) => error,
        };
        metadata.tell_of_node(Some(format!("this node is not registered: {error}")));
        if matches!(error, MetadataError::Superseded { .. }) {
            tracing::error!(%error, "another process runs as this node: stop one of them");
            return false;
        }
    }
}

/// A new cluster, with an id that no other has.
pub fn fresh_cluster() -> Cluster {
    Cluster::new(u128::from(random()) << 64 | u128::from(random()))
}

/// From the system's own randomness, which keys the standard library's hashes. Starts of real nodes
/// only: the simulation says itself who a node is.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
