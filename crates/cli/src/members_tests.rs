#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn members() -> Members {
    serde_json::from_str(
        r#"{"members":["n1","n2","n3"],"spare":["n4","n5","n6"],"changes":7,
        "change":{"id":7,"phase":"copy","adds":["n4","n5"],"takes_out":["n1","n2"],"dead":["n2"],
          "waits_for":["n4/0","n5/0"],"shards":[
          {"shard":"n1/0","phase":"copy","latency_us_p99":25000,"bytes_per_s_max":32000000},
          {"shard":"n4/0","phase":"copy","parts":64,"parts_done":10,"records":1000,"bytes":1048576,
           "bytes_per_s":2048,"bytes_per_s_max":32000000,"latency_us_p99":900,"marks":[[1,2]]},
          {"shard":"n5/0","phase":"copy","parts":32,"parts_done":32,"records":500,"bytes":1048576,
           "bytes_per_s":0,"bytes_per_s_max":1000000}]}}"#,
    )
    .unwrap()
}

#[test]
fn a_change_is_told_in_a_sentence_and_a_table() {
    let expected = "
change 7: n4 and n5 join, n1 leaves, n2 is removed; phase 1 of 4, copying; 42 of 96 pieces; \
1,500 records, 2.0 MiB, 2.0 KiB/s of at most 31.5 MiB/s, clients' p99 25.0 ms; \
waits for n4/0, n5/0
TAKES OVER  PHASE  PIECES  DONE  RECORDS    BYTES  PER SECOND    AT MOST  CLIENTS' P99
n4/0        copy       64    10    1,000  1.0 MiB     2.0 KiB   30.5 MiB        900 us
n5/0        copy       32    32      500  1.0 MiB         0 B  976.6 KiB          0 us
";
    assert_eq!(change(&members(), false), expected);
    assert_eq!(change(&Members::default(), false), "");
}

#[test]
fn what_a_newer_server_says_is_passed_on() {
    let json = serde_json::to_value(members()).unwrap();
    assert_eq!(json["change"]["shards"][1]["marks"][0][1], 2);
}

#[test]
fn every_node_has_a_role() {
    let node = |name: &str| dunlin_client::NodeStatus {
        name: name.to_owned(),
        ..Default::default()
    };
    let status = Status {
        members: members(),
        nodes: ["n1", "n2", "n3", "n4", "n6"].map(node).to_vec(),
        ..Status::default()
    };
    let text = nodes(&status).render(false);
    let roles: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(3))
        .collect();
    let expected = ["ROLE", "leaving", "removed", "member", "joining", "spare"];
    assert_eq!(roles, expected);
}

#[test]
fn names_are_listed_as_people_do() {
    let names = |count: usize| ["n1", "n2", "n3"][..count].iter().map(ToString::to_string);
    let text = |count| verb(&names(count).collect::<Vec<_>>(), "joins", "join");
    assert_eq!(text(0), None);
    assert_eq!(text(1).unwrap(), "n1 joins");
    assert_eq!(text(2).unwrap(), "n1 and n2 join");
    assert_eq!(text(3).unwrap(), "n1, n2 and n3 join");
    assert_eq!(
        spare(&names(2).collect::<Vec<_>>()),
        "n1 and n2 hold no data yet: dunlin node add n1 n2"
    );
}
