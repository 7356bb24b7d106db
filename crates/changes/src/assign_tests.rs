use super::*;

/// What it shows, replicas, best first, those that cannot be asked, who serves.
type Case<'a> = (
    &'a str,
    &'a [ShardAddress],
    &'a [ShardAddress],
    Option<ShardAddress>,
);

const fn shard(node: u16, shard: u16) -> ShardAddress {
    ShardAddress { node, shard }
}

#[test]
fn all_cases() {
    let own = shard(1, 0);
    let all = [shard(3, 0), shard(2, 1), shard(1, 1), shard(1, 0)];
    let table: [Case<'_>; 7] = [
        ("this shard, wherever it stands", &all, &[], Some(own)),
        ("a shard of this node", &all[..3], &[], Some(shard(1, 1))),
        ("the best of the others", &all[..2], &[], Some(shard(3, 0))),
        (
            "who can be asked",
            &all[..2],
            &[shard(3, 0)],
            Some(shard(2, 1)),
        ),
        (
            "others where this shard cannot",
            &[own, shard(2, 0)],
            &[own],
            Some(shard(2, 0)),
        ),
        ("nobody", &all[..1], &[shard(3, 0)], None),
        ("no replicas", &[], &[], None),
    ];
    for (what, replicas, lost, expected) in table {
        let assigned = assign(&[7], own, |_| replicas.to_vec(), |s| !lost.contains(&s));
        let expected = expected.map(|shard| (shard, vec![7]));
        assert_eq!(assigned.into_iter().next(), expected, "{what}");
    }
}

#[test]
fn partitions_of_one_shard_are_served_together() {
    let of = |partition: u16| vec![shard(2 + partition % 2, 0)];
    let assigned = assign(&[0, 1, 2, 3, 4], shard(1, 0), of, |_| true);
    let expected = [(shard(2, 0), vec![0, 2, 4]), (shard(3, 0), vec![1, 3])];
    assert_eq!(assigned.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn who_gets_no_further_is_set_apart_with_those_that_cannot_either() {
    let apart = |lacking: &[u16]| set_apart(&[1, 2, 3, 4], 2, |p| lacking.contains(&p));
    assert_eq!(apart(&[]), (vec![2], vec![1, 3, 4]));
    assert_eq!(apart(&[2]), (vec![2], vec![1, 3, 4]));
    assert_eq!(apart(&[2, 4]), (vec![2, 4], vec![1, 3]));
    assert_eq!(apart(&[1, 2, 3, 4]), (vec![2], vec![1, 3, 4]));
    assert_eq!(set_apart(&[2], 2, |_| true), (vec![2], vec![]));
}
