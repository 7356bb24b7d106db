#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_request_names_a_leader_or_two_nodes_and_nothing_else() {
    let lead = parse(br#"{"lead": "n4"}"#).unwrap();
    let node = "n4".to_owned();
    assert_eq!(lead, Retarget::Lead { node });
    let moved = parse(br#"{"from": "n1", "to": "n4", "shard": 1}"#).unwrap();
    let wanted = Retarget::Move {
        from: "n1".to_owned(),
        to: "n4".to_owned(),
        shard: Some(1),
        instead: false,
    };
    assert_eq!(moved, wanted);
    for wrong in [
        "{}",
        "",
        r#"{"lead": 4}"#,
        r#"{"from": "n1"}"#,
        r#"{"lead": "n4", "to": "n1"}"#,
        r#"{"from": "n1", "to": "n4", "shard": 70000}"#,
    ] {
        assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
