#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::dropped::Dropped;
use crate::keyspace::{Keyspace, KeyspaceSettings};
use crate::members::Members;
use crate::node::NodeRecord;

fn keyspace(id: u32, name: &str) -> Keyspace {
    Keyspace::new(id, name, KeyspaceSettings::default())
}

/// What n1, n2 and n3 know at a revision.
fn known(revision: u64) -> Topology {
    let nodes = (1..=3).map(|id| NodeRecord {
        id,
        name: format!("n{id}"),
        http: "h:1".to_owned(),
        listen: "h:2".to_owned(),
        shards: 1,
        incarnation: 4,
    });
    let topology = Topology {
        cluster: Some(Cluster::new(7)),
        revision,
        nodes: nodes.collect(),
        keyspaces: vec![keyspace(1, "a"), keyspace(2, "b")],
        members: Members {
            ids: vec![1, 2, 3],
            ..Members::default()
        },
        ..Topology::default()
    };
    topology.ordered()
}

fn report(node: &str, topology: Topology) -> Report {
    Report {
        node: node.to_owned(),
        topology,
        problems: vec!["it is lost".to_owned()],
        incarnations: BTreeMap::new(),
        keyspace: 0,
        has_users: true,
    }
}

fn restored(reports: &[Report]) -> Topology {
    let store = Objects::at(60);
    let (topology, puts) = plan(reports, &store, false, &Cluster::new(9)).unwrap();
    // Nodes believe what is written.
    let mut written = store;
    written.apply(&puts);
    for report in reports {
        match accept(&report.topology, None, &written) {
            Verdict::Accept(seen, problems) => {
                assert_eq!(problems, [""; 0]);
                assert_eq!(seen.order(), (topology.order().0, 61));
                assert_eq!(seen.keyspaces, topology.keyspaces);
                assert_eq!(seen.nodes, topology.nodes);
            }
            Verdict::Refuse(refusal) => panic!("{refusal}"),
        }
    }
    topology
}

#[test]
fn the_newest_counts_and_numbers_go_on_above_all_that_was_seen() {
    let mut newest = known(20);
    newest.keyspaces.remove(1);
    newest.dropped = vec![Dropped {
        keyspace: keyspace(2, "b"),
        dropped_ms: 1,
        purged: false,
    }];
    let mut one = report("n1", newest.clone());
    one.incarnations = BTreeMap::from([(1, 3), (2, 9)]);
    one.keyspace = 11;
    let mut two = report("n2", known(12));
    two.topology.counters.node = 5;
    let back = restored(&[two, one]);
    assert_eq!(back.cluster.as_ref().unwrap().restores, 1);
    let incarnations: Vec<_> = back.nodes.iter().map(|node| node.incarnation).collect();
    assert_eq!(incarnations, [4, 9, 4]);
    assert_eq!((back.counters.node, back.counters.keyspace), (5, 11));
    assert_eq!(back.dropped, newest.dropped, "b does not come back");
}

#[test]
fn what_one_has_purged_stays_purged_and_what_one_alone_knows_is_kept() {
    let mut newest = known(20);
    newest.keyspaces.remove(1);
    let drop = |purged| Dropped {
        keyspace: keyspace(2, "b"),
        dropped_ms: 1,
        purged,
    };
    newest.dropped = vec![drop(false)];
    let mut other = known(19);
    other.keyspaces = vec![keyspace(1, "a"), keyspace(5, "only")];
    other.dropped = vec![drop(true)];
    let back = restored(&[report("n1", newest), report("n2", other)]);
    assert!(back.dropped[0].purged);
    assert!(back.keyspace_named("only").is_some());
}

#[test]
fn a_second_restore_is_newer_than_the_first() {
    let mut back = known(3);
    back.cluster.as_mut().unwrap().restores = 1;
    let reports = [report("n1", known(90)), report("n2", back)];
    let order = restored(&reports).order();
    assert_eq!(order, (2, 3));
}

#[test]
fn without_a_majority_of_the_members_it_takes_force() {
    let one = [report("n1", known(20))];
    let store = Objects::at(60);
    let fresh = Cluster::new(9);
    let refused = plan(&one, &store, false, &fresh).unwrap_err();
    assert!(
        matches!(&refused, RestoreError::NoMajority { reached: 1, of: 3, missing } if missing.len() == 2),
        "{refused}"
    );
    assert!(plan(&one, &store, true, &fresh).is_ok());
    let none = plan(&[], &store, true, &fresh).unwrap_err();
    assert!(matches!(none, RestoreError::NoReports));
}

