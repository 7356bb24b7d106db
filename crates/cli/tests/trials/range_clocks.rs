//! The clocks of all nodes were ahead and are right again: timestamps are ahead of them for as long.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::preload::Clocks;

const PATIENCE: Duration = Duration::from_secs(60);
const HOUR_S: i64 = 3_600;

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

fn put(flock: &Flock, node: usize, headers: &str, value: &str) -> Answer {
    let mut wire = flock.nodes[node].wire();
    let path = "/v1/keyspaces/a/keys/k";
    let answer = wire.try_request_with("PUT", path, headers, value);
    answer.unwrap()
}

fn get(flock: &Flock, node: usize) -> String {
    let answer = flock.nodes[node].request("GET", "/v1/keyspaces/a/keys/k", b"");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().to_owned()
}

fn transaction(flock: &Flock, node: usize, id: &str) -> (u16, Value) {
    let body = json!({"id": id, "writes": [{"keyspace": "a", "key": "t", "value": id}]});
    let answer = flock.nodes[node].request("POST", "/v1/txn", body.to_string().as_bytes());
    let body = serde_json::from_str(answer.text()).unwrap_or_default();
    (answer.status, body)
}

/// A write that waited for a second, of which nobody can tell whether its client gave it up: it is sent again.
fn put_until(flock: &Flock, node: usize, headers: impl Fn() -> String) {
    let mut last = String::new();
    eventually("a put is taken", PATIENCE, || {
        let answer = put(flock, node, &headers(), "v");
        last = format!("{} {}", answer.status, answer.text());
        answer.status == 201
    });
}

#[test]
fn ranges_go_on_after_all_clocks_were_ahead() {
    let mut flock = Flock::prepare(&["--shards=1"]);
    let clocks = Clocks::prepare(&mut flock);
    flock.up_all();
    let body = json!({"name": "a", "mode": "transactional"}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let early = format!("{}-early", now_ms());
    eventually("a transaction is taken", PATIENCE, || {
        transaction(&flock, 0, &early).0 == 200
    });
    (0..3).for_each(|node| clocks.set(node, HOUR_S));
    let mut ahead = String::new();
    eventually("a transaction of that time is taken", PATIENCE, || {
        ahead = format!("{}-ahead", now_ms() + 1_000 * HOUR_S as u64);
        transaction(&flock, 1, &ahead).0 == 200
    });
    (0..3).for_each(|node| clocks.set(node, 0));
    for node in 0..3 {
        flock.kill(node);
        flock.spawn(node);
    }
    (0..3).for_each(|node| flock.ready(node));
    for node in 0..3 {
        put_until(&flock, node, String::new);
        put_until(&flock, node, || {
            format!("Dunlin-Deadline: {}\r\n", now_ms() + 3_000)
        });
    }
    // Ids of before, of that time and of now, each of them once.
    for (id, is_repeat) in [
        (early.clone(), true),
        (ahead, true),
        (format!("{}-late", now_ms()), false),
    ] {
        for (turn, node) in (0..3).enumerate() {
            let (mut status, mut answer) = (0, Value::Null);
            eventually("an id is answered", PATIENCE, || {
                (status, answer) = transaction(&flock, node, &id);
                status != 503
            });
            assert_eq!(status, 200, "{id}: {answer}");
            assert_eq!(
                answer["repeated"] == true,
                is_repeat || turn > 0,
                "{id}: {answer}"
            );
        }
    }
    let absurd = format!("{}-absurd", now_ms() + 3 * 1_000 * HOUR_S as u64);
    assert_eq!(transaction(&flock, 0, &absurd).0, 400);
    // A put that was given up loses to one above its deadline, whichever comes first.
    let deadline_ms = now_ms() + 2_000;
    let above = format!("Dunlin-After: {deadline_ms}\r\n");
    let late = format!("Dunlin-Deadline: {deadline_ms}\r\n");
    let answer = put(&flock, 0, &above, "later");
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = put(&flock, 1, &late, "given up");
    assert_eq!(answer.status, 408, "{}", answer.text());
    assert_eq!(get(&flock, 2), "later");
    for node in &flock.nodes {
        let health = node.request("GET", "/health", b"");
        assert_eq!(health.status, 200, "{}", health.text());
        assert!(
            health.text().contains("ahead of this node's clock"),
            "{}",
            health.text()
        );
        let ahead_s = node.metric("dunlin_timestamp_ahead_seconds");
        assert!((3_000.0..3_700.0).contains(&ahead_s), "{ahead_s}");
    }
}
