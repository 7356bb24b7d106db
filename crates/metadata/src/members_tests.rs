#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::node::NodeRecord;
use proptest::prelude::*;

fn node(id: u16) -> NodeRecord {
    NodeRecord {
        id,
        name: format!("n{id}"),
        http: "h:1".to_owned(),
        listen: "h:2".to_owned(),
        shards: 2,
        incarnation: 1,
    }
}

fn keyspace(id: u32, name: &str, replicas: u8) -> Keyspace {
    let settings = KeyspaceSettings {
        replicas,
        ..KeyspaceSettings::default()
    };
    Keyspace::new(id, name, settings)
}

fn topology(nodes: u16, ids: &[u16]) -> Topology {
    let members = Members {
        ids: ids.to_vec(),
        ..Members::default()
    };
    let topology = Topology {
        revision: 1,
        nodes: (1..=nodes).map(node).collect(),
        members,
        ..Topology::default()
    };
    topology.ordered()
}

/// What the stores do with a decision.
fn apply<T>(now: &mut Topology, decision: Result<Decision<T>, MetadataError>) -> Result<T, String> {
    let decision = decision.map_err(|error| error.to_string())?;
    now.nodes
        .retain(|node| !decision.forgotten.contains(&node.name));
    now.members = decision.members;
    Ok(decision.value)
}

fn names(now: &Topology) -> Vec<u16> {
    now.nodes.iter().map(|node| node.id).collect()
}

#[test]
fn a_cluster_forms_by_itself_up_to_the_most_replicas() {
    let mut now = topology(0, &[]);
    for id in 1..=5 {
        now.members = join(&now, id);
        now.nodes.push(node(id));
    }
    assert_eq!(now.members.ids, [1, 2, 3], "three while no keyspace says");
    now.keyspaces = vec![keyspace(1, "two", 2), keyspace(2, "four", 4)];
    assert_eq!(join(&now, 6).ids, [1, 2, 3, 6]);
    now.keyspaces.pop();
    assert_eq!(join(&now, 6).ids, [1, 2, 3]);
    now.members.ids = vec![3];
    assert_eq!(join(&now, 6).ids, [3, 6]);
    let change = begin(&now, vec![1, 3], Vec::new());
    apply(&mut now, change).unwrap();
    assert_eq!(join(&now, 6), now.members, "not during a change");
}

#[test]
fn nodes_from_before_there_were_members_all_are() {
    let record = |id, name: &str| NodeRecord {
        id,
        name: name.to_owned(),
        http: "h:1".to_owned(),
        listen: "h:2".to_owned(),
        shards: 1,
        incarnation: 1,
    };
    let now = Topology {
        revision: 7,
        nodes: vec![record(2, "b"), record(1, "a")],
        ..Topology::default()
    }
    .ordered();
    assert_eq!((now.revision, names(&now)), (7, vec![1, 2]));
    assert_eq!(
        now.members,
        Members {
            ids: vec![1, 2],
            change: None,
            changes: 0
        }
    );
    let five = topology(5, &[]);
    assert_eq!(five.members.ids, [1, 2, 3, 4, 5]);
    assert_eq!(join(&five, 6), five.members, "there are more than three");
    assert!(topology(0, &[]).members.ids.is_empty());
}

