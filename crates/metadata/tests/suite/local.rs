//! Metadata within one process.

use dunlin_metadata::{KeyspaceSettings, Metadata, MetadataError, Phase};

async fn register(metadata: &Metadata, name: &str) -> (u16, u32) {
    let node = metadata
        .register(name, "127.0.0.1:1", "127.0.0.1:2", 2, 0)
        .await
        .unwrap();
    (node.id, node.incarnation)
}

#[tokio::test]
async fn in_memory_changes_are_seen_by_all_clones() {
    let metadata = Metadata::in_memory();
    let mut topology = metadata.clone().topology();
    assert_eq!(topology.borrow_and_update().revision, 0);
    register(&metadata, "a").await;
    assert!(topology.has_changed().unwrap());
    let users = metadata
        .create_keyspace("users", KeyspaceSettings::default())
        .await
        .unwrap();
    let seen = topology.borrow_and_update().clone();
    assert_eq!(
        (seen.nodes.len(), seen.keyspace(users.id)),
        (1, Some(&users))
    );

    let again = metadata
        .create_keyspace("users", KeyspaceSettings::default())
        .await;
    assert!(matches!(again, Err(MetadataError::Exists { .. })));
    let other = KeyspaceSettings {
        replicas: 1,
        ..KeyspaceSettings::default()
    };
    assert_eq!(
        metadata
            .ensure_keyspace("users", other.clone())
            .await
            .unwrap(),
        users
    );
    assert!(
        !topology.has_changed().unwrap(),
        "nothing changed, nothing is told"
    );
    assert_eq!(
        metadata
            .ensure_keyspace("logs", other.clone())
            .await
            .unwrap()
            .settings,
        other
    );

    metadata.drop_keyspace("users", 1).await.unwrap();
    let gone = metadata.drop_keyspace("users", 1).await.unwrap_err();
    assert_eq!(gone.to_string(), "keyspace users does not exist");
    let back = metadata
        .create_keyspace("users", KeyspaceSettings::default())
        .await
        .unwrap();
    assert_eq!(back.id, 3);
}

#[tokio::test]
async fn an_embedded_store_is_found_again_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster/metadata.json");
    let before = {
        let metadata = Metadata::embedded(&path).unwrap();
        assert_eq!(register(&metadata, "a").await, (1, 1));
        assert_eq!(register(&metadata, "b").await, (2, 1));
        metadata
            .create_keyspace("x", KeyspaceSettings::default())
            .await
            .unwrap();
        metadata.drop_keyspace("x", 1).await.unwrap();
        metadata
            .create_keyspace("y", KeyspaceSettings::default())
            .await
            .unwrap();
        metadata.topology().borrow().clone()
    };
    let metadata = Metadata::embedded(&path).unwrap();
    assert_eq!(*metadata.topology().borrow(), before);
    assert_eq!(register(&metadata, "a").await, (1, 2));
    assert_eq!(register(&metadata, "c").await, (3, 1));
    metadata.drop_keyspace("y", 1).await.unwrap();
    drop(metadata);
    let metadata = Metadata::embedded(&path).unwrap();
    let id = metadata
        .create_keyspace("z", KeyspaceSettings::default())
        .await
        .unwrap()
        .id;
    assert_eq!(id, 3, "the ids of dropped keyspaces stay used");
}

#[tokio::test]
async fn a_second_opening_and_a_damaged_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.json");
    let metadata = Metadata::embedded(&path).unwrap();
    register(&metadata, "a").await;
    let locked = Metadata::embedded(&path).err().unwrap();
    assert!(matches!(locked, MetadataError::Locked { .. }), "{locked}");
    drop(metadata);

    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let damaged = Metadata::embedded(&path).err().unwrap();
    assert!(
        damaged.to_string().contains("metadata.json is damaged"),
        "{damaged}"
    );
    assert_eq!(
        std::fs::read(&path).unwrap(),
        &whole[..whole.len() / 2],
        "it is left alone"
    );
}

#[tokio::test]
async fn a_change_that_cannot_be_saved_has_not_happened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.json");
    let metadata = Metadata::embedded(&path).unwrap();
    register(&metadata, "a").await;
    let before = metadata.topology().borrow().clone();
    // The new content cannot be written where a folder is.
    let blocked = folder.path().join("metadata.json.new");
    std::fs::create_dir(&blocked).unwrap();
    let failed = metadata
        .create_keyspace("x", KeyspaceSettings::default())
        .await
        .unwrap_err();
    assert!(matches!(failed, MetadataError::Storage { .. }), "{failed}");
    assert_eq!(*metadata.topology().borrow(), before);
    std::fs::remove_dir(&blocked).unwrap();
    assert_eq!(
        metadata
            .create_keyspace("x", KeyspaceSettings::default())
            .await
            .unwrap()
            .id,
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registrations_at_once_never_share_an_incarnation() {
    let folder = tempfile::tempdir().unwrap();
    let metadata = Metadata::embedded(folder.path().join("metadata.json")).unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let metadata = metadata.clone();
            tokio::spawn(
                async move { register(&metadata, if n % 2 == 0 { "a" } else { "b" }).await },
            )
        })
        .collect();
    let mut given = Vec::new();
    for task in tasks {
        given.push(task.await.unwrap());
    }
    given.sort_unstable();
    let expected: Vec<_> = (1..=2)
        .flat_map(|id| (1..=10).map(move |n| (id, n)))
        .collect();
    assert_eq!(given, expected);
}

