//! Faults of one machine of three: ranges go on at the others, and here again when it is over.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::namespace::Network;
use crate::harness::preload::{Clocks, Hangs};
use crate::harness::tmpfs::Tmpfs;
use crate::histories::etcd::apart;

const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
const DISK_MIB: u32 = 330;
const VALUE_BYTES: usize = 30_000;
/// More keys than fit on the disk.
const KEYS_MAX: usize = 20_000;

fn path(key: &str) -> String {
    format!("/v1/keyspaces/a/keys/{key}")
}

fn put(flock: &Flock, node: usize, key: &str, value: &[u8]) -> Answer {
    flock.nodes[node].request("PUT", &path(key), value)
}

/// A keyspace of two ranges: keys below 5, and others.
fn create(flock: &Flock) {
    let body = json!({"name": "a", "mode": "transactional", "split_at": ["5"]}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
}

/// Puts to both ranges are taken through these nodes.
fn all_take_puts(flock: &Flock, nodes: &[usize]) {
    for node in nodes {
        for key in ["1", "9"] {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let answer = put(flock, *node, key, b"v");
                if answer.status == 201 {
                    break;
                }
                let (name, text) = (&flock.nodes[*node].name, answer.text());
                assert!(
                    Instant::now() < deadline,
                    "key {key} through {name}: {text}"
                );
                thread::sleep(PAUSE);
            }
        }
    }
}

fn others(node: usize) -> [usize; 2] {
    [(node + 1) % 3, (node + 2) % 3]
}

#[test]
fn a_leader_whose_disk_hangs_is_replaced() {
    let mut flock = Flock::prepare(&["--shards=1"]);
    let hangs = Hangs::prepare(&mut flock, "/ranges/log/");
    flock.up_all();
    create(&flock);
    let hung = flock.until_led("_oracle");
    all_take_puts(&flock, &[0, 1, 2]);
    hangs.begin(hung);
    all_take_puts(&flock, &others(hung));
    for keyspace in ["a", "_oracle"] {
        eventually("another node leads", PATIENCE, || {
            let leads = flock.leader(keyspace);
            leads.is_some_and(|leads| leads != hung)
        });
    }
    eventually("its health says so", PATIENCE, || {
        let health = flock.nodes[hung].request("GET", "/health", b"");
        health.status == 503 && health.text().contains("its disk hangs")
    });
    hangs.end(hung);
    flock.ready(hung);
    all_take_puts(&flock, &[0, 1, 2]);
}

#[test]
fn a_leader_of_the_oracle_with_a_wrong_clock_is_replaced() {
    for ahead_s in [30, -3_600] {
        let mut flock = Flock::prepare(&["--shards=1"]);
        let clocks = Clocks::prepare(&mut flock);
        flock.up_all();
        create(&flock);
        let wrong = flock.until_led("_oracle");
        all_take_puts(&flock, &[0, 1, 2]);
        clocks.set(wrong, ahead_s);
        eventually("another node leads the oracle", PATIENCE, || {
            let leads = flock.leader("_oracle");
            leads.is_some_and(|leads| leads != wrong)
        });
        all_take_puts(&flock, &others(wrong));
        clocks.set(wrong, 0);
        all_take_puts(&flock, &[0, 1, 2]);
    }
}

