//! Writes that ask for fewer replicas than the keyspace keeps, or for more.

use std::time::Duration;

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::{Flock, Node};
use crate::support::copies;
use crate::support::operator::at;

const KEYSPACE: &str = r#"{"name": "g", "replicas": 3, "partitions": 4, "tombstone_grace_s": 1}"#;
/// Its number: the first after the default keyspace's.
const KEYSPACE_ID: u32 = 2;
const PARTITIONS: u16 = 4;

/// Five nodes that hold data, and the keyspace.
fn five(flags: &[&str]) -> Flock {
    let mut flock = Flock::start(flags);
    let joined = [flock.join(), flock.join()];
    for index in joined {
        flock.up(index);
    }
    at(&mut flock, &["node", "add", "n4", "n5"]).ok();
    let created = flock.nodes[0].request("POST", "/v1/keyspaces", KEYSPACE.as_bytes());
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.json()["id"], KEYSPACE_ID);
    for node in &flock.nodes {
        eventually("all know the keyspace", Duration::from_secs(20), || {
            ask(node, "GET", "none", "", b"").text() != r#"{"error":"there is no such keyspace"}"#
        });
    }
    flock
}

fn ask(node: &Node, method: &str, key: &str, query: &str, value: &[u8]) -> Answer {
    let path = format!("/v1/keyspaces/g/keys/{key}?{query}");
    node.request(method, &path, value)
}

fn put(node: &Node, key: &str, query: &str, value: &str) {
    let answer = ask(node, "PUT", key, query, value.as_bytes());
    assert_eq!(answer.status, 201, "{key} {query}: {answer:?}");
}

/// Through every node, `times` over: each key has this value.
fn reads(flock: &Flock, keys: &[String], query: &str, times: usize, value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for _ in 0..times {
        for node in &flock.nodes {
            for key in keys {
                let answer = ask(node, "GET", key, query, b"");
                if answer.status != 200 || answer.text() != value {
                    let (name, text) = (&node.name, String::from_utf8_lossy(&answer.body));
                    wrong.push(format!("{name} {key} {query}: {} {text}", answer.status));
                }
            }
        }
    }
    wrong
}

fn keys(name: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{name}{number:04}"))
        .collect()
}

#[test]
fn a_delete_reaches_all_that_a_wider_put_has_reached() {
    let mut flock = five(&["--flush", "256KiB"]);
    let gone = keys("gone", 150);
    for (number, key) in gone.iter().enumerate() {
        put(&flock.nodes[number % 5], key, "ack=5&from=5", "once");
    }
    for (number, key) in gone.iter().enumerate() {
        let deleted = ask(&flock.nodes[number % 5], "DELETE", key, "", b"");
        assert_eq!(deleted.status, 202, "{deleted:?}");
    }
    // Until the deletes are forgotten: memory is flushed, and the files are compacted.
    let filler = "x".repeat(4 << 10);
    for round in 0..40 {
        for (number, key) in keys("fill", 400).iter().enumerate() {
            put(&flock.nodes[number % 5], key, "", &filler);
        }
        if round % 4 == 3 && is_forgotten(&mut flock) {
            break;
        }
        assert!(round < 39, "the deletes are not forgotten");
    }
    for node in &flock.nodes {
        for key in &gone {
            for query in ["", "ack=1&from=5", "ack=3&from=5", "ack=5&from=5"] {
                let answer = ask(node, "GET", key, query, b"");
                assert_eq!(answer.status, 404, "{} {key} {query}", node.name);
            }
        }
    }
}

/// Whether no node has anything of the deleted keys. The nodes are stopped for the look.
fn is_forgotten(flock: &mut Flock) -> bool {
    std::thread::sleep(Duration::from_secs(6));
    for index in 0..flock.nodes.len() {
        flock.stop(index);
    }
    let is_left = |node: &Node| copies::keys(&node.data, KEYSPACE_ID, PARTITIONS);
    let left = flock.nodes.iter().flat_map(is_left);
    let left = left.filter(|key| key.starts_with("gone")).count();
    flock.up_all();
    println!("{left} records of deleted keys left");
    left == 0
}

