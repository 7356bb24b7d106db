//! Clients notice nothing of it when leaders change and nodes restart in good order, and lose nothing while ranges move.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::child::command;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::wire::Wire;

const CLIENTS: usize = 8;
/// Ranges of the keyspace and the oracle's.
const RANGES: usize = 4;

fn start() -> Flock {
    let flock = Flock::start(&["--shards=2"]);
    let body = json!({"name": "bank", "mode": "transactional", "split_at": ["3", "6"]});
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    whole(&flock, 0);
    flock
}

fn whole(flock: &Flock, node: usize) {
    eventually("all ranges are whole", Duration::from_secs(60), || {
        flock.nodes[node].has_whole_ranges(RANGES)
    });
}

/// What clients saw.
#[derive(Default)]
struct Seen {
    stored: AtomicU64,
    /// Answers that a client would have to act on.
    refused: Mutex<Vec<String>>,
    longest_us: AtomicU64,
}

/// Puts from many clients to all nodes, while something is done. One goes to the next node where a connection is refused
/// or broken off before the request was sent.
fn beside(flock: &mut Flock, act: impl FnOnce(&mut Flock)) -> Arc<Seen> {
    let (seen, ends) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (seen, ends, nodes) = (seen.clone(), ends.clone(), flock.addresses());
            thread::spawn(move || {
                let mut turn = client;
                while !ends.load(Ordering::Relaxed) {
                    turn += 1;
                    put(&nodes, &seen, client, turn);
                }
            })
        })
        .collect();
    act(flock);
    ends.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    seen
}

fn put(nodes: &[SocketAddr], seen: &Seen, client: usize, turn: usize) {
    let Ok(mut wire) = Wire::try_open_at(nodes[turn % nodes.len()]) else {
        return thread::sleep(Duration::from_millis(5));
    };
    wire.patience(Duration::from_secs(12));
    let path = format!("/v1/keyspaces/bank/keys/{}-{client}", turn % 10);
    let start = Instant::now();
    let Ok(answer) = wire.try_request_with("PUT", &path, "", turn.to_string()) else {
        return;
    };
    let took_us = start.elapsed().as_micros() as u64;
    match answer.status {
        201 => {
            seen.stored.fetch_add(1, Ordering::Relaxed);
            seen.longest_us.fetch_max(took_us, Ordering::Relaxed);
        }
        status => {
            let line = format!("{status} {}", answer.text());
            seen.refused.lock().unwrap().push(line);
        }
    }
}

/// Nothing was refused, and more than so much was stored.
fn check(seen: &Seen, least: u64) {
    let stored = seen.stored.load(Ordering::Relaxed);
    let longest_ms = seen.longest_us.load(Ordering::Relaxed) / 1_000;
    println!("{stored} stored, the longest took {longest_ms} ms");
    assert_eq!(*seen.refused.lock().unwrap(), Vec::<String>::new());
    assert!(stored > least, "{stored}");
}

#[test]
fn twenty_restarts_one_after_another_refuse_nothing() {
    let mut flock = start();
    let seen = beside(&mut flock, |flock| {
        for turn in 0..20 {
            let node = turn % 3;
            flock.stop(node);
            flock.up(node);
            flock.ready(node);
            whole(flock, node);
        }
    });
    check(&seen, 1_000);
}

#[test]
fn ten_changes_of_leader_in_a_row_refuse_nothing() {
    let mut flock = start();
    // All is calm for long enough that a leader is changed at once.
    thread::sleep(Duration::from_secs(12));
    let server = format!("--server=http://{}", flock.nodes[0].address());
    let seen = beside(&mut flock, |_| {
        for turn in 0..10 {
            for range in ["0", "1", "2"] {
                let node = format!("n{}", turn % 3 + 1);
                let lead = ["range", "lead", "bank", range, &node, "--no-wait"];
                let out = command().args(lead).arg(&server).output().unwrap();
                assert!(out.status.success(), "{out:?}");
            }
            thread::sleep(Duration::from_millis(500));
        }
    });
    check(&seen, 500);
}

#[test]
fn a_node_is_added_and_another_drained_beside_clients() {
    let mut flock = start();
    flock.up_spare();
    let server = format!("--server=http://{}", flock.nodes[1].address());
    let seen = beside(&mut flock, |_| {
        for change in [
            ["add", "n4"],
            ["drain", "n1"],
            ["add", "n1"],
            ["drain", "n3"],
        ] {
            let out = command().arg("node").args(change).arg(&server).output();
            let out = out.unwrap();
            assert!(out.status.success(), "{out:?}");
        }
    });
    whole(&flock, 1);
    check(&seen, 0);
}