#[test]
fn a_transaction_that_a_paused_leader_may_carry_out_is_not_refused() {
    let mut flock = Flock::prepare(&["--shards=1"]);
    flock.up_all();
    let body = json!({"name": "a", "mode": "transactional"}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    all_take_puts(&flock, &[0, 1, 2]);
    let leads = flock.until_led("a");
    let [gone, through] = others(leads);
    // The attempt that reaches the leader is given up, and then nobody leads.
    flock.nodes[leads].process().freeze();
    flock.kill(gone);
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let write = json!({"keyspace": "a", "key": "t", "value": "x"});
    let body = json!({"id": format!("{}-paused", ms.as_millis()), "writes": [write]}).to_string();
    let send = || flock.nodes[through].request("POST", "/v1/txn", body.as_bytes());
    let answer = send();
    assert_eq!(answer.status, 504, "{}", answer.text());
    flock.nodes[leads].process().signal("-CONT");
    eventually("it has happened, once", PATIENCE, || {
        let answer = send();
        assert!(
            answer.status == 200 || answer.status >= 500,
            "{}",
            answer.text()
        );
        answer.status == 200
    });
}

#[test]
fn ranges_are_written_through_a_third_node_while_two_do_not_reach_each_other() {
    let Some(network) = Network::of(4) else {
        return;
    };
    let mut flock = apart(&network, &["--shards=1"]);
    flock.up_all();
    create(&flock);
    let leads = flock.until_led("_oracle");
    all_take_puts(&flock, &[0, 1, 2]);
    let [cut, third] = others(leads);
    let open = |node: usize| {
        let mut id = String::new();
        eventually("a transaction begins", PATIENCE, || {
            let answer = flock.nodes[node].request("POST", "/v1/txn/begin", b"");
            if answer.status == 201 {
                id = answer.json()["id"].as_str().unwrap().to_owned();
            }
            answer.status == 201
        });
        id
    };
    let kept = open(leads);
    network.cut(leads, cut);
    network.cut(cut, leads);
    all_take_puts(&flock, &[leads, cut, third]);
    // Its steps are passed on to the node that keeps it.
    for (method, step, status) in [
        ("PUT", format!("/v1/txn/{kept}/keyspaces/a/keys/2"), 202),
        ("GET", format!("/v1/txn/{kept}/keyspaces/a/keys/2"), 200),
        ("POST", format!("/v1/txn/{kept}/commit"), 200),
    ] {
        eventually("a step is taken", Duration::from_secs(20), || {
            let answer = flock.nodes[cut].request(method, &step, b"x");
            assert!(
                answer.status == status || answer.status >= 500,
                "{method} {step}: {} {}",
                answer.status,
                answer.text()
            );
            answer.status == status
        });
    }
    network.heal(leads, cut);
    network.heal(cut, leads);
    all_take_puts(&flock, &[0, 1, 2]);
}

#[test]
fn ranges_go_on_by_themselves_after_all_disks_were_full() {
    let mut flock = Flock::prepare(&["--shards=1"]);
    let mut disks = Vec::new();
    for node in 0..3 {
        let path = flock.directory.path().join(format!("disk{node}"));
        let Some(disk) = Tmpfs::mount(&path, DISK_MIB) else {
            return;
        };
        flock.nodes[node].data = path.join("data");
        disks.push(disk);
    }
    flock.up_all();
    create(&flock);
    all_take_puts(&flock, &[0, 1, 2]);
    disks
        .iter()
        .for_each(|disk| disk.fill((DISK_MIB as usize - 130) << 20));
    let value = |number: usize| {
        let mut random = crate::harness::random::Random::new(number as u64);
        let words = (0..VALUE_BYTES / 8).flat_map(|_| random.next().to_le_bytes());
        words.collect::<Vec<u8>>()
    };
    // In both ranges.
    let key = |number: usize| format!("{:05}", number * 7 % 100_000);
    let (mut acknowledged, mut refused) = (Vec::new(), 0);
    for number in 0..KEYS_MAX {
        let answer = put(&flock, number % 3, &key(number), &value(number));
        match answer.status {
            201 => acknowledged.push(number),
            // By name, but for those whose time ended on their way.
            503 | 504 | 507 => refused += 1,
            status => panic!("{status}: {}", answer.text()),
        }
        if answer.status == 507 {
            break;
        }
    }
    assert!(refused > 0, "all fit on the disk");
    eventually("health says so", PATIENCE, || {
        flock.nodes.iter().any(|node| {
            let health = node.request("GET", "/health", b"");
            health.status == 503 && health.text().contains("no space left")
        })
    });
    disks.iter().for_each(Tmpfs::empty);
    all_take_puts(&flock, &[0, 1, 2]);
    for number in acknowledged {
        let key = key(number);
        eventually("an acknowledged value is there", PATIENCE, || {
            let got = flock.nodes[number % 3].request("GET", &path(&key), b"");
            got.status == 200 && got.body == value(number)
        });
    }
}