#[test]
fn a_store_that_is_whole_or_anothers_is_left_alone() {
    let reports = ["n1", "n2"].map(|node| report(node, known(20)));
    let fresh = Cluster::new(9);
    let write = |topology: &Topology, revision| {
        let mut store = Objects::at(revision);
        store.apply(&objects(topology).unwrap());
        store
    };
    let refused = plan(&reports, &write(&known(0), 30), true, &fresh).unwrap_err();
    assert!(matches!(refused, RestoreError::Healthy { .. }), "{refused}");
    let mut other = known(0);
    other.cluster = Some(Cluster::new(8));
    let refused = plan(&reports, &write(&other, 3), true, &fresh).unwrap_err();
    assert!(
        matches!(refused, RestoreError::OtherCluster { .. }),
        "{refused}"
    );
    // An old copy is replaced, and what is in it beside goes.
    let mut old = write(&known(0), 3);
    old.apply(&[(node_key("gone"), Some(b"{}".to_vec()))]);
    let (_, puts) = plan(&reports, &old, false, &fresh).unwrap();
    assert!(puts.contains(&(node_key("gone"), None)));
    let mixed = [report("n1", known(20)), report("n2", other)];
    let refused = plan(&mixed, &Objects::at(3), true, &fresh).unwrap_err();
    assert!(
        matches!(refused, RestoreError::TwoClusters { .. }),
        "{refused}"
    );
}

#[test]
fn a_cluster_without_an_id_gets_one() {
    let mut legacy = known(20);
    legacy.cluster = None;
    let reports = ["n1", "n2"].map(|node| report(node, legacy.clone()));
    let back = restored(&reports);
    assert_eq!(back.cluster.unwrap().id, Cluster::new(9).id);
    let mut store = Objects::at(3);
    store.apply(&objects(&known(3)).unwrap());
    let is_theirs = plan(&reports, &store, true, &Cluster::new(9));
    assert!(matches!(is_theirs, Err(RestoreError::OtherCluster { .. })));
}

#[test]
fn whoever_saw_a_drop_taken_back_counts_before_a_newer_copy_that_did_not() {
    let mut back = known(20);
    back.keyspaces[0].undrops = 1;
    // A node that was away believed an old copy, and wrote to it.
    let mut fooled = known(40);
    let keyspace = fooled.keyspaces.remove(0);
    fooled.dropped = vec![Dropped {
        keyspace,
        dropped_ms: 1,
        purged: true,
    }];
    let topology = restored(&[report("n1", back.clone()), report("n3", fooled)]);
    assert_eq!(topology.keyspaces, back.keyspaces);
    assert_eq!(topology.dropped, []);
}

#[test]
fn nodes_that_miss_nothing_are_not_given_another_store() {
    let whole = |node: &str| Report {
        problems: vec![],
        ..report(node, known(20))
    };
    let both = [whole("n1"), whole("n2")];
    let (empty, fresh) = (Objects::at(3), Cluster::new(9));
    let error = plan(&both, &empty, false, &fresh).unwrap_err();
    assert!(matches!(error, RestoreError::NotLost { .. }), "{error}");
    assert!(plan(&both, &empty, true, &fresh).is_ok());
    // One of them believes an old copy, the other does not.
    let one = [whole("n1"), report("n2", known(20))];
    assert!(plan(&one, &empty, false, &fresh).is_ok());
}

fn users(changes: u64, closed: bool) -> crate::access::Access {
    crate::access::Access {
        changes,
        closed,
        ..Default::default()
    }
}

#[test]
fn users_are_put_back_by_the_greatest_number_and_never_without_having_been_told() {
    let mut marked = known(9);
    marked.cluster.as_mut().unwrap().closed = true;
    let mut reports: Vec<Report> = ["n1", "n2", "n3"]
        .iter()
        .map(|name| report(name, marked.clone()))
        .collect();
    for (report, access) in
        reports
            .iter_mut()
            .zip([users(4, false), users(4, true), users(3, false)])
    {
        report.topology.access = access;
    }
    // The newest topology is not the one whose users count.
    reports[2].topology.revision = 10;
    let empty = Objects::at(1);
    let (restored, puts) = plan(&reports, &empty, false, &Cluster::new(1)).unwrap();
    assert_eq!(restored.access, users(4, true));
    assert!(restored.cluster.unwrap().closed);
    assert!(
        puts.iter()
            .any(|(key, value)| key == ACCESS && value.is_some())
    );
    reports[1].has_users = false;
    let refused = plan(&reports, &empty, true, &Cluster::new(1)).unwrap_err();
    assert!(
        matches!(refused, RestoreError::NoUsers { ref node } if node == "n2"),
        "{refused}"
    );
}
