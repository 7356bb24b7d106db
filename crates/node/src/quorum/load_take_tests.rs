use std::collections::BTreeSet;

use dunlin_proto::ShardAddress;

use super::{Prepared, acknowledged, to_take};

/// A replica that has prepared, and where it found something in the way.
type Found<'a> = (u16, &'a [u16]);

fn node(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

fn prepared(by: &[Found]) -> Prepared {
    let with = |(by, found): &Found| (node(*by), found.iter().copied().collect());
    by.iter().map(with).collect()
}

#[test]
fn what_enough_have_in_files_and_nothing_stands_in_the_way_of_is_taken() {
    let all = [node(1), node(2), node(3)];
    let cases: [(&str, &[Found], u8, &[u16]); 7] = [
        ("all three", &[(1, &[]), (2, &[]), (3, &[])], 2, &[4, 5]),
        ("enough", &[(1, &[]), (3, &[])], 2, &[4, 5]),
        ("not enough", &[(1, &[]), (3, &[])], 3, &[]),
        ("not here", &[(2, &[]), (3, &[])], 2, &[]),
        (
            "something in the way at one",
            &[(1, &[]), (2, &[4]), (3, &[])],
            2,
            &[5],
        ),
        (
            "of each something somewhere",
            &[(1, &[5]), (2, &[4]), (3, &[])],
            2,
            &[],
        ),
        ("nobody", &[], 1, &[]),
    ];
    for (what, by, ack, expected) in cases {
        let parts = [(4, &all[..]), (5, &all[..])];
        let taken = to_take(parts, &prepared(by), node(1), ack);
        assert_eq!(taken.into_iter().collect::<Vec<_>>(), expected, "{what}");
    }
}

#[test]
fn only_replicas_of_a_partition_count_for_it() {
    let (first, second) = ([node(1), node(2), node(3)], [node(1), node(4), node(5)]);
    let parts = [(4, &first[..]), (5, &second[..])];
    let by = prepared(&[(1, &[]), (2, &[]), (3, &[])]);
    let taken: Vec<u16> = to_take(parts, &by, node(1), 2).into_iter().collect();
    assert_eq!(taken, [4]);
    let counts: BTreeSet<_> = [node(1), node(2), node(4)].into();
    assert_eq!(acknowledged([&first[..], &second[..]], &counts), Some(2));
    assert_eq!(acknowledged([&second[..]], &[node(1)].into()), Some(1));
    assert_eq!(acknowledged([], &counts), None);
}
