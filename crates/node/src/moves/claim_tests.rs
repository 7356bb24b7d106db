use super::*;

const fn v(version: u64) -> Version {
    Version(version)
}

#[test]
fn who_becomes_a_member_again_inherits_what_it_wrote_before() {
    let (now, earlier, other) = (
        Origin::new(2, 0, 4),
        Origin::new(2, 0, 3),
        Origin::new(1, 0, 3),
    );
    // (what, told by the living, what it has) -> what it takes for inherited.
    type Told = Vec<(Origin, Version)>;
    let cases: [(&str, Told, Told, Told); 5] = [
        ("nobody has any of it", vec![(other, v(9))], vec![], vec![]),
        (
            "the greatest of what is told",
            vec![(earlier, v(5)), (earlier, v(7)), (earlier, v(6))],
            vec![],
            vec![(earlier, v(7))],
        ),
        (
            "its log has it",
            vec![(earlier, v(7))],
            vec![(earlier, v(7))],
            vec![],
        ),
        (
            "its log has some",
            vec![(earlier, v(7))],
            vec![(earlier, v(3))],
            vec![(earlier, v(7))],
        ),
        ("what it writes now", vec![(now, v(9))], vec![], vec![]),
    ];
    for (what, told, have, expected) in cases {
        let have: Vector = have.into_iter().collect();
        assert_eq!(own_past(told.into_iter(), now, &have), expected, "{what}");
    }
}

#[test]
fn what_a_writer_wrote_is_inherited_as_far_as_all_who_know_of_it_name_it() {
    let shard = |node| ShardAddress { node, shard: 0 };
    let (writer, a, b) = (shard(5), shard(1), shard(2));
    // (what, the vectors' word of the sources, those that may know of it) -> what is inherited.
    type Ends = Vec<(ShardAddress, Version)>;
    let cases: [(&str, Ends, Vec<ShardAddress>, Option<Version>); 6] = [
        ("no source", vec![], vec![a, b], None),
        (
            "the least of what they name",
            vec![(a, v(7)), (b, v(5))],
            vec![a, b],
            Some(v(5)),
        ),
        (
            "one shares nothing with it",
            vec![(a, v(7)), (b, v(0))],
            vec![a],
            Some(v(7)),
        ),
        (
            "one that may know of it does not: its log is to be sent",
            vec![(a, v(7)), (b, v(0))],
            vec![a, b],
            Some(v(0)),
        ),
        (
            "a source is the writer itself",
            vec![(writer, v(9)), (a, v(8))],
            vec![],
            Some(v(9)),
        ),
        (
            "nobody knows of it",
            vec![(a, v(0)), (b, v(0))],
            vec![],
            None,
        ),
    ];
    for (what, ends, know, expected) in cases {
        let inherited = inherited_of(writer, ends.into_iter(), |source| know.contains(&source));
        assert_eq!(inherited, expected, "{what}");
    }
}
