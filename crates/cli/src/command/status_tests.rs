#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn cluster() -> Cluster {
    serde_json::from_str(
        r#"{"node":"n1","topology_revision":7,
        "members":{"members":["n1"],"spare":["n2"],"change":{"id":2,"phase":"joint","adds":["n2"],"waits_for":["n2/0"]}},
        "nodes":[{"name":"n1","id":1,"http":"h:8080","listen":"h:7080","shards":2,"alive":true,"incarnation":4},
                 {"name":"n2","id":2,"http":"h:8081","listen":"h:7081","shards":2,"alive":false,"incarnation":1}],
        "keyspaces":[{"name":"default","id":1,"settings":{"mode":"quorum","replicas":3,"partitions":64,"sync":"always","tombstone_grace_s":60}}],
        "shards":[{"shard":"n1/0","trouble":null,"refilling":true,"refill":{"reason":"its data directory is an older copy","waits_for":["n2/0","n3/0"]},"partitions":64,"keys":1200,"keys_estimated":false,"store_bytes":2048,"writes":5,"reads":6,"log_syncs":2},
                  {"shard":"n2/0","trouble":"no space left for the log: make room on its disk","refilling":false,"keys_estimated":false}],
        "followers":[{"from":"n1/0","to":"n2/0","items_remaining":12345,"bytes_remaining":15360,"bytes_per_s":1536,"latency_us_p50":90,
          "latency_us_p95":2500,"latency_us_p99":1500000,"connected":true,"state":"catching_up"}]}"#,
    )
    .unwrap()
}

#[test]
fn the_tables_hold_what_an_operator_looks_for() {
    let text = text(&cluster(), true, false);
    let expected = "\
NODE  ID  STATE  ROLE     HTTP    LISTEN  SHARDS  STARTS
n1     1  up     member   h:8080  h:7080       2       4
n2     2  down   joining  h:8081  h:7081       2       1

KEYSPACE  ID  MODE    REPLICAS  PARTITIONS  SYNC    TOMBSTONES KEPT  LOG KEPT
default    1  quorum         3          64  always             60 s  as needed

SHARD  STATE    PARTITIONS   KEYS    STORE  WRITES  READS  SYNCS
n1/0   filling          64  1,200  2.0 KiB       5      6      2
n2/0   failing           0      0      0 B       0      0      0

LOG OF  FOLLOWER  STATE        REMAINING     BYTES  PER SECOND  LEFT    P50     P95    P99
n1/0    n2/0      catching up     12,345  15.0 KiB     1.5 KiB  10 s  90 us  2.5 ms  1.5 s

change 2: n2 joins; phase 2 of 4, writing to old and new replicas; 0 of 0 pieces; 0 records, \
0 B, 0 B/s of at most 0 B/s, clients' p99 0 us; waits for n2/0

keyspace default keeps 3 copies of each key, and the cluster has 1 member: a majority is 2, so \
requests are answered 504; add nodes (dunlin node add), or make it with --replicas 1

n1/0: its data directory is an older copy; it answers no reads before n2/0, n3/0 gave it what it lacks

n2/0: no space left for the log: make room on its disk
";
    assert_eq!(text, expected);
    assert!(!text.contains('\x1b'));
    assert!(super::text(&cluster(), true, true).contains("\x1b[31mdown"));
}

#[test]
fn streams_stand_in_a_table_who_is_furthest_behind_first() {
    let stream = |state: &str, entries_behind, behind_ms| StreamStatus {
        at: "n1/0".into(),
        keyspace: "birds".into(),
        who: "ada from 10.0.0.1:5".into(),
        state: state.into(),
        entries_behind,
        bytes_behind: entries_behind.map(|entries| entries * 1_024),
        behind_ms,
        changes: 1_200,
        bytes_per_s: 2_048,
        ..StreamStatus::default()
    };
    let late = StreamStatus {
        cursor: Some("c1".into()),
        ..stream("not_read", Some(15), 90_000)
    };
    let all = [
        stream("streaming", Some(0), 0),
        late,
        stream("snapshot", None, 3_000),
    ];
    let expected = "
STREAM OF  CLIENT               CURSOR  AT    STATE      BEHIND     BYTES  TIME  PER SECOND  CHANGES
birds      ada from 10.0.0.1:5  c1      n1/0  not read       15  15.0 KiB  90 s     2.0 KiB    1,200
birds      ada from 10.0.0.1:5  -       n1/0  snapshot        -         -   3 s     2.0 KiB    1,200
birds      ada from 10.0.0.1:5  -       n1/0  streaming       0       0 B   0 s     2.0 KiB    1,200
";
    assert_eq!(streams(&all, false), expected);
    assert_eq!(streams(&[], false), "");
    let many = vec![stream("streaming", Some(0), 0); 23];
    assert!(streams(&many, false).ends_with("\nand 3 streams that are less behind\n"));
}

