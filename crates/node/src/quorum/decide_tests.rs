#![allow(clippy::unwrap_used, clippy::expect_used)]
use bytes::Bytes;
use dunlin_entry::{Origin, Stamp, Version};

use super::*;

fn shard(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

fn item(version: u64) -> Item {
    Item {
        key: Bytes::new(),
        stamp: Stamp {
            version: Version(version),
            origin: Origin(1),
        },
        from: 3,
        tombstone: false,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        logged: None,
        value: Bytes::from(version.to_string()),
    }
}

#[test]
fn defaults_are_a_majority_of_the_replicas() {
    assert_eq!(
        Quorum::choose(None, None, 3, 5),
        Ok(Quorum { ack: 2, from: 3 })
    );
    assert_eq!(
        Quorum::choose(None, Some(5), 3, 5),
        Ok(Quorum { ack: 3, from: 5 })
    );
    assert_eq!(
        Quorum::choose(Some(1), None, 3, 1),
        Ok(Quorum { ack: 1, from: 3 })
    );
    // The first node of three that start together knows of no other yet.
    assert_eq!(
        Quorum::choose(Some(2), Some(3), 3, 1),
        Ok(Quorum { ack: 2, from: 3 })
    );
}

#[test]
fn contradictions_are_named() {
    assert_eq!(Quorum::choose(Some(0), None, 3, 3), Err(QuorumError::NoAck));
    assert_eq!(
        Quorum::choose(Some(4), Some(3), 3, 3),
        Err(QuorumError::AckAboveFrom { ack: 4, from: 3 })
    );
    assert_eq!(
        Quorum::choose(None, Some(4), 3, 3),
        Err(QuorumError::FromAboveNodes {
            from: 4,
            replicas: 3,
            nodes: 3
        })
    );
    assert!(Quorum::choose(None, Some(4), 4, 1).is_ok());
    assert!(Quorum::choose(None, Some(0), 3, 3).is_err());
}

#[test]
fn this_shard_comes_first_and_the_unreachable_last() {
    let replicas = [shard(1), shard(2), shard(3), shard(4)];
    let order = try_order(&replicas, shard(3), 1, |r| r != shard(1));
    assert_eq!(order, [shard(3), shard(4), shard(2), shard(1)]);
    let order = try_order(&replicas, shard(9), 0, |_| true);
    assert_eq!(order, replicas);
}

#[test]
fn the_newest_answer_wins_and_the_others_are_stale() {
    let mut answers = Answers::default();
    assert!(answers.add(shard(1), ReadAnswer::Value(item(5))));
    assert!(answers.add(shard(2), ReadAnswer::Same));
    assert!(answers.stale().is_empty() && answers.agree());
    assert!(answers.add(shard(3), ReadAnswer::Value(item(7))));
    assert!(answers.add(shard(4), ReadAnswer::Absent));
    assert!(!answers.add(shard(5), ReadAnswer::Unknown));
    assert_eq!(answers.newest().unwrap().stamp.version, Version(7));
    assert_eq!(answers.stale(), [shard(1), shard(2), shard(4)]);
    assert!(!answers.agree());
    assert_eq!(answers.count(), 4);
    assert_eq!(answers.into_newest().unwrap().stamp.version, Version(7));
}

/// Old replicas 1 to 3, new ones 3 to 5, where a change is under way.
#[test]
fn what_is_shown_is_where_the_next_readers_look() {
    let (old, new, none) = ([1, 2, 3], [3, 4, 5], []);
    // Needed of each set, those that are read, the others, who has it: lacking of each, who is asked.
    type Case<'a> = (
        usize,
        &'a [u16],
        &'a [u16],
        &'a [u16],
        (usize, usize),
        &'a [u16],
    );
    let table: [Case; 13] = [
        // No change under way, or one that copies: those who answered agree, or not.
        (2, &old, &none, &[1, 2], (0, 0), &[]),
        (2, &old, &none, &[1], (1, 0), &[1, 2, 3]),
        (3, &old, &none, &[1, 2], (1, 0), &[1, 2, 3]),
        // Joint: the old agree on a write under way that the new have not got.
        (2, &old, &new, &[1, 2], (0, 2), &[3, 4, 5]),
        (2, &old, &new, &[2, 3], (0, 1), &[3, 4, 5]),
        (2, &old, &new, &[2, 3, 5], (0, 0), &[]),
        (2, &old, &new, &[1, 4, 5], (1, 0), &[1, 2, 3]),
        (2, &old, &new, &[1, 4], (1, 1), &[1, 2, 3, 3, 4, 5]),
        (3, &old, &new, &[1, 2, 3], (0, 2), &[3, 4, 5]),
        // Switch: who has not heard of it yet reads the old.
        (2, &new, &old, &[4, 5], (0, 2), &[1, 2, 3]),
        (2, &new, &old, &[3, 4], (0, 1), &[1, 2, 3]),
        // The other set has fewer than are needed.
        (3, &old, &[4, 5], &[1, 2, 3, 4], (0, 1), &[4, 5]),
        // One who is in neither set counts for none.
        (2, &new, &none, &[1, 2, 3], (1, 0), &[3, 4, 5]),
    ];
    let shards = |nodes: &[u16]| -> Vec<ShardAddress> { nodes.iter().map(|n| shard(*n)).collect() };
    for (need, replicas, also, have, lacking, asked) in table {
        let case = format!("{need} of {replicas:?} and {also:?}, {have:?} have it");
        let (replicas, also) = (shards(replicas), shards(also));
        let found = Lacking::of(need, &replicas, &also, &shards(have));
        assert_eq!((found.of_replicas, found.of_also), lacking, "{case}");
        assert_eq!(found.is_nothing(), lacking == (0, 0), "{case}");
        let whom: Vec<ShardAddress> = found.whom_to_ask(&replicas, &also).collect();
        assert_eq!(whom, shards(asked), "{case}");
    }
}