#[test]
fn an_overwrite_that_asks_for_less_reaches_all_replicas() {
    let flock = five(&[]);
    let keys = keys("k", 20);
    for key in &keys {
        put(&flock.nodes[0], key, "ack=5&from=5", "widest");
        put(&flock.nodes[1], key, "", "default");
        put(&flock.nodes[2], key, "ack=1&from=1", "narrow");
    }
    // Reads of one replica mend nothing.
    for query in ["ack=1", "ack=1&from=5"] {
        eventually("all replicas have it", Duration::from_secs(20), || {
            reads(&flock, &keys, query, 1, "narrow").is_empty()
        });
    }
    // 200 of each key and kind.
    for query in ["", "ack=1", "ack=1&from=5"] {
        let wrong = reads(&flock, &keys, query, 40, "narrow");
        assert!(wrong.is_empty(), "{} wrong: {:?}", wrong.len(), wrong[0]);
    }
}

#[test]
fn a_first_wider_write_waits_for_all_nodes_and_no_later_one_does() {
    let mut flock = five(&[]);
    put(&flock.nodes[0], "before", "ack=4&from=4", "as wide as ever");
    flock.kill(4);
    let first = ask(&flock.nodes[0], "PUT", "k", "ack=3&from=5", b"wider");
    assert_eq!(first.status, 503, "{first:?}");
    let line = first.json()["error"].as_str().unwrap().to_owned();
    assert!(
        line.starts_with("from=5 is above the 4 that writes"),
        "{line}"
    );
    // On a busy machine others have not heard of it either, at first.
    eventually("n5 alone is missed", Duration::from_secs(20), || {
        let refused = ask(&flock.nodes[0], "PUT", "k", "ack=3&from=5", b"wider");
        assert_eq!(refused.status, 503, "{refused:?}");
        let line = refused.json()["error"].as_str().unwrap().to_owned();
        line.contains("and n5 does not yet")
    });
    // What nobody waits for goes on, and so do bulk loads, which wait as well.
    put(&flock.nodes[1], "k", "ack=3&from=4", "as before");
    let path = "/v1/keyspaces/g/bulk?ack=3&from=5";
    assert_ne!(flock.nodes[1].request("POST", path, b"").status, 200);
    flock.up(4);
    eventually("it is wider", Duration::from_secs(20), || {
        ask(&flock.nodes[0], "PUT", "k", "ack=3&from=5", b"wider").status == 201
    });
    flock.kill(4);
    for index in 0..4 {
        eventually("they know", Duration::from_secs(10), || {
            ask(&flock.nodes[index], "PUT", "k", "ack=3&from=5", b"again").status == 201
        });
    }
    // Nor does it after restarts.
    for index in 0..4 {
        flock.kill(index);
        flock.up(index);
    }
    eventually("they remember", Duration::from_secs(20), || {
        ask(&flock.nodes[2], "PUT", "k", "ack=3&from=5", b"last").status == 201
    });
    let described = flock.nodes[3].request("GET", "/v1/keyspaces/g", b"").json();
    assert_eq!(described["widest"], 5, "{described}");
    assert_eq!(described["known"], 5, "{described}");
}

#[test]
fn members_change_and_the_newest_stays_however_few_it_asked_for() {
    let mut flock = five(&[]);
    let n6 = flock.join();
    flock.up(n6);
    let keys = keys("k", 200);
    for key in &keys {
        put(&flock.nodes[0], key, "ack=5&from=5", "widest");
    }
    for (round, change) in [["add", "n6"], ["drain", "n1"], ["drain", "n2"]]
        .iter()
        .enumerate()
    {
        let value = format!("narrow {round}");
        for (number, key) in keys.iter().enumerate() {
            put(&flock.nodes[number % 6], key, "ack=1&from=1", &value);
        }
        at(&mut flock, &["node", change[0], change[1], "--quiet"]).ok();
        // One and one of one: this read is to see that write, whoever is the one.
        let wrong = reads(&flock, &keys, "ack=1&from=1", 1, &value);
        assert!(
            wrong.is_empty(),
            "{change:?}: {} wrong: {:?}",
            wrong.len(),
            wrong[0]
        );
        let widest = if round < 2 {
            "ack=1&from=5"
        } else {
            "ack=1&from=4"
        };
        for query in ["ack=1", widest] {
            eventually("all have the newest", Duration::from_secs(30), || {
                reads(&flock, &keys, query, 1, &value).is_empty()
            });
        }
    }
}
