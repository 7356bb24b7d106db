//! A disk that is full: refused clearly, nothing acknowledged lost, over when there is room.

// Tests stand outside the simulation: processes, sockets, files and time are real.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::harness::eventually;
use crate::harness::flock::{Flock, Node};
use crate::harness::tmpfs::Tmpfs;

const DISK_MIB: u32 = 48;
const BALLAST_BYTES: usize = 24 << 20;
const SMALL: &[&str] = &[
    "--segment",
    "1MiB",
    "--flush",
    "1MiB",
    "--retention",
    "4MiB",
];
const VALUE_BYTES: usize = 50_000;

fn value(number: usize) -> Vec<u8> {
    // Not to be compressed away.
    let mut random = crate::harness::random::Random::new(number as u64);
    (0..VALUE_BYTES / 8)
        .flat_map(|_| random.next().to_le_bytes())
        .collect()
}

fn key(number: usize) -> String {
    format!("full{number:05}")
}

/// Puts through `node` until `full` says so; returns what was acknowledged.
fn fill(node: &Node, mut full: impl FnMut(u16) -> bool) -> BTreeMap<usize, Vec<u8>> {
    let mut acknowledged = BTreeMap::new();
    for number in 0..2_000 {
        let value = value(number);
        let status = node.put(&key(number), &value, "").status;
        if status == 201 {
            acknowledged.insert(number, value);
        }
        if full(status) {
            return acknowledged;
        }
    }
    panic!("100 MB fit on a disk of {DISK_MIB} MiB");
}

fn verify(node: &Node, acknowledged: &BTreeMap<usize, Vec<u8>>, rest: &str) {
    for (number, value) in acknowledged {
        let read = node.get(&key(*number), rest);
        assert!(
            read.status == 200 && read.body == *value,
            "{} through {}: {}",
            key(*number),
            node.name,
            read.status
        );
    }
}

#[test]
fn one_full_disk_of_three_is_reported_and_served_around() {
    let mut flock = Flock::prepare(SMALL);
    let Some(disk) = Tmpfs::mount(&flock.directory.path().join("disk"), DISK_MIB) else {
        return;
    };
    disk.fill(BALLAST_BYTES);
    flock.nodes[2].data = flock.directory.path().join("disk/n3");
    flock.up_all();
    flock.ready(2);
    let health = |flock: &Flock| flock.nodes[2].request("GET", "/health", b"");
    let mut acknowledged = fill(&flock.nodes[0], |status| {
        assert_eq!(status, 201, "two disks have room");
        health(&flock).status == 503
    });
    let reason = health(&flock).json()["error"].as_str().unwrap().to_owned();
    assert!(reason.to_lowercase().contains("space"), "{reason}");
    assert!(flock.nodes[2].process_mut().is_running());
    // Every node still coordinates reads and writes, the full one too.
    for number in 10_000..10_030 {
        let node = &flock.nodes[number % 3];
        assert_eq!(
            node.put(&key(number), b"while full", "").status,
            201,
            "through {}",
            node.name
        );
        acknowledged.insert(number, b"while full".to_vec());
    }
    for node in &flock.nodes {
        verify(node, &acknowledged, "");
    }
    // The newest file of its log may still have room for a little.
    let large: Vec<u8> = (0..100_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    eventually("the third cannot take it", Duration::from_secs(60), || {
        flock.nodes[0].put("all", &large, "&ack=3").status == 504
    });
    let status = flock.nodes[0].status();
    let shards = status["shards"].as_array().unwrap();
    let troubled: Vec<_> = shards
        .iter()
        .filter(|shard| !shard["trouble"].is_null())
        .collect();
    assert_eq!(troubled.len(), 1, "{status}");
    assert_eq!(troubled[0]["shard"], "n3/0");

    disk.empty();
    eventually("n3 recovers by itself", Duration::from_secs(30), || {
        health(&flock).status == 200
    });
    eventually("n3 takes writes again", Duration::from_secs(30), || {
        flock.nodes[2].put("after", b"x", "&ack=3").status == 201
    });
    eventually("n3 catches up", Duration::from_secs(40), || {
        acknowledged
            .keys()
            .all(|number| flock.nodes[2].get(&key(*number), "&ack=1").status == 200)
    });
    flock.kill(0);
    flock.kill(1);
    verify(&flock.nodes[2], &acknowledged, "&ack=1");
}

#[test]
fn a_node_alone_refuses_with_507_and_survives_a_kill_while_full() {
    let mut flock = Flock::prepare(SMALL);
    let Some(disk) = Tmpfs::mount(&flock.directory.path().join("disk"), DISK_MIB) else {
        return;
    };
    disk.fill(BALLAST_BYTES);
    let node = &mut flock.nodes[0];
    node.data = flock.directory.path().join("disk/n1");
    node.flags.extend(["--replicas".to_owned(), "1".to_owned()]);
    flock.up(0);
    let node = &flock.nodes[0];
    let (mut refusals, mut unknown) = (0, 0);
    let mut acknowledged = fill(node, |status| {
        assert!([201, 504, 507].contains(&status), "{status}");
        refusals += usize::from(status == 507);
        // Whoever is under way when the last byte is taken waits for room until the deadline.
        unknown += usize::from(status == 504);
        assert!(unknown <= 2, "{unknown} timeouts instead of a refusal");
        refusals >= 20
    });
    let refused = node.put("refused", &value(1), "");
    assert_eq!(refused.status, 507);
    assert!(
        refused.text().contains("space") && refused.text().lines().count() == 1,
        "{}",
        refused.text()
    );
    let health = node.request("GET", "/health", b"");
    assert_eq!(health.status, 503);
    verify(node, &acknowledged, "");

    // Killed while full: it must not need room to come back, or say what it needs.
    flock.kill(0);
    flock.spawn(0);
    let mut clear = false;
    eventually(
        "it starts, or says why not",
        Duration::from_secs(30),
        || {
            let node = &mut flock.nodes[0];
            if !node.is_running() {
                let output = node.output();
                let last = output.lines().last().unwrap_or_default().to_owned();
                assert!(
                    last.starts_with("dunlin: ") && last.to_lowercase().contains("space"),
                    "{output}"
                );
                clear = true;
                return true;
            }
            node.try_request("GET", "/health", b"").is_ok()
        },
    );
    println!("started while full: {}", !clear);
    if !clear {
        eventually(
            "all is readable while full",
            Duration::from_secs(20),
            || flock.nodes[0].get(&key(0), "").status == 200,
        );
        verify(&flock.nodes[0], &acknowledged, "");
        flock.kill(0);
    }
    disk.empty();
    flock.up(0);
    verify(&flock.nodes[0], &acknowledged, "");
    for number in 20_000..20_100 {
        let value = value(number);
        assert_eq!(flock.nodes[0].put(&key(number), &value, "").status, 201);
        acknowledged.insert(number, value);
    }
    verify(&flock.nodes[0], &acknowledged, "");
}
