//! Metadata in a real etcd: races, outages, restarts.

use crate::common::*;
use dunlin_metadata::{Change, KeyspaceSettings, Members, Metadata, MetadataError, Phase};
use std::collections::BTreeSet;
use std::time::Instant;
use tokio::time::timeout;

async fn register(metadata: &Metadata, name: &str) -> (u16, u32) {
    let node = metadata
        .register(name, "127.0.0.1:1", "127.0.0.1:2", 2, 0)
        .await
        .unwrap();
    (node.id, node.incarnation)
}

/// Waits until a handle sees a keyspace.
async fn sees(metadata: &Metadata, keyspace: &str) {
    let mut topology = metadata.topology();
    let seen = topology.wait_for(|topology| topology.keyspace_named(keyspace).is_some());
    timeout(20 * SECOND, seen)
        .await
        .expect("not seen in time")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registrars_that_race_get_ids_and_incarnations_of_their_own() {
    let etcd = Member::start().await;
    let mut tasks = Vec::new();
    for registrar in 0..6 {
        let address = etcd.address();
        tasks.push(tokio::spawn(async move {
            let metadata = Metadata::etcd(&address, None, None).await.unwrap();
            let own = register(&metadata, &format!("n{registrar}")).await;
            let mut shared = Vec::new();
            for _ in 0..5 {
                shared.push(register(&metadata, "shared").await);
            }
            assert!(shared.is_sorted_by(|a, b| a < b), "{shared:?}");
            (own, shared)
        }));
    }
    let (mut ids, mut incarnations) = (BTreeSet::new(), BTreeSet::new());
    for task in tasks {
        let (own, shared) = task.await.unwrap();
        assert_eq!(own.1, 1);
        ids.insert(own.0);
        for (id, incarnation) in shared {
            ids.insert(id);
            assert!(
                incarnations.insert(incarnation),
                "{incarnation} was given twice"
            );
        }
    }
    assert_eq!(ids, (1..=7).collect());
    assert_eq!(incarnations, (1..=30).collect());
    let metadata = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    let node = metadata
        .register("shared", "h:1", "h:2", 4, 100)
        .await
        .unwrap();
    assert_eq!((node.incarnation, node.shards), (100, 4));
    let topology = metadata.topology().borrow().clone();
    assert_eq!(
        topology
            .nodes
            .iter()
            .map(|node| node.id)
            .collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7]
    );
    assert_eq!(
        topology.node(node.id),
        Some(&node),
        "a change is seen when its call returns"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keyspaces_are_made_once_and_their_ids_never_again() {
    let etcd = Member::start().await;
    let left = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    let right = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    let settings = KeyspaceSettings::default;
    let (a, b) = tokio::join!(
        left.create_keyspace("users", settings()),
        right.create_keyspace("users", settings()),
    );
    let (made, refused) = if a.is_ok() { (a, b) } else { (b, a) };
    assert_eq!(made.as_ref().unwrap().id, 1);
    assert_eq!(refused.unwrap_err().to_string(), "keyspace users exists");
    let (a, b) = tokio::join!(
        left.ensure_keyspace("logs", settings()),
        right.ensure_keyspace("logs", settings())
    );
    assert_eq!(a.unwrap(), b.unwrap());
    assert_eq!(
        left.ensure_keyspace("users", settings()).await.unwrap(),
        made.unwrap()
    );

    left.drop_keyspace("users", 1).await.unwrap();
    assert!(left.topology().borrow().keyspace_named("users").is_none());
    let gone = right.drop_keyspace("users", 1).await;
    assert!(matches!(gone, Err(MetadataError::NotFound { .. })));
    assert_eq!(
        right.create_keyspace("users", settings()).await.unwrap().id,
        3
    );
    sees(&left, "users").await;
    let invalid = left.create_keyspace("bad name", settings()).await;
    assert!(matches!(invalid, Err(MetadataError::Invalid { .. })));
}

#[tokio::test]
async fn without_etcd_the_topology_stands_and_with_it_the_watch_goes_on() {
    let mut etcd = Member::start().await;
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("topology.json");
    let metadata = Metadata::etcd(&etcd.address(), Some(cache.clone()), None)
        .await
        .unwrap();
    register(&metadata, "a").await;
    metadata
        .create_keyspace("before", KeyspaceSettings::default())
        .await
        .unwrap();
    let known = metadata.topology().borrow().clone();

    etcd.kill().await;
    let began = Instant::now();
    let refused = metadata
        .create_keyspace("during", KeyspaceSettings::default())
        .await;
    assert!(began.elapsed() < 4 * SECOND, "{:?}", began.elapsed());
    let refused = refused.unwrap_err();
    assert!(matches!(refused, MetadataError::Unavailable { .. }));
    let line = refused.to_string();
    assert!(
        line.contains(&etcd.address()) && !line.contains('\n'),
        "{line}"
    );
    assert!(
        line.contains("refused") || line.contains("no answer"),
        "{line}"
    );
    assert_eq!(*metadata.topology().borrow(), known);

    // A start meanwhile goes by the cache; without one it is refused, soon.
    let cold = Metadata::etcd(&etcd.address(), Some(cache), None)
        .await
        .unwrap();
    assert_eq!(*cold.topology().borrow(), known);
    let began = Instant::now();
    let nothing = Metadata::etcd(&etcd.address(), None, None)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(nothing, MetadataError::Unavailable { .. }),
        "{nothing}"
    );
    assert!(began.elapsed() < 4 * SECOND, "{:?}", began.elapsed());

    etcd.up().await;
    let other = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    assert_eq!(
        other.topology().borrow().keyspaces,
        known.keyspaces,
        "etcd kept it too"
    );
    other
        .create_keyspace("after", KeyspaceSettings::default())
        .await
        .unwrap();
    sees(&metadata, "after").await;
    sees(&cold, "after").await;
    assert_eq!(register(&metadata, "a").await, (1, 2));
}

#[tokio::test]
async fn an_etcd_that_lost_its_data_is_not_believed() {
    let mut etcd = Member::start().await;
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("topology.json");
    let metadata = Metadata::etcd(&etcd.address(), Some(cache.clone()), None)
        .await
        .unwrap();
    for _ in 0..5 {
        register(&metadata, "a").await;
    }
    let known = metadata.topology().borrow().clone();
    etcd.kill().await;
    etcd.wipe();
    etcd.up().await;
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(*metadata.topology().borrow(), known);
    let problems = metadata.problems().borrow().clone();
    assert!(problems[0].contains("is an old copy"), "{problems:?}");
    let again = Metadata::etcd(&etcd.address(), Some(cache.clone()), None)
        .await
        .unwrap();
    assert_eq!(*again.topology().borrow(), known);
    let refused = again
        .create_keyspace("x", KeyspaceSettings::default())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("restore"), "{refused}");
    std::fs::remove_file(&cache).unwrap();
    let accepted = Metadata::etcd(&etcd.address(), Some(cache), None)
        .await
        .unwrap();
    assert!(accepted.topology().borrow().nodes.is_empty());
}

