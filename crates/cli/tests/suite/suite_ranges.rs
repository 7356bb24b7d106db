//! A cluster with a transactional keyspace, for tests of where its ranges are.

use std::time::Duration;

use serde_json::json;

use crate::harness::child::command;
use crate::harness::eventually;
use crate::harness::flock::Flock;

pub const KEYS: &str = "/v1/keyspaces/bank/keys";
/// Ranges of the keyspace and the oracle's.
pub const RANGES: usize = 4;
/// The longest time that a change may take.
pub const START: Duration = Duration::from_secs(30);

/// Three nodes with a keyspace of three ranges and ten keys.
pub fn start(flags: &[&str]) -> Flock {
    let flock = Flock::start(flags);
    let body = json!({"name": "bank", "mode": "transactional", "split_at": ["3", "6"]});
    eventually("the keyspace is made", START, || {
        let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.to_string().as_bytes());
        matches!(made.status, 201 | 409)
    });
    for key in 0..10 {
        put(&flock, key % 3, key, "first");
    }
    flock
}

pub fn put(flock: &Flock, node: usize, key: usize, value: &str) {
    eventually("it is stored", START, || {
        let put = flock.nodes[node].request("PUT", &format!("{KEYS}/{key}"), value.as_bytes());
        put.status == 201
    });
}

pub fn reads(flock: &Flock, node: usize, value: &str) {
    for key in 0..10 {
        eventually("it is read", START, || {
            let got = flock.nodes[node].request("GET", &format!("{KEYS}/{key}"), b"");
            (got.status, got.text()) == (200, value)
        });
    }
}

/// A command; its exit code, and its output and errors together.
pub fn run(flock: &Flock, node: usize, arguments: &[&str]) -> (Option<i32>, String) {
    let server = format!("--server=http://{}", flock.nodes[node].address());
    let out = command().args(arguments).arg(server).output().unwrap();
    let text = [&out.stdout[..], &out.stderr].concat();
    (out.status.code(), String::from_utf8(text).unwrap())
}

pub fn succeeds(flock: &Flock, node: usize, arguments: &[&str]) -> String {
    let (code, text) = run(flock, node, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

pub fn whole(flock: &Flock, node: usize) {
    eventually("all ranges are whole", Duration::from_secs(60), || {
        flock.nodes[node].has_whole_ranges(RANGES)
    });
}
