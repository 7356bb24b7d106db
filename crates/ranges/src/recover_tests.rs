#![allow(clippy::unwrap_used)]
use super::*;
use crate::descriptor::{Change, Entry};
use dunlin_raftlog::Position;

fn at(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

/// Of a range whose replicas have the numbers of their nodes.
fn known(nodes: &[u16]) -> Descriptor {
    let members = nodes.iter();
    Descriptor::first(members.map(|node| (u64::from(*node), at(*node), 70 + u64::from(*node))))
}

fn replica(node: u16, last: (u64, u64), descriptor: &Descriptor) -> Survivor {
    Survivor {
        id: node.into(),
        directory: 70 + u64::from(node),
        votes: true,
        leads: false,
        last: Position {
            term: last.0,
            index: last.1,
        },
        applied: 1,
        descriptor: descriptor.clone(),
    }
}

fn survey(of: &[(u16, Holding)]) -> Survey {
    let of = of.iter().cloned();
    of.map(|(node, holding)| (at(node), holding)).collect()
}

#[test]
fn a_range_begins_again_with_what_is_left_once_nobody_can_lead_it() {
    let three = known(&[1, 2, 3]);
    let one = Holding::Replica(replica(1, (6, 20), &three));
    let two = Holding::Replica(replica(2, (7, 9), &three));
    let silent = Holding::Replica(Survivor {
        votes: false,
        ..replica(2, (7, 9), &three)
    });
    let leads = Holding::Replica(Survivor {
        leads: true,
        ..replica(1, (6, 20), &three)
    });
    let empty = Holding::Empty {
        id: 2,
        directory: 72,
    };
    let nothing = Holding::Nothing;
    let cases = [
        // Nodes that are gone are not in the survey.
        (vec![(1, one.clone())], Ok(())),
        (
            vec![(1, one.clone()), (2, nothing.clone()), (3, nothing.clone())],
            Ok(()),
        ),
        (vec![(1, one.clone()), (2, silent.clone())], Ok(())),
        (
            vec![(1, one.clone()), (2, Holding::Unknown)],
            Err(Refusal::NoAnswer(at(2))),
        ),
        (
            vec![(1, one.clone()), (2, two.clone())],
            Err(Refusal::CanElect(at(1))),
        ),
        // A vote is a vote also of one that has nothing.
        (
            vec![(1, one.clone()), (2, empty)],
            Err(Refusal::CanElect(at(1))),
        ),
        (
            vec![(1, leads.clone()), (2, nothing.clone())],
            Err(Refusal::Led(at(1))),
        ),
        (
            vec![(1, one.clone()), (2, two.clone()), (3, leads)],
            Err(Refusal::Led(at(3))),
        ),
    ];
    for (of, right) in cases {
        assert_eq!(lost(&survey(&of)), right, "{of:?}");
    }
    // Two of five cannot lead; the one whose last entry is of the newer term has more.
    let five = known(&[1, 2, 3, 4, 5]);
    let two_of_five = survey(&[
        (1, Holding::Replica(replica(1, (6, 20), &five))),
        (2, Holding::Replica(replica(2, (7, 9), &five))),
    ]);
    assert_eq!(best(&two_of_five), Some(at(2)));
    let basis = recover(&two_of_five, Keep::Node(1)).unwrap();
    assert_eq!(basis.keep, Some((at(1), 1, 71)));
    assert_eq!((basis.config, basis.next), (1, 6));
    assert_eq!(recover(&two_of_five, Keep::Node(3)), Err(Refusal::NotThere));
    let has = Err(Refusal::HasData(at(2)));
    assert_eq!(recover(&two_of_five, Keep::New), has);
}

#[test]
fn one_that_never_speaks_again_may_be_kept_and_nothing_begins_anew() {
    let three = known(&[1, 2, 3]);
    let silent = |node| {
        Holding::Replica(Survivor {
            votes: false,
            ..replica(node, (6, 20), &three)
        })
    };
    let copies = survey(&[(1, silent(1)), (2, silent(2)), (3, silent(3))]);
    assert_eq!(best(&copies), Some(at(1)));
    let kept = recover(&copies, Keep::Node(3)).unwrap().keep;
    assert_eq!(kept, Some((at(3), 3, 73)));
    let empty = Holding::Empty {
        id: 8,
        directory: 1,
    };
    let nothing = survey(&[(1, Holding::Nothing), (2, empty)]);
    let basis = recover(&nothing, Keep::New).unwrap();
    assert_eq!((basis.keep, basis.next), (None, 9));
}

#[test]
fn both_majorities_of_two_configurations_are_needed_to_lead() {
    let mut now = known(&[1, 2, 3]);
    for change in [
        Change::AddLearner {
            id: 4,
            at: at(4),
            directory: 74,
        },
        Change::Enter {
            add: vec![4],
            remove: vec![1],
        },
    ] {
        let config = now.config;
        now = now.with(&Entry { config, change }).unwrap();
    }
    let of = |nodes: &[u16]| {
        let replicas = nodes.iter();
        survey(
            &replicas
                .map(|node| (*node, Holding::Replica(replica(*node, (6, 20), &now))))
                .collect::<Vec<_>>(),
        )
    };
    // A majority of the new ones alone, and of the old ones alone.
    assert_eq!(lost(&of(&[2, 4])), Ok(()));
    assert_eq!(lost(&of(&[1, 2])), Ok(()));
    assert_eq!(lost(&of(&[2, 3])), Err(Refusal::CanElect(at(2))));
    assert_eq!(lost(&of(&[1, 2, 4])), Err(Refusal::CanElect(at(1))));
}
