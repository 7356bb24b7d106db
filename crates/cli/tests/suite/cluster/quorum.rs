//! Too few replicas: what is refused, what is not, and what a refusal leaves.

use std::time::{Duration, Instant};

use crate::harness::eventually;
use crate::harness::flock::Flock;

#[test]
fn without_enough_replicas_requests_end_in_504() {
    let mut flock = Flock::start(&[]);
    for number in 0..50 {
        let key = format!("k{number}");
        assert_eq!(
            flock.nodes[number % 3]
                .put(&key, b"before", "&ack=3")
                .status,
            201
        );
    }
    flock.kill(2);
    // One of three down is what a majority is for.
    let node = &flock.nodes[0];
    eventually("writes without n3", Duration::from_secs(10), || {
        node.put("k0", b"two left", "").status == 201
    });
    assert_eq!(node.get("k0", "").text(), "two left");
    assert_eq!(node.put("k1", b"x", "&ack=3").status, 504);
    flock.kill(1);
    let node = &flock.nodes[0];
    eventually("status tells who is gone", Duration::from_secs(10), || {
        let status = node.status();
        let nodes = status["nodes"].as_array().unwrap();
        nodes
            .iter()
            .all(|found| found["alive"] == (found["name"] == "n1"))
    });
    for _ in 0..3 {
        for (method, path) in [
            ("PUT", "/v0/entity?id=k2"),
            ("GET", "/v0/entity?id=k2"),
            ("HEAD", "/v0/entity?id=k2"),
            ("DELETE", "/v0/entity?id=k2"),
            ("GET", "/v0/entities?start=k"),
            ("GET", "/v1/keyspaces/default/keys/k2"),
            ("PUT", "/v1/keyspaces/default/keys/k2"),
            ("GET", "/v1/keyspaces/default/keys"),
        ] {
            let begun = Instant::now();
            let answer = node.request(method, path, b"after");
            assert_eq!(answer.status, 504, "{method} {path}");
            assert!(
                begun.elapsed() < Duration::from_secs(6),
                "{method} {path} took {:?}",
                begun.elapsed()
            );
            if method != "HEAD" {
                assert!(answer.text().contains("Not Enough Replicas"), "{answer:?}");
            }
        }
    }
    // Whoever asks for one replica gets one.
    assert_eq!(node.get("k3", "&ack=1").text(), "before");
    assert_eq!(node.put("k4", b"alone", "&ack=1").status, 201);
    assert_eq!(node.get("k4", "&ack=1").text(), "alone");
    assert_eq!(node.request("GET", "/health", b"").status, 503);
    assert_eq!(node.request("GET", "/health/live", b"").status, 200);
    assert_eq!(node.status()["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(
        node.request("GET", "/v0/entities?start=k&ack=1", b"")
            .chunks
            .len(),
        50
    );
    flock.up(1);
    flock.up(2);
    flock.wait_connected();
    for node in &flock.nodes {
        eventually(
            "what one took reaches the others",
            Duration::from_secs(10),
            || node.get("k4", "&ack=1").text() == "alone",
        );
        assert_eq!(node.get("k0", "").text(), "two left");
        assert_eq!(node.get("k3", "").text(), "before");
        // Refused, so either is right; but all must say the same.
        assert!(["before", "after", ""].contains(&node.get("k2", "").text()));
    }
}
