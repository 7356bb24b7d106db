//! Where a link runs: this cluster, and the replica that sends a partition.

use dunlin_node::Services;
use dunlin_proto::ShardAddress;

/// This cluster's id, 32 hexadecimal digits.
pub(crate) fn cluster_id(services: &Services) -> String {
    format!("{:032x}", services.cluster_number())
}

/// The first replica of a partition that can be reached: it sends the partition.
pub(crate) fn first_replica(
    services: &Services,
    keyspace: u32,
    partition: u16,
) -> Option<ShardAddress> {
    let replicas = services.replicas(keyspace, partition);
    replicas.into_iter().find(|at| services.is_reachable(*at))
}
