//! The first requests: a node whose health is 200 takes what enough nodes can take.

use crate::harness::flock::Flock;

/// Three nodes, each of whose health has just become 200.
fn healthy() -> Flock {
    let mut flock = Flock::prepare(&[]);
    for index in 0..3 {
        flock.spawn(index);
    }
    for index in 0..3 {
        flock.ready(index);
    }
    flock
}

#[test]
fn the_first_requests_after_health_are_taken() {
    let flock = healthy();
    for number in 0..60 {
        let node = &flock.nodes[number % 3];
        let answer = node.put(&format!("k{number}"), b"v", "&ack=1&from=1");
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

#[test]
fn they_are_taken_when_another_node_hangs_at_once() {
    let flock = healthy();
    flock.nodes[2].process().freeze();
    for number in 0..6 {
        let node = &flock.nodes[number % 2];
        let answer = node.put(&format!("k{number}"), b"v", "");
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}
