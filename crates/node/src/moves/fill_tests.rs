use super::*;

const fn v(version: u64) -> Version {
    Version(version)
}

#[test]
fn what_nobody_has_any_more_is_not_waited_for() {
    let (gone, emptied, whole) = (
        Origin::new(3, 0, 2),
        Origin::new(4, 0, 2),
        Origin::new(1, 0, 5),
    );
    let marks: Vector = [(gone, v(90)), (emptied, v(80)), (whole, v(70))]
        .into_iter()
        .collect();
    // Node 3 is gone for good and left out of what the living tell; node 4 lost its disk, and
    // others have some of what it wrote; node 1 has gone on, and nothing later is waited for.
    let held: Vector = [(emptied, v(60)), (whole, v(75))].into_iter().collect();
    let left = still_held(&marks, &held);
    assert_eq!(left.get(gone), v(0));
    assert_eq!(left.get(emptied), v(60));
    assert_eq!(left.get(whole), v(70));
    // What was lowered stays so: what the emptied node writes from then on is no part of it.
    let later: Vector = [(emptied, v(99)), (whole, v(99))].into_iter().collect();
    assert_eq!(still_held(&left, &later).get(emptied), v(60));
}

#[test]
fn a_source_that_lost_its_log_is_copied_again() {
    // Where the copy began, the first record that the source's present start wrote, the start it
    // began with, the present one, whether it may have lost its log.
    let cases = [
        ("restarted with all it had synced", 100, 100, 3, 4, false),
        ("it has gone on since", 100, 250, 3, 4, false),
        ("emptied", 100, 1, 3, 4, true),
        ("an older copy", 100, 99, 3, 4, true),
        ("emptied, filled, and restarted", 100, 250, 3, 5, true),
        (
            "a source of a build that answers what was asked",
            100,
            100,
            3,
            4,
            false,
        ),
    ];
    for (what, begin, first, known, now, expected) in cases {
        assert_eq!(is_another_log(begin, first, known, now), expected, "{what}");
    }
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
