use super::Tie::{Connecting, Down, MissesHere, MissesThere, OneWay, Unheard, Whole};
use super::*;

/// Names of what is missing, of two others.
fn missing(a: Tie, b: Tie, is_first: bool, is_patient: bool) -> String {
    let ties = [(2, "a", a), (3, "b", b)];
    let lacks = lacks(&ties, true, is_first, is_patient);
    lacks.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn ranges_that_nobody_can_read() {
    let at = |node| ShardAddress { node, shard: 0 };
    // Replicas, those that do not work; how many are left where these are no majority.
    for (replicas, broken, left) in [
        (&[1, 2, 3][..], &[][..], None),
        (&[1, 2, 3], &[2], None),
        (&[1, 2, 3], &[2, 3], Some(1)),
        (&[1, 2, 3], &[1, 2, 3], Some(0)),
        (&[1, 2], &[2], Some(1)),
        (&[1], &[], None),
        (&[1], &[1], Some(0)),
        // None is known yet.
        (&[], &[], None),
    ] {
        let ranges = [(
            "a/0".to_owned(),
            replicas.iter().map(|node| at(*node)).collect(),
        )];
        let works = |range: &str, at: ShardAddress| range == "a/0" && !broken.contains(&at.node);
        let found = without_majority(ranges.into_iter(), works);
        let expected = left.map(|left| ("a/0".to_owned(), left, replicas.len()));
        assert_eq!(
            found,
            expected.into_iter().collect::<Vec<_>>(),
            "{replicas:?} {broken:?}"
        );
    }
}

#[test]
fn one_of_three() {
    let table = [
        // others, first, patient, what is missing
        ((Whole, Whole), true, true, ""),
        ((Whole, Connecting), true, true, "b"),
        ((Whole, Connecting), true, false, ""),
        ((Whole, OneWay), true, true, "b"),
        ((Whole, OneWay), true, false, ""),
        ((Whole, Unheard), true, true, "b"),
        ((Whole, Unheard), true, false, ""),
        // It can be asked, and answers nothing.
        ((Unheard, Down), true, true, "ab"),
        ((Unheard, Down), false, false, "ab"),
        ((Whole, MissesThere), true, true, "b"),
        ((Whole, MissesThere), true, false, ""),
        // What was missed comes in the end, however long it takes.
        ((Whole, MissesHere), true, false, "b"),
        ((MissesHere, Down), true, false, "ab"),
        // One that is down is waited for by nobody.
        ((Whole, Down), true, true, ""),
        ((Down, Whole), true, true, ""),
        // Without a majority all that are not there are named.
        ((Down, Down), true, false, "ab"),
        ((Down, OneWay), true, false, "ab"),
        ((Connecting, Connecting), true, false, "ab"),
        // Once it was ready, others may come and go, as long as a majority stays.
        ((Whole, Connecting), false, true, ""),
        ((Whole, OneWay), false, true, ""),
        ((MissesHere, Down), false, false, ""),
        ((MissesThere, OneWay), false, false, ""),
        ((OneWay, Down), false, false, "ab"),
        ((Down, Down), false, false, "ab"),
    ];
    for ((a, b), is_first, is_patient, expected) in table {
        let found = missing(a, b, is_first, is_patient);
        assert_eq!(
            found, expected,
            "{a:?} {b:?} first {is_first} patient {is_patient}"
        );
    }
}

#[test]
fn other_sizes() {
    // A cluster of one has nobody to wait for.
    assert!(lacks(&[], true, true, true).is_empty());
    // The survivor of two.
    assert_eq!(
        lacks(&[(2, "a", Down)], true, true, true),
        [("a", "no connection")]
    );
    // A spare node counts for nothing: it must reach a majority of the members.
    assert_eq!(
        lacks(&[(2, "a", Whole), (3, "b", Down)], false, true, true).len(),
        1
    );
    let ties = [(2, "a", Whole), (3, "b", Whole), (4, "c", Down)];
    assert!(lacks(&ties, false, true, true).is_empty());
    // Before there are members, as when all metadata is new.
    assert_eq!(lacks(&[], false, true, true), []);
}

#[test]
fn nodes_count_however_many_shards_they_have() {
    // Four of its own make no majority of two others with one each.
    let ties = [(2, "a", Down), (3, "b", Down)];
    assert_eq!(lacks(&ties, true, false, false).len(), 2);
    // The loss of a node with four is the loss of one.
    let mut ties = vec![(2, "a", Whole)];
    ties.extend(["c/0", "c/1", "c/2", "c/3"].map(|name| (3, name, Down)));
    assert!(lacks(&ties, true, false, false).is_empty());
    // A node is there with all of its shards.
    let ties = [(2, "a/0", Whole), (2, "a/1", Down), (3, "b", Down)];
    assert_eq!(lacks(&ties, true, false, false).len(), 2);
}

#[test]
fn a_cluster_of_too_few_for_any_keyspace_serves_none() {
    let why = |keyspaces: &[(&str, u8)], members| unserved(keyspaces.iter().copied(), members);
    let alone = "keyspace a needs 2 of its 3 replicas and there is 1 member: start more nodes";
    assert_eq!(why(&[("a", 3)], 1).as_deref(), Some(alone));
    assert_eq!(why(&[("a", 3), ("b", 2)], 1).as_deref(), Some(alone));
    let two = "keyspace a needs 3 of its 4 replicas and there are 2 members: start more nodes";
    assert_eq!(why(&[("a", 4)], 2).as_deref(), Some(two));
    for (keyspaces, members) in [
        (&[][..], 0),
        (&[("a", 1)], 1),
        (&[("a", 3)], 2),
        (&[("a", 7), ("b", 3)], 3),
    ] {
        assert_eq!(why(keyspaces, members), None, "{keyspaces:?} {members}");
    }
}
