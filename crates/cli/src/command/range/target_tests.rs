#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_place_is_a_node_and_perhaps_a_shard() {
    assert_eq!(place("n4"), Ok(("n4".to_owned(), None)));
    assert_eq!(place("n4/1"), Ok(("n4".to_owned(), Some(1))));
    assert!(place("n4/x").unwrap_err().contains("write n4/0"));
    assert!(is_on("n4/1", "n4") && !is_on("n40/1", "n4"));
}
