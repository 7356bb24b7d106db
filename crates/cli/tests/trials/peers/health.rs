//! What `/health`, `/health/ready` and `/health/live` say, and how fast.

use std::time::{Duration, Instant};

use crate::harness::eventually;
use crate::harness::flock::Flock;

const QUICK: Duration = Duration::from_secs(1);

#[test]
fn a_survivor_says_at_once_who_is_missing() {
    let mut flock = Flock::start(&[]);
    for path in ["/health", "/health/ready"] {
        let answer = flock.nodes[0].request("GET", path, b"");
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["status"], "ok");
    }
    flock.kill(1);
    let answer = flock.nodes[0].request("GET", "/health/ready", b"");
    assert_eq!(
        answer.status,
        200,
        "two of three are a majority: {}",
        answer.text()
    );
    flock.kill(2);
    flock.stop(0);
    flock.spawn(0);
    let begun = Instant::now();
    eventually("it listens", Duration::from_secs(20), || {
        flock.nodes[0]
            .try_request("GET", "/health/live", b"")
            .is_ok()
    });
    println!("it listens after {:?}", begun.elapsed());
    let begun = Instant::now();
    let answer = flock.nodes[0].request("GET", "/health", b"");
    assert!(begun.elapsed() < QUICK, "after {:?}", begun.elapsed());
    assert_eq!(answer.status, 503, "{}", answer.text());
    let json = answer.json();
    assert_eq!(json["status"], "not ready");
    let missing = json["missing"].as_array().unwrap();
    let mut names: Vec<&str> = missing
        .iter()
        .map(|m| m["shard"].as_str().unwrap())
        // It names itself as well, for as long as it waits to hear the others.
        .filter(|name| *name != "n1/0")
        .collect();
    // By number, which they have in the order in which they first started.
    names.sort_unstable();
    assert_eq!(names, ["n2/0", "n3/0"], "{}", answer.text());
    let answer = flock.nodes[0].request("GET", "/health/live", b"");
    assert_eq!(
        (answer.status, &answer.json()["status"]),
        (200, &"alive".into())
    );
    // A cluster that has lost its majority does not let clients wait for it.
    std::thread::sleep(Duration::from_secs(3));
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(flock.nodes[0].put("key", b"value", "").status, 504);
        assert!(begun.elapsed() < QUICK / 4, "after {:?}", begun.elapsed());
    }
    flock.up_all();
    for node in &flock.nodes {
        assert_eq!(node.request("GET", "/health", b"").status, 200);
        assert_eq!(node.put("key", b"value", "").status, 201);
    }
}

#[test]
fn the_first_node_of_a_cluster_that_needs_more_is_not_ready() {
    let mut flock = Flock::prepare(&[]);
    flock.up(0);
    let answer = flock.nodes[0].request("GET", "/health/ready", b"");
    assert_eq!(answer.status, 503, "{}", answer.text());
    let why = "keyspace default needs 2 of its 3 replicas and there is 1 member";
    assert!(answer.text().contains(why), "{}", answer.text());
    flock.up(1);
    for index in [0, 1] {
        flock.ready(index);
        assert_eq!(flock.nodes[index].put("key", b"value", "").status, 201);
    }
}
