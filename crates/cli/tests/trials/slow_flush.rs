//! Flushes of the ranges' store hang at a node that leads nothing: it goes on with all else, and catches up after them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::preload::Hangs;
use crate::harness::wire::Wire;

/// Together more than the memory of the store for rows that are not flushed.
const VALUES: usize = 420;
const VALUE_BYTES: usize = 512 << 10;
/// Keys of the quorum keyspace.
const KEYS: usize = 20;
/// Less than the store would have waited, and much more than a get takes.
const PATIENCE: Duration = Duration::from_secs(5);
/// The hang lasts so much longer than the writes.
const LASTS: Duration = Duration::from_secs(12);

fn path(number: usize) -> String {
    format!("/v1/keyspaces/a/keys/f{number:06}")
}

#[test]
fn hanging_flushes_of_ranges_do_not_stop_a_node() {
    let mut flock = Flock::prepare(&["--shards=1"]);
    let hangs = Hangs::prepare(&mut flock, "/ranges/store/");
    flock.up_all();
    let body = json!({"name": "a", "mode": "transactional"}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let (leads, oracle) = (flock.until_led("a"), flock.until_led("_oracle"));
    let slow = (0..3).find(|node| ![leads, oracle].contains(node)).unwrap();
    for key in 0..KEYS {
        let put = flock.nodes[0].put(&format!("q{key}"), b"v", "&ack=3");
        assert_eq!(put.status, 201, "{}", put.text());
    }
    hangs.begin(slow);
    let is_over = AtomicBool::new(false);
    let (at_leader, at_slow) = (flock.nodes[leads].address(), flock.nodes[slow].address());
    let gets = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut gets = 0;
            while !is_over.load(Ordering::Relaxed) {
                let mut wire = Wire::try_open_at(at_slow).unwrap();
                wire.patience(PATIENCE);
                let key = format!("/v1/keyspaces/default/keys/q{}", gets % KEYS);
                let got = wire.try_request_with("GET", &key, "", "");
                let got = got.expect("a get waits for flushes of ranges");
                assert_eq!(got.text(), "v");
                gets += 1;
                thread::sleep(Duration::from_millis(100));
            }
            gets
        });
        let value = "v".repeat(VALUE_BYTES);
        for number in 0..VALUES {
            let mut wire = Wire::try_open_at(at_leader).unwrap();
            let put = wire.try_request_with("PUT", &path(number), "", &value);
            let put = put.expect("two of three take it");
            assert_eq!(put.status, 201, "{}", put.text());
        }
        let written = Instant::now();
        while written.elapsed() < LASTS && !reader.is_finished() {
            thread::sleep(Duration::from_millis(100));
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(gets > KEYS, "{gets} gets");
    hangs.end(slow);
    // It has all of it, for without it there is no majority any more.
    flock.kill(leads);
    for number in (0..VALUES).step_by(7).chain([VALUES - 1]) {
        eventually("the value is there", Duration::from_secs(60), || {
            let got = flock.nodes[slow].request("GET", &path(number), b"");
            got.status == 200 && got.body.len() == VALUE_BYTES
        });
    }
}