#[test]
fn a_log_that_is_kept_for_many_is_said_once() {
    let pin = |holder: &str, bytes, let_go| PinStatus {
        holder: holder.into(),
        bytes,
        let_go,
        ..PinStatus::default()
    };
    let shard = ShardStatus {
        shard: "n1/0".into(),
        pins: vec![
            pin("a", 0, false),
            pin("b", 1_024, false),
            pin("c", 4_096, false),
            pin("d", 2_048, false),
            pin("e", 512, false),
            pin("f", 0, true),
        ],
        ..cluster().shards.remove(0)
    };
    let expected = "
n1/0: keeps 4.0 KiB of its log for c, d, b and 1 more

n1/0: keeps no log for f any more
";
    assert_eq!(pins(&[shard]), expected);
}

#[test]
fn who_is_behind_is_said_to_be_there_in_a_while() {
    // State, bytes that remain, bytes a second; what is shown.
    for (state, bytes_remaining, bytes_per_s, shown) in [
        ("catching_up", 15_360, 1_536, "10 s"),
        ("backfilling", 7_200, 1, "2.0 h"),
        ("catching_up", 15_360, 0, "-"),
        ("catching_up", 0, 1_536, "-"),
        ("streaming", 15_360, 1_536, "-"),
        ("down", 15_360, 0, "-"),
    ] {
        let follower = FollowerStatus {
            state: state.to_owned(),
            bytes_remaining,
            bytes_per_s,
            ..FollowerStatus::default()
        };
        assert_eq!(left(&follower), shown, "{state}");
    }
}

#[test]
fn what_is_kept_of_a_log_is_said_with_for_whom() {
    let shards: Vec<ShardStatus> = serde_json::from_str(
        r#"[{"shard":"n1/0","pins":[{"holder":"n4/0","position":7,"bytes":2048,"held_ms":900,"let_go":false},
                                    {"holder":"n5/0","position":3,"bytes":0,"held_ms":900,"let_go":true}],"pins_cut":2},
            {"shard":"n2/0"}]"#,
    )
    .unwrap();
    let expected = "
n1/0: keeps 2.0 KiB of its log for n4/0

n1/0: keeps no log for n5/0 any more

n1/0: let go of log that was still needed, 2 times: raise --pins
";
    assert_eq!(pins(&shards), expected);
}

#[test]
fn a_shard_that_its_own_damage_keeps_from_being_filled_says_so() {
    let refill = RecoveryStatus {
        reason: "its data directory is an older copy".to_owned(),
        waits_for: vec![],
        damage: Some("its store is damaged: stop it".to_owned()),
    };
    let said = "its data directory is an older copy; its store is damaged: stop it";
    assert_eq!(filling(&refill), said);
}

#[test]
fn keys_that_nobody_counted_are_marked() {
    let shown = |json: &str| keys(&serde_json::from_str(json).unwrap());
    for (json, text) in [
        (r#"{"keys":8,"keys_estimated":false}"#, "8"),
        (r#"{"keys":3349999,"keys_estimated":true}"#, "~3,300,000"),
        (r#"{"keys":0,"keys_estimated":true}"#, "~0"),
    ] {
        assert_eq!(shown(json), text);
    }
}

#[test]
fn followers_of_a_node_are_added_up_with_the_worst_state() {
    let follower =
        |from: &str, to: &str, state: &str, items_remaining, latency_us_p99| FollowerStatus {
            from: from.into(),
            to: to.into(),
            state: state.into(),
            items_remaining,
            latency_us_p99,
            ..FollowerStatus::default()
        };
    let all = [
        follower("n1/0", "n2/0", "streaming", 1, 7),
        follower("n1/1", "n2/0", "catching_up", 20, 5),
        follower("n1/1", "n2/1", "streaming", 300, 6),
        follower("n1/0", "n3/0", "streaming", 0, 1),
        follower("n1/0", "n3/1", "down", 9, 1),
    ];
    let rows = by_node(&all);
    let row = |n: usize| {
        let row: &FollowerStatus = &rows[n];
        let names = (row.from.as_str(), row.to.as_str());
        (
            names,
            row.state.as_str(),
            row.items_remaining,
            row.latency_us_p99,
        )
    };
    assert_eq!(rows.len(), 2);
    assert_eq!(row(0), (("n1", "n2"), "catching_up", 321, 7));
    assert_eq!(row(1), (("n1", "n3"), "down", 9, 1));
}

#[test]
fn views_are_listed_with_the_shards_of_each_together() {
    let view = |at: &str, view: &str, built, error: Option<&str>| ViewStatus {
        at: at.into(),
        keyspace: "birds".into(),
        view: view.into(),
        built,
        rows: 1_000,
        failed: 1,
        bytes_behind: Some(1_024),
        queries: 2,
        queries_us: 3_000,
        error: error.map(str::to_owned),
    };
    let all = [
        view("n1/0", "kinds", 1.0, None),
        view("n2/0", "kinds", 0.25, None),
        view("n1/0", "names", 1.0, Some("no disk")),
        view("n2/0", "names", 1.0, None),
    ];
    let expected = "
VIEW OF  VIEW   STATE          ROWS OF REPLICAS  SKIPPED  BYTES BEHIND  QUERIES    MEAN
birds    kinds  building 25 %             2,000        2       2.0 KiB        4  1.5 ms
birds    names  failing                   2,000        2       2.0 KiB        4  1.5 ms
";
    assert_eq!(views(&all, false), expected);
    assert_eq!(views(&[], false), "");
}
