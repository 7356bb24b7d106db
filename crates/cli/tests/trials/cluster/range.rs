//! A range under way when nodes die: whole, or visibly broken off.

use crate::harness::flock::{Flock, entity};
use crate::harness::wire::Wire;

const KEYS: usize = 4_000;
const VALUE_BYTES: usize = 4_000;

fn load(flock: &Flock) {
    std::thread::scope(|scope| {
        for lane in 0..3 {
            let node = &flock.nodes[lane];
            scope.spawn(move || {
                let mut wire = node.wire();
                for number in (lane..KEYS).step_by(3) {
                    let path = entity(&format!("r{number:06}"), "");
                    assert_eq!(wire.request("PUT", &path, [7; VALUE_BYTES]).status, 201);
                }
            });
        }
    });
}

/// Begins to read all through n1, so slowly that most is still on the nodes.
fn begin(flock: &Flock) -> Wire {
    let mut wire = flock.nodes[0].wire();
    wire.send("GET /v0/entities?start=r HTTP/1.1\r\nHost: d\r\n\r\n");
    assert_eq!(wire.head().unwrap().status, 200);
    for number in 0..20 {
        check(number, &wire.chunk().unwrap().unwrap());
    }
    wire
}

fn check(number: usize, chunk: &[u8]) {
    let key = format!("r{number:06}\n");
    assert!(chunk.starts_with(key.as_bytes()), "not {key:?}");
    assert_eq!(chunk.len(), key.len() + VALUE_BYTES);
}

#[test]
fn a_range_goes_on_without_one_node_and_breaks_off_without_two() {
    let mut flock = Flock::start(&["--sync", "never"]);
    load(&flock);
    for victim in [1, 2] {
        let mut wire = begin(&flock);
        flock.kill(victim);
        let mut number = 20;
        while let Some(chunk) = wire.chunk().unwrap() {
            check(number, &chunk);
            number += 1;
        }
        assert_eq!(number, KEYS, "ended early without n{}", victim + 1);
        flock.up(victim);
        flock.wait_connected();
    }
    let mut wire = begin(&flock);
    flock.kill(1);
    flock.kill(2);
    let mut number = 20;
    // What was under way may still come, in order; an end that looks like one must not.
    let end = loop {
        match wire.chunk() {
            Ok(Some(chunk)) => check(number, &chunk),
            end => break end,
        }
        number += 1;
    };
    assert!(end.is_err(), "{number} of {KEYS} keys passed for all");
}
