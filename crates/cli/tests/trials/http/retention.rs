//! A keyspace's own bounds on the log: kept though nobody needs it, and let go when that is taken back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::wire::Wire;

const MIB: u64 = 1 << 20;

/// Bytes that do not compress.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(512 << 10).collect()
}

fn shard(wire: &mut Wire) -> Value {
    let status = wire.request("GET", "/v1/status", "").json();
    status["shards"][0].clone()
}

#[test]
fn a_keyspace_keeps_its_log_and_lets_it_go() {
    let flags = ["--segment", "1MiB", "--flush", "1MiB", "--shards", "1"];
    let flock = Flock::start(&flags);
    let mut wire = flock.nodes[0].wire();
    let path = "/v1/keyspaces/default";
    let wrong = json!({"retention": {"min_bytes": 2, "max_bytes": 1}});
    assert_eq!(wire.request("PATCH", path, wrong.to_string()).status, 400);
    let unknown = json!({"retention": {"min_bites": 2}});
    assert_eq!(wire.request("PATCH", path, unknown.to_string()).status, 400);
    let keeps = json!({"retention": {"min_bytes": 8 * MIB}});
    let none = "/v1/keyspaces/none";
    assert_eq!(wire.request("PATCH", none, keeps.to_string()).status, 404);
    let altered = wire.request("PATCH", path, keeps.to_string());
    assert_eq!(altered.status, 200, "{altered:?}");
    assert_eq!(altered.json()["retention"], keeps["retention"]);
    let described = wire.request("GET", path, "").json();
    assert_eq!(described["retention"], keeps["retention"]);
    for number in 0..48 {
        let key = format!("{path}/keys/k{number}");
        let written = wire.request("PUT", &format!("{key}?ack=3"), noise(number + 1));
        assert_eq!(written.status, 201, "{written:?}");
    }
    eventually("the rest goes", Duration::from_secs(30), || {
        shard(&mut wire)["log_bytes"].as_u64().unwrap() < 14 * MIB
    });
    std::thread::sleep(Duration::from_secs(3));
    let shown = shard(&mut wire);
    assert!(shown["log_bytes"].as_u64().unwrap() >= 8 * MIB, "{shown}");
    let pins = shown["pins"].as_array().unwrap();
    let kept = pins
        .iter()
        .find(|pin| pin["holder"] == "keyspace default, --retain-min");
    let kept = kept.unwrap()["bytes"].as_u64().unwrap();
    assert!(kept >= 8 * MIB, "{shown}");
    let nothing = json!({"retention": {}});
    assert_eq!(wire.request("PATCH", path, nothing.to_string()).status, 200);
    eventually("all of it goes", Duration::from_secs(30), || {
        let shown = shard(&mut wire);
        shown["pins"] == json!([]) && shown["log_bytes"].as_u64().unwrap() < 8 * MIB
    });
}
