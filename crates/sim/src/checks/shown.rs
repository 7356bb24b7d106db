//! What followers were shown is there in the end, or what beats it (decision 46).

use dunlin_node::Placement;

use super::Broken;
use super::converged::record_of;
use crate::harness::cluster::Cluster;

/// Looks for all that followers were ever shown in the stores of all running nodes.
///
/// # Errors
/// The first that none has, or that all have something older of.
pub fn shown(cluster: &Cluster) -> Result<(), Broken> {
    let plan = &cluster.shared.plan;
    let topology = cluster.shared.metadata.topology().borrow().clone();
    let placement = Placement::compute(&topology);
    let live: Vec<_> = cluster.hosts.iter().flat_map(|host| host.live()).collect();
    for ((id, key), given) in cluster.shared.followers.shown().iter() {
        let number = cluster.shared.keyspaces.iter().position(|k| k == id);
        // What was acknowledged may be lost there, too.
        let Some(number) = number.filter(|number| plan.is_durable(*number)) else {
            continue;
        };
        let Some(placed) = placement.keyspace(*id) else {
            continue;
        };
        let partition = placed.partition_of(key);
        let mut newest = None;
        for shard in &live {
            if let Some(held) = record_of(shard, *id, partition, key)? {
                newest = newest.max(Some(held.rank()));
            }
        }
        // That a value is over, its own time tells: the note of it may be lost with a disk.
        let is_over = given.delete && given.expiry_ms.is_some();
        let is_there = match newest {
            Some(newest) if is_over => newest.height() >= given.rank.height(),
            Some(newest) => newest >= given.rank,
            None => given.delete || given.expiry_ms.is_some() || plan.forgets_deletes(number),
        };
        if !is_there {
            return Err(Broken {
                text: format!(
                    "a follower was shown {given:?} of key {} of keyspace {id}, partition {partition}, and the newest there is in the end is {newest:?}",
                    key.escape_ascii()
                ),
                place: None,
                at: None,
            });
        }
    }
    Ok(())
}