#[tokio::test]
async fn the_members_change_and_a_restart_finds_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.json");
    let begun = {
        let metadata = Metadata::embedded(&path).unwrap();
        for name in ["a", "b", "c", "d"] {
            register(&metadata, name).await;
        }
        let mut topology = metadata.clone().topology();
        assert_eq!(topology.borrow_and_update().members.ids, [1, 2, 3]);
        let refused = metadata.forget_node("c").await;
        assert!(matches!(refused, Err(MetadataError::IsMember { .. })));
        assert!(!topology.has_changed().unwrap());
        let begun = metadata.begin_change(vec![4, 2, 1], vec![3]).await.unwrap();
        assert_eq!(
            topology.borrow_and_update().members.change.as_ref(),
            Some(&begun)
        );
        let again = metadata.begin_change(vec![1, 2, 4], vec![]).await;
        assert!(matches!(
            again,
            Err(MetadataError::ChangeUnderWay {
                id: 1,
                phase: Phase::Copy
            })
        ));
        register(&metadata, "e").await;
        metadata.advance_change(1, Phase::Copy).await.unwrap();
        begun
    };
    let metadata = Metadata::embedded(&path).unwrap();
    let members = metadata.topology().borrow().members.clone();
    assert_eq!((&members.ids[..], members.changes), (&[1, 2, 3][..], 1));
    let change = members.change.unwrap();
    assert_eq!((change.phase, change.to), (Phase::Joint, begun.to));
    for from in [Phase::Joint, Phase::Switch, Phase::Settle] {
        metadata.advance_change(1, from).await.unwrap();
    }
    let ended = metadata.topology().borrow().clone();
    assert_eq!(ended.members.ids, [1, 2, 4]);
    assert_eq!(ended.node(3), None, "the dead are forgotten");
    assert_eq!(register(&metadata, "a").await, (1, 2));
    assert_eq!(register(&metadata, "c").await, (6, 1), "it is new");
    assert_eq!(metadata.topology().borrow().members, ended.members);
    metadata.forget_node("e").await.unwrap();
    assert_eq!(metadata.topology().borrow().node(5), None);
    let late = metadata.cancel_change().await;
    assert!(matches!(late, Err(MetadataError::NoChange)));
    let before = metadata.topology().borrow().clone();
    drop(metadata);
    let metadata = Metadata::embedded(&path).unwrap();
    assert_eq!(*metadata.topology().borrow(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn advances_at_once_advance_once() {
    let metadata = Metadata::in_memory();
    for name in ["a", "b", "c", "d"] {
        register(&metadata, name).await;
    }
    let change = metadata.begin_change(vec![1, 2, 4], vec![]).await.unwrap();
    let mut from = Some(Phase::Copy);
    while let Some(phase) = from {
        let before = metadata.topology().borrow().revision;
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let metadata = metadata.clone();
                tokio::spawn(async move { metadata.advance_change(change.id, phase).await })
            })
            .collect();
        for racer in racers {
            racer.await.unwrap().unwrap();
        }
        from = phase.next();
        let seen = metadata.topology().borrow().clone();
        assert_eq!(
            seen.members.change.as_ref().map(|change| change.phase),
            from
        );
        assert_eq!(seen.revision, before + 1);
    }
    assert_eq!(metadata.topology().borrow().members.ids, [1, 2, 4]);
}

#[tokio::test]
async fn a_file_from_before_there_were_members_makes_all_nodes_members() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.json");
    let node = |id: u16, name: &str| {
        format!(
            r#""{name}": {{"id": {id}, "name": "{name}", "http": "h:1", "listen": "h:2", "shards": 1, "incarnation": 4}}"#
        )
    };
    let nodes: Vec<_> = ["a", "b", "c", "d", "e"]
        .into_iter()
        .zip(1..)
        .map(|(name, id)| node(id, name))
        .collect();
    let old = format!(
        r#"{{"revision": 9, "counters": {{"node": 5, "keyspace": 0}}, "nodes": {{{}}}, "keyspaces": {{}}}}"#,
        nodes.join(", ")
    );
    std::fs::write(&path, old).unwrap();
    let metadata = Metadata::embedded(&path).unwrap();
    let all = [1, 2, 3, 4, 5];
    assert_eq!(metadata.topology().borrow().members.ids, all);
    assert_eq!(register(&metadata, "b").await, (2, 5));
    assert_eq!(metadata.topology().borrow().members.ids, all);
    assert_eq!(register(&metadata, "f").await, (6, 1));
    assert_eq!(
        metadata.topology().borrow().members.ids,
        all,
        "a sixth is spare"
    );
    drop(metadata);
    let metadata = Metadata::embedded(&path).unwrap();
    assert_eq!(metadata.topology().borrow().members.ids, all);
}
