//! A node that does not see etcd, and so does not see that a keyspace was dropped, but reaches nodes
//! that do.

use std::time::{Duration, Instant};

use super::etcd::{ETCD, apart};
use crate::harness::eventually;
use crate::harness::flock::{Flock, Node};
use crate::harness::namespace::Network;

const APART: usize = 0;
const SOON: Duration = Duration::from_secs(20);
/// Within this the node hears from the others that a keyspace is dropped.
const HEARD: Duration = Duration::from_secs(5);

const BIRDS: &str = "/v1/keyspaces/birds";
const DUNLIN: &str = "/v1/keyspaces/birds/keys/dunlin";

/// The number of the keyspace as a node knows it; 0 when it knows none.
fn number(node: &Node) -> u64 {
    let found = node.request("GET", BIRDS, b"");
    match found.status {
        200 => found.json()["id"].as_u64().unwrap(),
        _ => 0,
    }
}

fn create(node: &Node) -> u64 {
    let made = node.request("POST", "/v1/keyspaces", br#"{"name": "birds"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_u64().unwrap()
}

/// A flock with a keyspace that holds an old value everywhere; then the node is cut off from etcd.
fn cut_off(network: &Network, flags: &[&str]) -> (Flock, u64) {
    let mut flock = apart(network, flags);
    flock.up_all();
    let old = create(&flock.nodes[1]);
    for node in &flock.nodes {
        eventually("all know the keyspace", SOON, || number(node) == old);
    }
    let path = format!("{DUNLIN}?ack=3");
    let put = flock.nodes[1].request("PUT", &path, b"old");
    assert_eq!(put.status, 201, "{put:?}");
    assert_eq!(flock.nodes[APART].request("GET", DUNLIN, b"").text(), "old");
    network.cut(APART, ETCD);
    network.cut(ETCD, APART);
    (flock, old)
}

/// Whether an answer refuses in one line that tells of the drop.
fn tells(answer: &crate::harness::answer::Answer) -> bool {
    let text = answer.text();
    answer.status == 503 && text.contains("keyspace birds is dropped, as n")
}

#[test]
fn what_was_dropped_and_made_anew_is_neither_written_nor_read_by_who_did_not_see_it() {
    let Some(network) = Network::of(4) else {
        return;
    };
    let (flock, old) = cut_off(&network, &["--drop-delay", "0"]);
    let dropped = flock.nodes[1].request("DELETE", BIRDS, b"");
    assert_eq!(dropped.status, 204, "{dropped:?}");
    let new = create(&flock.nodes[1]);
    for node in &flock.nodes[1..] {
        eventually("the others know it anew", SOON, || number(node) == new);
        eventually("the old one is purged", SOON, || {
            let drops = node.request("GET", "/v1/dropped", b"").json();
            let mut drops = drops.as_array().unwrap().iter();
            drops.any(|drop| drop["keyspace"]["id"] == old && drop["purged"] == true)
        });
    }
    let cut = &flock.nodes[APART];
    assert_eq!(number(cut), old, "it does not see what etcd has");

    // From the first moment on what a majority must answer is not answered by the old one.
    let begun = Instant::now();
    let mut acknowledged = Vec::new();
    let mut count = 0;
    while begun.elapsed() < HEARD {
        count += 1;
        let key = format!("/v1/keyspaces/birds/keys/k{count}");
        if cut.request("PUT", &key, b"x").status == 201 {
            acknowledged.push(key);
        }
        for path in [DUNLIN, "/v1/keyspaces/birds/keys"] {
            let read = cut.try_request("GET", path, b"");
            // A range may break off.
            let text = read.map(|read| String::from_utf8_lossy(&read.body).into_owned());
            assert!(!text.is_ok_and(|text| text.contains("old")), "{path}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("{count} rounds, {} acknowledged", acknowledged.len());
    for key in &acknowledged {
        let found = flock.nodes[1].request("GET", key, b"");
        assert_eq!(found.status, 200, "{key} was acknowledged and is not there");
    }

    // By now it has heard: not even what it could answer alone.
    for path in [DUNLIN, "/v1/keyspaces/birds/keys"] {
        let read = cut.request("GET", &format!("{path}?ack=1"), b"");
        assert!(tells(&read), "{read:?}");
    }
    for method in ["PUT", "DELETE"] {
        let written = cut.request(method, &format!("{DUNLIN}?ack=1"), b"");
        assert!(tells(&written), "{written:?}");
    }
    let health = cut.request("GET", "/health", b"");
    assert!(health.text().contains("birds is dropped"), "{health:?}");
    eventually("it tells that etcd does not answer", SOON, || {
        let read = cut.request("GET", DUNLIN, b"");
        assert!(tells(&read), "{read:?}");
        read.text().contains("etcd://")
    });
    // All else goes on.
    assert_eq!(cut.put("other", b"x", "&ack=3").status, 201);
    assert_eq!(cut.get("other", "&ack=3").text(), "x");

    network.heal(APART, ETCD);
    network.heal(ETCD, APART);
    eventually("it sees the new one", SOON, || number(cut) == new);
    eventually("it serves the new one", SOON, || {
        cut.request("PUT", &format!("{DUNLIN}?ack=3"), b"new")
            .status
            == 201
    });
    for node in &flock.nodes {
        assert_eq!(node.request("GET", DUNLIN, b"").text(), "new");
        let range = node.request("GET", "/v1/keyspaces/birds/keys?ack=1", b"");
        assert_eq!(range.text().lines().count(), 1 + acknowledged.len());
    }
}

#[test]
fn what_was_dropped_and_taken_back_is_whole_at_who_saw_neither() {
    let Some(network) = Network::of(4) else {
        return;
    };
    let (flock, old) = cut_off(&network, &[]);
    let cut = &flock.nodes[APART];
    let dropped = flock.nodes[1].request("DELETE", BIRDS, b"");
    assert_eq!(dropped.status, 204, "{dropped:?}");
    let alone = format!("{DUNLIN}?ack=1");
    eventually("it hears of the drop", HEARD, || {
        tells(&cut.request("GET", &alone, b""))
    });
    for node in &flock.nodes[1..] {
        assert_eq!(node.request("GET", DUNLIN, b"").status, 404);
    }
    let back = flock.nodes[1].request("POST", "/v1/keyspaces/birds/undrop", b"");
    assert_eq!(back.status, 200, "{back:?}");
    // Who is told that it is back finds it so.
    assert_eq!(flock.nodes[1].request("GET", DUNLIN, b"").text(), "old");
    let put = flock.nodes[1].request("PUT", "/v1/keyspaces/birds/keys/knot", b"red");
    assert_eq!(put.status, 201, "{put:?}");
    eventually("it hears that it is back", HEARD, || {
        cut.request("GET", &alone, b"").status == 200
    });
    assert_eq!(cut.request("GET", &alone, b"").text(), "old");
    let path = format!("{DUNLIN}?ack=3");
    assert_eq!(cut.request("PUT", &path, b"more").status, 201);
    network.heal(APART, ETCD);
    network.heal(ETCD, APART);
    for node in &flock.nodes {
        eventually("all serve it", SOON, || {
            number(node) == old && node.request("GET", &alone, b"").text() == "more"
        });
    }
}
