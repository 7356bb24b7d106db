#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::node::NodeRecord;

fn store(cluster: Option<u128>, node: Option<(&str, u16)>) -> Topology {
    let nodes = node.into_iter().map(|(name, id)| NodeRecord {
        id,
        name: name.to_owned(),
        http: String::new(),
        listen: String::new(),
        shards: 1,
        incarnation: 1,
    });
    let topology = Topology {
        cluster: cluster.map(Cluster::new),
        nodes: nodes.collect(),
        ..Topology::default()
    };
    topology.ordered()
}

/// What becomes of the directory of n1 with this number and cluster, in one word.
fn word(id: u16, cluster: Option<u128>, now: &Topology) -> &'static str {
    let cluster = cluster.map(|id| Cluster::new(id).id);
    let directory = Directory {
        name: "n1",
        id,
        cluster: cluster.as_deref(),
    };
    match claim(directory, now) {
        Ok(Claim::Belongs(_)) => "belongs",
        Ok(Claim::Begins) => "begins",
        Ok(Claim::Waits) => "waits",
        Err(MetadataError::Foreign { .. }) => "foreign",
        Err(MetadataError::OtherCluster { .. }) => "other",
        Err(MetadataError::NoCluster { .. }) => "lost",
        Err(_) => "?",
    }
}

#[test]
fn a_directory_and_a_store_of_one_cluster_belong_together_and_nothing_else_does() {
    let stores = [
        store(None, None),
        store(None, Some(("n1", 1))),
        store(None, Some(("n2", 2))),
        store(Some(5), Some(("n1", 1))),
        store(Some(5), Some(("n2", 2))),
        store(Some(6), Some(("n1", 1))),
    ];
    // A row for each directory, a column for each store.
    let table = [
        (
            0,
            None,
            ["begins", "begins", "waits", "belongs", "belongs", "belongs"],
        ),
        (
            1,
            None,
            [
                "foreign", "begins", "foreign", "belongs", "foreign", "belongs",
            ],
        ),
        (
            9,
            None,
            [
                "foreign", "foreign", "foreign", "foreign", "foreign", "foreign",
            ],
        ),
        (
            1,
            Some(5),
            ["lost", "lost", "lost", "belongs", "foreign", "other"],
        ),
        (
            0,
            Some(5),
            ["lost", "lost", "lost", "belongs", "belongs", "other"],
        ),
    ];
    for (id, cluster, expected) in table {
        let found = stores.each_ref().map(|store| word(id, cluster, store));
        assert_eq!(found, expected, "directory of {id} {cluster:?}");
    }
}

#[test]
fn an_id_has_32_digits() {
    let cluster = Cluster::new(0xd0_0d);
    assert_eq!(cluster.id, "0000000000000000000000000000d00d");
    cluster.check().unwrap();
    for id in ["", "d00d", "0000000000000000000000000000D00D"] {
        let bad = Cluster {
            id: id.to_owned(),
            restores: 0,
            closed: false,
        };
        assert!(bad.check().is_err(), "{id}");
    }
}
