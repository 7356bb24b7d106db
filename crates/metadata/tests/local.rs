//! Metadata within one process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
use dunlin_metadata::{KeyspaceSettings, Metadata, MetadataError};

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

    metadata.drop_keyspace("users").await.unwrap();
    let gone = metadata.drop_keyspace("users").await.unwrap_err();
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
        metadata.drop_keyspace("x").await.unwrap();
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
    metadata.drop_keyspace("y").await.unwrap();
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