#[test]
fn members_are_written_as_documented() {
    let mut now = topology(4, &[1, 2, 3]);
    let text = |now: &Topology| serde_json::to_string(&now.members).unwrap();
    assert_eq!(text(&now), r#"{"ids":[1,2,3],"change":null,"changes":0}"#);
    let change = begin(&now, vec![4, 2, 1, 2], vec![3, 3]);
    apply(&mut now, change).unwrap();
    assert_eq!(
        text(&now),
        r#"{"ids":[1,2,3],"change":{"id":1,"to":[1,2,4],"dead":[3],"phase":"copy"},"changes":1}"#
    );
    let back: Topology = serde_json::from_str(&serde_json::to_string(&now).unwrap()).unwrap();
    assert_eq!(back, now);
}

#[test]
fn a_change_goes_phase_by_phase_and_forgets_the_dead_at_its_end() {
    let mut now = topology(5, &[1, 2, 3]);
    let begun = begin(&now, vec![1, 2, 4], vec![3, 5]);
    let change = apply(&mut now, begun).unwrap();
    assert_eq!(now.members.change.as_ref(), Some(&change));
    let phases = [Phase::Copy, Phase::Joint, Phase::Switch, Phase::Settle];
    for (at, from) in phases.into_iter().enumerate() {
        let held = now.members.change.as_ref().unwrap();
        assert_eq!((held.phase, &now.members.ids[..]), (from, &[1, 2, 3][..]));
        assert_eq!(names(&now), [1, 2, 3, 4, 5]);
        for later in &phases[at + 1..] {
            let early = advance(&now, change.id, *later);
            assert!(matches!(early, Err(MetadataError::NotYet { .. })));
        }
        for _ in 0..2 {
            let again = advance(&now, change.id, from);
            apply(&mut now, again).unwrap();
        }
    }
    assert_eq!(now.members.ids, [1, 2, 4]);
    assert_eq!(
        (now.members.change.as_ref(), now.members.changes),
        (None, 1)
    );
    assert_eq!(names(&now), [1, 2, 4]);
    for from in phases {
        assert!(!advance(&now, 1, from).unwrap().changes(&now));
    }
    // An old call does not move a newer change.
    let second = begin(&now, vec![4, 2, 1], Vec::new());
    assert!(matches!(second, Err(MetadataError::SameMembers)));
    now.nodes.push(node(6));
    let second = begin(&now, vec![2, 4, 6], Vec::new());
    assert_eq!(apply(&mut now, second).unwrap().id, 2);
    assert!(!advance(&now, 1, Phase::Copy).unwrap().changes(&now));
    for never in [0, 3] {
        assert_eq!(
            apply(&mut now.clone(), advance(&now, never, Phase::Copy)).unwrap_err(),
            format!("change {never} of the members has not come to phase copy")
        );
    }
}

#[test]
fn a_change_that_cannot_be_is_refused_with_the_reason() {
    let mut now = topology(5, &[1, 2, 3]);
    now.keyspaces = vec![keyspace(1, "small", 1), keyspace(2, "default", 3)];
    let mut refused = |to: &[u16], dead: &[u16]| {
        let begun = begin(&now, to.to_vec(), dead.to_vec());
        apply(&mut now, begun).unwrap_err()
    };
    assert_eq!(refused(&[], &[]), "members: at least one node");
    assert_eq!(refused(&[1, 2, 9], &[]), "no node 9 is registered");
    assert_eq!(refused(&[1, 2, 4], &[9]), "no node 9 is registered");
    assert_eq!(
        refused(&[1, 2, 4], &[4]),
        "node 4: cannot be dead and a member"
    );
    assert_eq!(
        refused(&[3, 1, 2], &[5]),
        "these nodes are the members already"
    );
    assert_eq!(
        refused(&[1, 2], &[3]),
        "keyspace default keeps 3 replicas and only 2 nodes would be left: add a node first"
    );
    assert!(refused(&[1], &[]).contains("only 1 node would be left"));

    let begun = begin(&now, vec![1, 2, 3, 4], Vec::new());
    apply(&mut now, begun).unwrap();
    let mut text = || {
        let again = begin(&now, vec![1, 2, 3, 5], Vec::new());
        let text = apply(&mut now, again).unwrap_err();
        let phase = now.members.change.as_ref().unwrap().phase;
        let next = advance(&now, 1, phase);
        apply(&mut now, next).unwrap();
        text
    };
    let under_way = "change 1 of the members is under way, in phase";
    let cancel = "wait until it has ended, or cancel it";
    assert_eq!(text(), format!("{under_way} copy: {cancel}"));
    assert_eq!(text(), format!("{under_way} joint: {cancel}"));
    assert_eq!(
        text(),
        format!("{under_way} switch: wait until it has ended")
    );
    assert_eq!(
        text(),
        format!("{under_way} settle: wait until it has ended")
    );

    let mut large = topology(200, &[1]);
    let dead = (2..=102).collect();
    let begun = begin(&large, vec![200], dead);
    assert_eq!(
        apply(&mut large, begun).unwrap_err(),
        "dead nodes: at most 100 in one change"
    );
}

#[test]
fn a_change_is_cancelled_only_while_reads_go_to_the_old_replicas() {
    let mut now = topology(4, &[1, 2, 3]);
    assert!(matches!(cancel(&now), Err(MetadataError::NoChange)));
    let begun = begin(&now, vec![1, 2, 4], vec![3]);
    apply(&mut now, begun).unwrap();
    for (phase, possible) in [
        (Phase::Copy, true),
        (Phase::Joint, true),
        (Phase::Switch, false),
        (Phase::Settle, false),
    ] {
        let mut at = now.clone();
        at.members.change.as_mut().unwrap().phase = phase;
        let cancelled = cancel(&at);
        match apply(&mut at, cancelled) {
            Ok(()) => {
                assert!(possible);
                let kept = (&at.members.ids[..], &at.members.change, at.members.changes);
                assert_eq!(kept, (&[1, 2, 3][..], &None, 1));
                assert_eq!(names(&at), [1, 2, 3, 4]);
                // Whoever still works on it is not told off.
                assert!(!advance(&at, 1, Phase::Joint).unwrap().changes(&at));
            }
            Err(text) => {
                assert!(!possible);
                assert_eq!(
                    text,
                    format!(
                        "change 1 of the members is in phase {phase}: too late to cancel, it will finish"
                    )
                );
            }
        }
    }
}

#[test]
fn a_node_that_dies_meanwhile_is_buried() {
    let mut now = topology(5, &[1, 2, 3]);
    assert!(matches!(bury(&now, 1), Err(MetadataError::NoChange)));
    let begun = begin(&now, vec![1, 2, 4], Vec::new());
    apply(&mut now, begun).unwrap();
    let refused = bury(&now, 4);
    assert_eq!(
        apply(&mut now, refused).unwrap_err(),
        "node 4 is to hold data after change 1: cancel that, and begin one without it"
    );
    assert!(matches!(
        bury(&now, 9),
        Err(MetadataError::UnknownNode { .. })
    ));
    for id in [5, 3, 5] {
        let buried = bury(&now, id);
        apply(&mut now, buried).unwrap();
    }
    for from in [Phase::Copy, Phase::Joint] {
        let next = advance(&now, 1, from);
        apply(&mut now, next).unwrap();
    }
    let buried = bury(&now, 4);
    apply(&mut now, buried).unwrap();
    assert_eq!(now.members.change.as_ref().unwrap().dead, [3, 4, 5]);
    for from in [Phase::Switch, Phase::Settle] {
        let next = advance(&now, 1, from);
        apply(&mut now, next).unwrap();
    }
    assert_eq!(now.members.ids, [1, 2, 4], "it is still a member");
    assert_eq!(names(&now), [1, 2, 4]);
}

#[test]
fn only_a_spare_node_is_forgotten() {
    let mut now = topology(5, &[1, 2, 3]);
    let text = |now: &Topology, name| apply(&mut now.clone(), forget(now, name)).unwrap_err();
    assert_eq!(text(&now, "n9"), "no node n9 is registered");
    assert_eq!(
        text(&now, "n1"),
        "node n1 is a member: take it out of the members first"
    );
    let begun = begin(&now, vec![1, 2, 4], vec![3]);
    apply(&mut now, begun).unwrap();
    for name in ["n1", "n3", "n4"] {
        assert_eq!(
            text(&now, name),
            format!("node {name} is part of change 1 of the members: wait until that has ended")
        );
    }
    let members = now.members.clone();
    let forgotten = forget(&now, "n5");
    apply(&mut now, forgotten).unwrap();
    assert_eq!((names(&now), now.members), (vec![1, 2, 3, 4], members));
}

#[derive(Debug, Clone)]
enum Step {
    Register,
    Keyspace(u8),
    Begin(Vec<u16>, Vec<u16>),
    Advance(u64, Phase),
    /// The call that is expected next, so that changes come to their end often enough.
    AdvanceNext,
    Cancel,
    Bury(u16),
    Forget(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let ids = |most| proptest::collection::vec(0u16..9, 0..most);
    let phase = prop_oneof![
        Just(Phase::Copy),
        Just(Phase::Joint),
        Just(Phase::Switch),
        Just(Phase::Settle)
    ];
    prop_oneof![
        3 => Just(Step::Register),
        1 => (1u8..5).prop_map(Step::Keyspace),
        6 => (ids(6), ids(3)).prop_map(|(to, dead)| Step::Begin(to, dead)),
        2 => (0u64..6, phase).prop_map(|(id, phase)| Step::Advance(id, phase)),
        6 => Just(Step::AdvanceNext),
        1 => Just(Step::Cancel),
        1 => (0u16..9).prop_map(Step::Bury),
        2 => (0u16..9).prop_map(Step::Forget),
    ]
}

fn take(now: &mut Topology, registered: &mut u16, step: Step) {
    // What is refused changes nothing, which is looked at afterwards.
    let _refused = match step {
        Step::Register => {
            *registered += 1;
            now.members = join(now, *registered);
            now.nodes.push(node(*registered));
            Ok(())
        }
        Step::Keyspace(replicas) => {
            now.keyspaces = vec![keyspace(1, "k", replicas)];
            Ok(())
        }
        Step::Begin(to, dead) => {
            let begun = begin(now, to, dead);
            apply(now, begun).map(|_| ())
        }
        Step::Advance(id, from) => {
            let advanced = advance(now, id, from);
            apply(now, advanced)
        }
        Step::AdvanceNext => match now.members.change.clone() {
            Some(change) => {
                let advanced = advance(now, change.id, change.phase);
                apply(now, advanced)
            }
            None => Ok(()),
        },
        Step::Cancel => {
            let cancelled = cancel(now);
            apply(now, cancelled)
        }
        Step::Bury(id) => {
            let buried = bury(now, id);
            apply(now, buried)
        }
        Step::Forget(id) => {
            let forgotten = forget(now, &format!("n{id}"));
            apply(now, forgotten)
        }
    };
}

fn ascends(ids: &[u16]) -> bool {
    ids.is_sorted_by(|a, b| a < b)
}

proptest! {
    #[test]
    fn members_are_always_sound(steps in proptest::collection::vec(step(), 0..120)) {
        let mut now = topology(0, &[]);
        let mut registered = 0;
        for step in steps {
            let before = now.members.clone();
            take(&mut now, &mut registered, step.clone());
            let after = &now.members;
            prop_assert!(before.ids.is_empty() || !after.ids.is_empty());
            prop_assert!(ascends(&after.ids));
            prop_assert!(after.ids.iter().all(|id| now.node(*id).is_some()));
            prop_assert!(after.changes - before.changes <= 1);
            if let Some(change) = &after.change {
                prop_assert!(!change.to.is_empty());
                prop_assert!(ascends(&change.to) && ascends(&change.dead));
                prop_assert_eq!(change.id, after.changes);
                prop_assert!(change.to.iter().chain(&change.dead).all(|id| now.node(*id).is_some()));
            }
            match (&before.change, &after.change) {
                (None, None) => prop_assert_eq!(before.changes, after.changes),
                (None, Some(begun)) => {
                    prop_assert_eq!(begun.phase, Phase::Copy);
                    prop_assert_eq!(begun.id, before.changes + 1);
                    prop_assert_eq!(&before.ids, &after.ids);
                }
                (Some(was), Some(is)) => {
                    prop_assert_eq!((was.id, &was.to), (is.id, &is.to));
                    prop_assert!(is.phase == was.phase || Some(is.phase) == was.phase.next());
                    prop_assert_eq!(&before.ids, &after.ids);
                }
                (Some(was), None) if after.ids == was.to => {
                    prop_assert_eq!(was.phase, Phase::Settle);
                    let kept = |id: &u16| was.to.contains(id) || now.node(*id).is_none();
                    prop_assert!(was.dead.iter().all(kept));
                }
                (Some(was), None) => {
                    prop_assert!(matches!(step, Step::Cancel) && was.phase <= Phase::Joint);
                    prop_assert_eq!(&before.ids, &after.ids);
                }
            }
        }
    }
}
