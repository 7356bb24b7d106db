//! The index of a view is, in the end, what the records of the same shard make of it.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_node::Placement;
use dunlin_views::rows_here;

use super::Broken;
use super::converged::record_of;
use crate::harness::cluster::Cluster;
use crate::history::key_name;

/// What was compared.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Compared {
    /// Indexes, each of one keyspace at one shard.
    pub indexes: u64,
    /// Indexes that do not have all of their shard's log yet.
    pub late: u64,
}

/// Compares all indexes that have all of their shards' logs.
///
/// # Errors
/// The first difference.
pub fn views(cluster: &Cluster) -> Result<Compared, Broken> {
    let mut compared = Compared::default();
    let plan = &cluster.shared.plan;
    let topology = cluster.shared.metadata.topology().borrow().clone();
    let placement = Placement::compute(&topology);
    for (number, id) in cluster.shared.keyspaces.iter().enumerate() {
        // What was shown may be lost there.
        let Some(placed) = placement.keyspace(*id).filter(|_| plan.is_durable(number)) else {
            continue;
        };
        for services in cluster.hosts.iter().flat_map(|host| host.services()) {
            // What is not applied yet, nobody can look for.
            let is_applied = services.shard().store().applied() == services.log_last();
            let rows = is_applied.then(|| rows_here(&services, *id)).flatten();
            let Some(rows) = rows else {
                compared.late += 1;
                continue;
            };
            compared.indexes += 1;
            let shard = services.shard();
            let mut indexed: BTreeMap<Bytes, Vec<String>> = BTreeMap::new();
            for (key, document, _) in rows {
                indexed.entry(document).or_default().push(key);
            }
            for key in 0..plan.keys {
                let name = key_name(key);
                let partition = placed.partition_of(&name);
                // Of a node that has not heard of a change of replicas, nobody asks for more than it knows.
                let replicas = services.replicas(*id, partition);
                let own = indexed.remove(&name).unwrap_or_default();
                // Its value may be over without anybody having said so.
                if !replicas.contains(&shard.address()) || plan.ends_at((number, key)) {
                    continue;
                }
                let held = record_of(shard, *id, partition, &name)?;
                let held = held.filter(|record| !record.tombstone);
                let expected = held.map(|record| format!("\"{}\"", record.stamp));
                let expected: Vec<String> = expected.into_iter().collect();
                if own != expected {
                    return Err(Broken {
                        text: format!(
                            "the view at {} has {own:?} of its record {expected:?}",
                            shard.label()
                        ),
                        place: Some((number, key)),
                        at: None,
                    });
                }
            }
        }
    }
    Ok(compared)
}
