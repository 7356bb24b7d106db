#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_place_is_a_node_and_perhaps_a_shard() {
    assert_eq!(place("n4"), Ok(("n4".to_owned(), None)));
    assert_eq!(place("n4/1"), Ok(("n4".to_owned(), Some(1))));
    assert!(place("n4/x").unwrap_err().contains("write n4/0"));
    assert!(is_on("n4/1", "n4") && !is_on("n40/1", "n4"));
}

#[test]
fn a_newer_target_ends_the_waiting() {
    let keyspaces = serde_json::json!([{
        "name": "bank",
        "id": 2,
        "settings": {"partitions": 1, "replicas": 3, "sync": "always", "tombstone_grace_s": 0},
        "ranges": [{"number": 0, "planned": 3}],
    }]);
    let status = Status {
        keyspaces: serde_json::from_value(keyspaces).unwrap(),
        ..Status::default()
    };
    let of = |range, planned| replaced(&status, ("bank", range), planned);
    // The node that answers may know an older one.
    assert_eq!((of(0, 4), of(0, 3), of(1, 1)), (None, None, None));
    let why = of(0, 2).unwrap();
    assert!(why.contains("bank/0 was given another target"), "{why}");
}
