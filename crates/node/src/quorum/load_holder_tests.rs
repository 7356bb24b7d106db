use dunlin_proto::ShardAddress;

use super::{BUNDLE_BYTES, bundles, holder};

const fn shard(node: u16, shard: u16) -> ShardAddress {
    ShardAddress { node, shard }
}

const ME: ShardAddress = shard(2, 0);

/// Replicas, those within reach, and who is to load.
type Holder<'a> = (
    &'a str,
    &'a [ShardAddress],
    &'a [ShardAddress],
    Option<ShardAddress>,
);
/// Partitions with their bytes, and the messages they go in.
type Bundles<'a> = (&'a str, &'a [(u16, usize)], &'a [&'a [u16]]);

#[test]
fn who_holds_a_partition_loads_it_and_the_nearest_of_those() {
    let cases: [Holder; 7] = [
        ("this one", &[shard(1, 0), ME], &[shard(1, 0)], Some(ME)),
        (
            "this one, whoever is near",
            &[shard(2, 1), ME],
            &[shard(2, 1)],
            Some(ME),
        ),
        (
            "the one beside it",
            &[shard(1, 0), shard(2, 1)],
            &[shard(1, 0), shard(2, 1)],
            Some(shard(2, 1)),
        ),
        (
            "the one beside it is not up",
            &[shard(1, 0), shard(2, 1)],
            &[shard(1, 0)],
            Some(shard(1, 0)),
        ),
        (
            "the first of another node",
            &[shard(3, 0), shard(1, 1)],
            &[shard(1, 1), shard(3, 0)],
            Some(shard(3, 0)),
        ),
        (
            "the second, for the first is away",
            &[shard(3, 0), shard(1, 1)],
            &[shard(1, 1)],
            Some(shard(1, 1)),
        ),
        ("nobody", &[shard(3, 0), shard(1, 1)], &[], None),
    ];
    for (name, replicas, up, wanted) in cases {
        assert_eq!(holder(replicas, ME, |r| up.contains(&r)), wanted, "{name}");
    }
}

#[test]
fn partitions_go_whole_and_each_once() {
    let half = BUNDLE_BYTES / 2;
    let cases: [Bundles; 5] = [
        ("nothing", &[], &[]),
        ("what fits", &[(1, half), (2, half)], &[&[1, 2]]),
        ("one byte more", &[(1, half), (2, half + 1)], &[&[1], &[2]]),
        (
            "one that is larger by itself",
            &[(1, 3 * BUNDLE_BYTES), (2, 1)],
            &[&[1], &[2]],
        ),
        (
            "small, large, small",
            &[(1, 1), (2, BUNDLE_BYTES), (3, 1)],
            &[&[1], &[2], &[3]],
        ),
    ];
    for (name, parts, wanted) in cases {
        assert_eq!(bundles(parts.iter().copied()), wanted, "{name}");
    }
}
