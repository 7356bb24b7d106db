#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_document_is_read_as_it_was_written_and_older_ones_too() {
    let mut objects = Objects::at(6);
    objects.apply(&[
        (node_key("a"), Some(b"{\"id\":1}".to_vec())),
        (keyspace_key("a/b"), Some(b"[]".to_vec())),
        (drop_key(3), Some(b"{}".to_vec())),
        (NODE_COUNTER.to_owned(), Some(b"1".to_vec())),
        (KEYSPACE_COUNTER.to_owned(), Some(b"3".to_vec())),
        (CLUSTER.to_owned(), Some(b"{}".to_vec())),
        ("later".to_owned(), Some(b"{\"x\":[1]}".to_vec())),
    ]);
    let text = objects.to_document().unwrap();
    assert_eq!(Objects::of_document(&text).unwrap(), objects);
    let old = br#"{"revision": 9, "counters": {"node": 5, "keyspace": 0}, "nodes": {"n": {"id": 5}}, "keyspaces": {}}"#;
    let old = Objects::of_document(old).unwrap();
    assert_eq!((old.revision, old.newest()), (9, 9));
    assert_eq!(old.read::<u16>(NODE_COUNTER), Some(Ok(5)));
    assert_eq!(old.under(NODES).count(), 1);
    assert_eq!(old.get(MEMBERS), None);
    for bad in [
        "",
        "{}",
        "[]",
        r#"{"revision":1,"nodes":3}"#,
        r#"{"revision":"x"}"#,
    ] {
        assert!(Objects::of_document(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn writes_of_one_change_are_one_revision() {
    let mut objects = Objects::at(1);
    objects.apply(&[
        ("a".to_owned(), Some(vec![1])),
        ("b".to_owned(), Some(vec![2])),
    ]);
    objects.apply(&[("a".to_owned(), None)]);
    assert_eq!((objects.revision, objects.newest()), (3, 2));
    assert_eq!((objects.written("a"), objects.written("b")), (0, 2));
}
