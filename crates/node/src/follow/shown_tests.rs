use super::*;

fn shards(nodes: &[u16]) -> Vec<ShardAddress> {
    let shard = |node: &u16| ShardAddress {
        node: *node,
        shard: 0,
    };
    nodes.iter().map(shard).collect()
}

/// Name, replicas, the second set, who has it, whether it is shown.
type Case<'a> = (&'a str, &'a [u16], &'a [u16], &'a [u16], bool);

#[test]
fn a_majority_of_each_set_must_have_it() {
    let cases: [Case; 18] = [
        ("one of one", &[1], &[], &[1], true),
        ("none of one", &[1], &[], &[2], false),
        ("one of two", &[1, 2], &[], &[1], false),
        ("two of two", &[1, 2], &[], &[1, 2], true),
        ("one of three", &[1, 2, 3], &[], &[2], false),
        ("two of three", &[1, 2, 3], &[], &[1, 3], true),
        (
            "two of three, one of them away",
            &[1, 2, 3],
            &[],
            &[2, 3],
            true,
        ),
        ("others do not count", &[1, 2, 3], &[], &[1, 4, 5], false),
        ("two of four", &[1, 2, 3, 4], &[], &[1, 2], false),
        ("three of four", &[1, 2, 3, 4], &[], &[1, 2, 4], true),
        ("two of five", &[1, 2, 3, 4, 5], &[], &[1, 2], false),
        ("three of five", &[1, 2, 3, 4, 5], &[], &[1, 3, 5], true),
        ("no replicas: not known here", &[], &[], &[1, 2, 3], false),
        (
            "the old, not the new",
            &[1, 2, 3],
            &[1, 4, 5],
            &[1, 2, 3],
            false,
        ),
        (
            "the new, not the old",
            &[1, 2, 3],
            &[1, 4, 5],
            &[1, 4, 5],
            false,
        ),
        ("both", &[1, 2, 3], &[1, 4, 5], &[1, 2, 4], true),
        (
            "one of a second set that is smaller",
            &[1, 2, 3],
            &[4],
            &[1, 2, 4],
            true,
        ),
        ("none of it", &[1, 2, 3], &[4], &[1, 2, 3], false),
    ];
    for (name, replicas, also, has, shown) in cases {
        let has = shards(has);
        let is = is_shown(&shards(replicas), &shards(also), |replica| {
            has.contains(&replica)
        });
        assert_eq!(is, shown, "{name}");
    }
}
