#![allow(clippy::unwrap_used)]
use dunlin_proto::ShardAddress;

use super::*;

const fn at(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 1 }
}

fn three() -> Descriptor {
    Descriptor::first([(1, at(1), 71), (2, at(2), 72), (3, at(3), 73)])
}

fn with(descriptor: &Descriptor, change: Change) -> Option<Descriptor> {
    let entry = Entry {
        config: descriptor.config,
        change,
    };
    assert_eq!(Entry::decode(entry.encode()), Ok(entry.clone()));
    let with = descriptor.with(&entry)?;
    assert_eq!(with.config, descriptor.config + 1);
    assert_eq!(Descriptor::decode(with.encode()), Ok(with.clone()));
    Some(with)
}

fn learner(id: u64) -> Change {
    Change::AddLearner {
        id,
        at: at(2),
        directory: 70 + id,
    }
}

fn enter(add: &[u64], remove: &[u64]) -> Change {
    Change::Enter {
        add: add.into(),
        remove: remove.into(),
    }
}

fn voters(descriptor: &Descriptor) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let state = descriptor.conf_state();
    (state.voters, state.voters_outgoing, state.learners)
}

#[test]
fn a_lost_replica_is_replaced_by_another_of_a_new_number() {
    let learns = with(&three(), learner(4)).unwrap();
    assert_eq!(voters(&learns), (vec![1, 2, 3], vec![], vec![4]));
    assert_eq!(learns.next, 5);
    let joint = with(&learns, enter(&[4], &[2])).unwrap();
    assert_eq!(voters(&joint), (vec![1, 3, 4], vec![1, 2, 3], vec![]));
    assert!(joint.is_joint());
    let left = with(&joint, Change::Leave).unwrap();
    assert_eq!(voters(&left), (vec![1, 3, 4], vec![], vec![]));
    assert!(!left.is_joint() && left.member(2).is_none());
}

#[test]
fn one_change_alone_needs_no_two_configurations() {
    let learns = with(&three(), learner(4)).unwrap();
    let four = with(&learns, enter(&[4], &[])).unwrap();
    assert_eq!(voters(&four), (vec![1, 2, 3, 4], vec![], vec![]));
    let again = with(&four, enter(&[], &[2])).unwrap();
    assert_eq!(voters(&again), (vec![1, 3, 4], vec![], vec![]));
    let without = with(&learns, Change::Remove(4)).unwrap();
    assert_eq!(voters(&without), (vec![1, 2, 3], vec![], vec![]));
    assert_eq!(without.next, 5, "its number is not given again");
}

#[test]
fn a_newer_target_is_followed_once() {
    let follow = |target, leader| Change::Follow { target, leader };
    let follows = with(&three(), follow(2, 1)).unwrap();
    assert_eq!((follows.target, follows.config), (2, 2));
    assert_eq!(voters(&follows), voters(&three()));
    // A change made for the target before does not count any more.
    let late = Entry {
        config: 1,
        change: learner(4),
    };
    assert_eq!(follows.with(&late), None);
    for (target, leader) in [(2, 1), (1, 1), (3, 9)] {
        assert_eq!(with(&follows, follow(target, leader)), None);
    }
    let learns = with(&three(), learner(4)).unwrap();
    assert_eq!(with(&learns, follow(1, 4)), None);
}

#[test]
fn what_makes_no_sense_changes_nothing() {
    let (three, learns) = (three(), with(&three(), learner(4)).unwrap());
    let joint = with(&learns, enter(&[4], &[2])).unwrap();
    for (descriptor, change) in [
        (&three, learner(3)),
        (&three, learner(5)),
        (&three, Change::Remove(3)),
        (&three, Change::Leave),
        (&three, enter(&[], &[])),
        (&three, enter(&[4], &[2])),
        (&three, enter(&[1], &[2])),
        (&learns, enter(&[4], &[4])),
        (&learns, enter(&[4], &[9])),
        (&joint, learner(5)),
        (&joint, enter(&[], &[1])),
        (&joint, Change::Remove(4)),
    ] {
        assert_eq!(with(descriptor, change.clone()), None, "{change:?}");
    }
    let alone = Descriptor::first([(1, at(1), 71)]);
    assert_eq!(with(&alone, enter(&[], &[1])), None);
    // Made for another configuration.
    let late = Entry {
        config: 1,
        change: enter(&[4], &[2]),
    };
    assert_eq!(learns.with(&late), None);
}

/// `raft` itself comes to the same configurations.
#[test]
fn raft_makes_of_each_change_what_the_descriptor_does() {
    let storage = raft::storage::MemStorage::new_with_conf_state((vec![1, 2, 3], vec![]));
    let config = raft::Config::new(1);
    let logger = slog::Logger::root(slog::Discard, slog::o!());
    let mut node = raft::RawNode::new(&config, storage, &logger).unwrap();
    let mut descriptor = three();
    for change in [
        learner(4),
        Change::Follow {
            target: 7,
            leader: 1,
        },
        Change::Remove(4),
        learner(5),
        enter(&[5], &[2]),
        Change::Leave,
        learner(6),
        learner(7),
        enter(&[6, 7], &[]),
        Change::Leave,
        enter(&[], &[3]),
    ] {
        let entry = Entry {
            config: descriptor.config,
            change,
        };
        descriptor = descriptor.with(&entry).unwrap();
        let mut state = node.apply_conf_change(&entry.conf_change()).unwrap();
        for ids in [
            &mut state.voters,
            &mut state.voters_outgoing,
            &mut state.learners,
        ] {
            ids.sort_unstable();
        }
        assert_eq!(state, descriptor.conf_state(), "{entry:?}");
    }
}

#[test]
fn bytes_that_are_none_are_refused() {
    let bytes = three().encode();
    for end in 0..bytes.len() {
        assert_eq!(Descriptor::decode(bytes.slice(..end)), Err(Unreadable));
    }
    assert_eq!(
        Descriptor::decode([&bytes[..], &[0]].concat().into()),
        Err(Unreadable)
    );
    assert_eq!(Entry::decode(Bytes::from_static(&[0; 8])), Err(Unreadable));
    assert_eq!(Entry::decode(Bytes::from_static(&[0; 9])), Err(Unreadable));
}
