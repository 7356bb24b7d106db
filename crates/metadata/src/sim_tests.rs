#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::keyspace::KeyspaceSettings;

async fn register(metadata: &Metadata, name: &str) -> u32 {
    let node = metadata.register(name, "h:1", "h:2", 1, 0).await.unwrap();
    node.incarnation
}

async fn create(metadata: &Metadata, name: &str) -> Result<u32, MetadataError> {
    let made = metadata
        .create_keyspace(name, KeyspaceSettings::default())
        .await;
    made.map(|keyspace| keyspace.id)
}

fn names(metadata: &Metadata) -> Vec<String> {
    let topology = metadata.topology().borrow().clone();
    topology.keyspaces.iter().map(|k| k.name.clone()).collect()
}

#[tokio::test]
async fn nodes_hear_of_changes_when_they_are_due() {
    let store = SimStore::new(1);
    let (a, b) = (store.metadata("a"), store.metadata("b"));
    register(&a, "a").await;
    store.delay("b", 2);
    create(&a, "x").await.unwrap();
    create(&b, "y").await.unwrap();
    assert_eq!(names(&a), ["x", "y"]);
    store.step();
    assert!(names(&b).is_empty());
    store.step();
    assert_eq!(names(&b), ["x", "y"]);
    // In their order, even when it is late no more.
    create(&a, "z").await.unwrap();
    store.delay("b", 0);
    create(&a, "w").await.unwrap();
    assert_eq!(names(&b).len(), 2);
    store.step();
    store.step();
    assert_eq!(names(&b).len(), 4);
}

#[tokio::test]
async fn a_node_that_is_cut_off_goes_by_its_cache_even_if_it_starts_anew() {
    let store = SimStore::new(1);
    let (a, b) = (store.metadata("a"), store.metadata("b"));
    register(&a, "a").await;
    create(&a, "x").await.unwrap();
    store.cut("b", true);
    create(&a, "y").await.unwrap();
    assert_eq!(names(&b), ["x"]);
    let refused = create(&b, "z").await.unwrap_err();
    assert!(matches!(refused, MetadataError::Unavailable { .. }));
    let b = store.metadata("b");
    assert_eq!(
        (names(&b), b.problems().borrow().len()),
        (vec!["x".to_owned()], 1)
    );
    store.cut("b", false);
    assert_eq!((names(&b).len(), b.problems().borrow().len()), (2, 0));
    store.forget_cache("b");
    store.cut("b", true);
    assert!(names(&store.metadata("b")).is_empty());
}

#[tokio::test]
async fn a_store_that_was_wiped_or_is_an_old_copy_is_not_believed() {
    for trusts in [false, true] {
        let store = SimStore::new(1);
        let store = if trusts { store.trusting_all() } else { store };
        let a = store.metadata("a");
        register(&a, "a").await;
        create(&a, "x").await.unwrap();
        let copy = store.save();
        assert_eq!(register(&a, "a").await, 2);
        create(&a, "y").await.unwrap();
        store.wipe();
        store.write_foreign(50);
        assert_eq!(names(&a).is_empty(), trusts);
        let again = store.metadata("a");
        assert_eq!(names(&again).is_empty(), trusts);
        store.put_back(&copy);
        store.write_foreign(50);
        assert_eq!(names(&again).len(), if trusts { 1 } else { 2 });
        let made = create(&again, "z").await;
        assert_eq!(made.is_ok(), trusts, "{made:?}");
        if !trusts {
            assert!(matches!(made, Err(MetadataError::Refused { .. })));
            assert_eq!(again.problems().borrow().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_raw_deletion_changes_nothing_and_a_drop_can_be_taken_back_until_it_is_purged() {
    let store = SimStore::new(1);
    let a = store.metadata("a");
    register(&a, "a").await;
    let id = create(&a, "x").await.unwrap();
    store.write_raw("keyspaces/x", None);
    assert_eq!((names(&a).len(), a.problems().borrow().len()), (1, 1));
    // An operator agrees to its being gone.
    a.drop_keyspace("x", 5).await.unwrap();
    assert_eq!((names(&a).len(), a.problems().borrow().len()), (0, 0));
    let back = a.undrop_keyspace("x").await.unwrap();
    assert_eq!((back.id, back.undrops), (id, 1));
    assert_eq!(names(&a), ["x"]);
    let error = a.undrop_keyspace("x").await.unwrap_err();
    assert!(matches!(error, MetadataError::NotDropped { .. }));
    a.drop_keyspace("x", 6).await.unwrap();
    assert_eq!(create(&a, "x").await.unwrap(), id + 1, "no id comes again");
    let error = a.undrop_keyspace("x").await.unwrap_err();
    assert!(matches!(error, MetadataError::NameTaken { .. }));
    let seen = a.topology().borrow().dropped(id).unwrap().clone();
    assert!(a.purge_keyspace(&seen).await.unwrap());
    let error = a.undrop_keyspace("x").await.unwrap_err();
    assert!(matches!(error, MetadataError::Purged { .. }));
}

#[tokio::test]
async fn a_lost_store_is_put_back_from_what_nodes_know() {
    let store = SimStore::new(1);
    let handles = ["a", "b", "c"].map(|name| store.metadata(name));
    for (handle, name) in handles.iter().zip(["a", "b", "c"]) {
        register(handle, name).await;
    }
    create(&handles[0], "x").await.unwrap();
    store.cut("c", true);
    create(&handles[0], "y").await.unwrap();
    store.wipe();
    store.write_foreign(50);
    let report = |name| store.report(name).unwrap();
    assert!(store.restore(&[report("c")], false).is_err());
    store.restore(&[report("c"), report("b")], false).unwrap();
    store.cut("c", false);
    for handle in &handles {
        assert_eq!(names(handle), ["x", "y"]);
        assert_eq!(handle.problems().borrow().len(), 0);
    }
    assert_eq!(create(&handles[2], "z").await.unwrap(), 3);
    assert!(store.restore(&[report("a"), report("b")], true).is_err());
}