#[tokio::test]
async fn one_bad_record_does_not_hide_the_others() {
    let etcd = Member::start().await;
    let metadata = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    let member = etcd.address().replace("etcd://", "http://");
    let mut client = etcd_client::Client::connect([member], None).await.unwrap();
    client.put("/dunlin/v1/nodes/bad", "{", None).await.unwrap();
    client.put("/dunlin/v1/other", "1", None).await.unwrap();
    register(&metadata, "good").await;
    let fresh = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    for handle in [&metadata, &fresh] {
        let topology = handle.topology().borrow().clone();
        assert_eq!(topology.nodes.len(), 1);
        assert_eq!(topology.nodes[0].name, "good");
    }
    let refused = metadata
        .register("bad", "h:1", "h:2", 1, 0)
        .await
        .unwrap_err();
    assert!(
        matches!(refused, MetadataError::Damaged { .. }),
        "{refused}"
    );
}

/// Waits until a handle sees members as they should be.
async fn sees_members(metadata: &Metadata, expected: impl Fn(&Members) -> bool) {
    let mut topology = metadata.topology();
    let seen = topology.wait_for(|topology| expected(&topology.members));
    timeout(20 * SECOND, seen)
        .await
        .expect("not seen in time")
        .unwrap();
}

fn is_in(change: &Change, phase: Option<Phase>) -> impl Fn(&Members) -> bool {
    let id = change.id;
    move |members| {
        let now = members.change.as_ref().map(|change| change.phase);
        members.changes == id && now == phase
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_forms_of_the_first_registrars_even_if_they_race() {
    let etcd = Member::start().await;
    let mut tasks = Vec::new();
    for registrar in 0..6 {
        let address = etcd.address();
        tasks.push(tokio::spawn(async move {
            let metadata = Metadata::etcd(&address, None, None).await.unwrap();
            register(&metadata, &format!("n{registrar}")).await.0
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let metadata = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    assert_eq!(metadata.topology().borrow().members.ids, [1, 2, 3]);
    assert_eq!(metadata.topology().borrow().nodes.len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_members_goes_through_once_whoever_asks() {
    let mut etcd = Member::start().await;
    let left = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    let right = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        register(&left, name).await;
    }
    let (a, b) = tokio::join!(
        left.begin_change(vec![1, 2, 4], vec![3]),
        right.begin_change(vec![1, 2, 5], vec![3])
    );
    let (change, refused) = if a.is_ok() { (a, b) } else { (b, a) };
    let (change, refused) = (change.unwrap(), refused.unwrap_err());
    assert!(
        matches!(refused, MetadataError::ChangeUnderWay { id: 1, .. }),
        "{refused}"
    );
    for handle in [&left, &right] {
        sees_members(handle, is_in(&change, Some(Phase::Copy))).await;
    }
    let mut from = Some(Phase::Copy);
    while let Some(phase) = from {
        if phase == Phase::Switch {
            let late = right.cancel_change().await;
            assert!(matches!(late, Err(MetadataError::TooLate { .. })));
            etcd.kill().await;
            etcd.up().await;
        }
        let (a, b) = tokio::join!(
            left.advance_change(change.id, phase),
            right.advance_change(change.id, phase)
        );
        a.and(b).unwrap();
        from = phase.next();
        for handle in [&left, &right] {
            sees_members(handle, is_in(&change, from)).await;
        }
    }
    let fresh = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    for handle in [&left, &right, &fresh] {
        let seen = handle.topology().borrow().clone();
        assert_eq!(seen.members.ids, change.to);
        assert_eq!(seen.node(3), None, "seen in the same moment");
    }
    assert_eq!(register(&left, "c").await, (6, 1), "it is new");
    assert_eq!(left.topology().borrow().members.ids, change.to);

    let second = right.begin_change(vec![1, 2, 6], vec![]).await.unwrap();
    assert_eq!(second.id, 2);
    left.bury_in_change(4).await.unwrap();
    left.cancel_change().await.unwrap();
    right.advance_change(2, Phase::Copy).await.unwrap();
    let members = left.topology().borrow().members.clone();
    assert_eq!((members.change, members.changes), (None, 2));
    assert_eq!(members.ids, change.to);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_never_forgotten_and_taken_in_at_once() {
    let etcd = Member::start().await;
    let left = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    let right = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    for name in ["a", "b", "c"] {
        register(&left, name).await;
    }
    for _ in 0..10 {
        let spare = register(&left, "spare").await.0;
        let (begun, forgotten) = tokio::join!(
            left.begin_change(vec![1, 2, spare], vec![]),
            right.forget_node("spare")
        );
        match (begun, forgotten) {
            (Ok(_), Err(MetadataError::InChange { .. })) => left.cancel_change().await.unwrap(),
            (Err(MetadataError::UnknownNode { .. }), Ok(())) => (),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn nodes_without_members_all_are_and_bad_members_are_not_guessed() {
    let etcd = Member::start().await;
    let metadata = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    for name in ["a", "b", "c", "d"] {
        register(&metadata, name).await;
    }
    assert_eq!(metadata.topology().borrow().members.ids, [1, 2, 3]);
    let member = etcd.address().replace("etcd://", "http://");
    let mut client = etcd_client::Client::connect([member], None).await.unwrap();
    let key = "/dunlin/v1/members";
    client.delete(key, None).await.unwrap();
    let fresh = Metadata::etcd(&etcd.address(), None, None).await.unwrap();
    assert_eq!(fresh.topology().borrow().members.ids, [1, 2, 3, 4]);
    register(&fresh, "e").await;
    sees_members(&metadata, |members| members.ids == [1, 2, 3, 4]).await;

    client.put(key, "{", None).await.unwrap();
    assert_eq!(register(&metadata, "a").await, (1, 2));
    let seen = metadata.topology().borrow().clone();
    assert_eq!(seen.members.ids, [1, 2, 3, 4], "the last that was sound");
    let refused = metadata.begin_change(vec![1, 2, 5], vec![]).await;
    assert!(matches!(refused, Err(MetadataError::Damaged { .. })));
    let refused = Metadata::etcd(&etcd.address(), None, None)
        .await
        .err()
        .unwrap();
    assert!(refused.to_string().contains("object members"), "{refused}");
}

async fn create(metadata: &Metadata, name: &str) {
    let settings = KeyspaceSettings::default();
    let created = metadata.create_keyspace(name, settings).await;
    created.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Waits until `metadata` names `member` among its problems, or does not.
async fn tells_of(metadata: &Metadata, member: &Member, is_told: bool) {
    let port = member.address().replace("etcd://", "http://");
    let mut problems = metadata.problems();
    let names = |lines: &std::sync::Arc<Vec<String>>| {
        lines.iter().any(|line| line.contains(&port)) == is_told
    };
    timeout(40 * SECOND, problems.wait_for(names))
        .await
        .unwrap_or_else(|_| panic!("{port} told of: not {is_told}"))
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_member_of_three_that_is_killed_or_frozen_is_missed_by_nobody() {
    let mut etcd = Member::cluster(3).await;
    let address = Member::address_of(&etcd);
    let old = Metadata::etcd(&address, None, None).await.unwrap();
    create(&old, "before").await;
    for (round, how) in ["killed", "frozen"].into_iter().enumerate() {
        for away in 0..3 {
            match how {
                "killed" => etcd[away].kill().await,
                _ => etcd[away].freeze(true),
            }
            // Where it led the others, these choose another leader first.
            etcd[(away + 1) % 3].wait().await;
            for number in 0..10 {
                create(&old, &format!("{how}-{away}-{number}")).await;
            }
            for number in 0..8 {
                let new = Metadata::etcd(&address, None, None).await;
                let new = new.unwrap_or_else(|error| panic!("{how} {away}: {error}"));
                register(&new, &format!("n{round}{away}{number}")).await;
            }
            tells_of(&old, &etcd[away], true).await;
            match how {
                "killed" => etcd[away].up().await,
                _ => etcd[away].freeze(false),
            }
            tells_of(&old, &etcd[away], false).await;
        }
    }
}
