use super::*;

#[test]
fn the_row_of_the_leader_counts() {
    let status = serde_json::json!({"ranges": [
        {"keyspace": "_oracle", "role": "leader", "at": "n3/0", "whole": true},
        {"keyspace": "bench", "role": "follower", "at": "n1/0", "whole": false},
        {"keyspace": "bench", "role": "leader", "at": "n2/1", "whole": true, "copied_bytes": 7,
         "copies": [{"to": "n3/0", "bytes_per_s": 9}]},
    ]});
    let right = Led {
        node: "n2".to_owned(),
        is_whole: true,
        copied_bytes: 7,
        bytes_per_s: Some(9),
    };
    assert_eq!(led(&status, KEYSPACE), Some(right));
    assert_eq!(
        led(&status, ORACLE).map(|led| led.node),
        Some("n3".to_owned())
    );
    assert_eq!(led(&serde_json::json!({"ranges": []}), KEYSPACE), None);
}
