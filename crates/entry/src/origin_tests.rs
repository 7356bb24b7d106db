use super::*;

#[test]
fn parts_of_an_origin_do_not_overlap() {
    let cases = [
        (0, 0, 0, 0),
        (1, 2, 3, 4),
        (Origin::CLUSTER_MAX, 0, 0, 0),
        (0, Origin::NODE_MAX, 0, 0),
        (0, 0, Origin::SHARD_MAX, 0),
        (0, 0, 0, u32::MAX),
        (
            Origin::CLUSTER_MAX,
            Origin::NODE_MAX,
            Origin::SHARD_MAX,
            u32::MAX,
        ),
    ];
    for (cluster, node, shard, incarnation) in cases {
        let origin = Origin::new(node, shard, incarnation).in_cluster(cluster);
        let parts = (
            origin.cluster(),
            origin.node(),
            origin.shard(),
            origin.incarnation(),
        );
        assert_eq!(parts, (cluster, node, shard, incarnation), "{origin}");
        assert_eq!(origin.seal().cluster(), cluster, "a seal keeps the cluster");
        assert_eq!(origin.of_shard(7, 5, 9).cluster(), cluster);
        assert_eq!(
            origin.in_cluster(3).in_cluster(cluster),
            origin,
            "in another cluster and back"
        );
    }
}

#[test]
fn number_of_a_cluster_is_the_top_of_its_id() {
    assert_eq!(cluster_number(0), 0);
    assert_eq!(cluster_number(u128::MAX), Origin::CLUSTER_MAX);
    assert_eq!(cluster_number(5 << 114 | 77), 5);
}
