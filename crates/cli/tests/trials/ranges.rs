//! Counters and locks of a transactional keyspace hold, while leaders are killed and stopped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::wire::Wire;

const COUNTERS: usize = 32;
const LOCKS: usize = 3;
const WORKERS: usize = 8;
/// Writes of 64 KiB whose copy takes some seconds.
const MUCH: u64 = 6_000;
const LASTS: Duration = Duration::from_secs(60);
/// Longer than any request is waited for.
const PATIENCE: Duration = Duration::from_secs(12);

fn path(key: &str) -> String {
    format!("/v1/keyspaces/accounts/keys/{key}")
}

fn start() -> Flock {
    let flock = Flock::start(&["--shards=2"]);
    let body = json!({"name": "accounts", "mode": "transactional"}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    flock
}

/// One request on a connection of its own; none where no answer came.
fn ask(at: SocketAddr, method: &str, key: &str, headers: &str, body: &str) -> Option<Answer> {
    let mut wire = Wire::try_open_at(at).ok()?;
    wire.patience(PATIENCE);
    wire.try_request_with(method, &path(key), headers, body)
        .ok()
}

/// Kills leaders and stops them, in turns, for as long as the load lasts.
fn disturb(flock: &mut Flock) -> u64 {
    let (begun, mut times) = (Instant::now(), 0);
    while begun.elapsed() < LASTS {
        thread::sleep(Duration::from_secs(2));
        // Without timestamps nothing goes on either.
        let keyspace = ["accounts", "_oracle"][times as usize / 3 % 2];
        let Some(first) = flock.leader(keyspace) else {
            continue;
        };
        times += 1;
        match times % 3 {
            0 => {
                flock.nodes[first].process_mut().freeze();
                thread::sleep(Duration::from_secs(5));
                flock.nodes[first].process_mut().signal("-CONT");
            }
            _ => {
                flock.kill(first);
                thread::sleep(Duration::from_secs(2));
                flock.up(first);
            }
        }
    }
    times
}

/// What became of increments of a counter.
#[derive(Default)]
struct Counter {
    acknowledged: AtomicU64,
    unknown: AtomicU64,
}

#[test]
fn counters_lose_nothing_while_leaders_die() {
    counters(disturb);
}

#[test]
fn counters_lose_nothing_while_disks_are_lost() {
    counters(lose_disks);
}

/// Takes the disk of the leader, or of a follower, or puts a copy of the directory in its place; the next when all is
/// whole again.
fn lose_disks(flock: &mut Flock) -> u64 {
    let (begin, mut times) = (Instant::now(), 0);
    while begin.elapsed() < LASTS {
        thread::sleep(Duration::from_secs(1));
        let keyspace = ["accounts", "_oracle"][times as usize / 2 % 2];
        let Some(leads) = flock.leader(keyspace) else {
            continue;
        };
        let lost = (leads + times as usize % 2) % 3;
        flock.kill(lost);
        if times % 3 == 2 {
            flock.nodes[lost].move_data();
        } else {
            std::fs::remove_dir_all(&flock.nodes[lost].data).unwrap();
        }
        flock.up(lost);
        eventually("all ranges are whole", Duration::from_secs(60), || {
            flock.nodes[lost].has_whole_ranges(2)
        });
        times += 1;
    }
    times
}

/// A copy takes longer than the log in memory reaches back: one is enough all the same.
#[test]
fn a_replica_that_was_away_takes_one_copy_while_writes_go_on() {
    let mut flock = Flock::start(&["--retention=64MiB"]);
    let body = json!({"name": "accounts", "mode": "transactional"}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let addresses = flock.addresses();
    let value = "v".repeat(64 << 10);
    let write = |worker: usize, turn: usize, keys: usize| {
        let key = format!("{worker}-{}", turn % keys);
        let put = ask(addresses[turn % 2], "PUT", &key, "", &value);
        put.is_some_and(|put| put.status == 201)
    };
    flock.kill(2);
    let ends = AtomicBool::new(false);
    let written = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..4 {
            let (write, ends, written) = (&write, &ends, &written);
            scope.spawn(move || {
                for turn in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let is_done = write(worker, turn, 1_500);
                    written.fetch_add(u64::from(is_done), Ordering::Relaxed);
                }
            });
        }
        eventually("there is much to copy", Duration::from_secs(240), || {
            written.load(Ordering::Relaxed) > MUCH
        });
        flock.up(2);
        let whole = Instant::now();
        eventually("all ranges are whole", Duration::from_secs(120), || {
            flock.nodes[0].has_whole_ranges(2)
        });
        let (before, took) = (written.load(Ordering::Relaxed), whole.elapsed());
        println!("whole after {took:?}, {} puts meanwhile", before - MUCH);
        // Clients are fast again.
        thread::sleep(Duration::from_secs(2));
        println!(
            "{} puts in 2 s afterwards",
            written.load(Ordering::Relaxed) - before
        );
        ends.store(true, Ordering::Relaxed);
    });
    let status = flock.nodes[2].status();
    let ranges = status["ranges"].as_array().unwrap().iter();
    let mut own = ranges.filter(|row| row["keyspace"] == "accounts" && row["at"] == "n3/0");
    assert_eq!(own.next().unwrap()["snapshots"], 1);
}

fn counters(disturb: impl Fn(&mut Flock) -> u64) {
    let mut flock = start();
    for counter in 0..COUNTERS {
        let put = flock.nodes[0].request("PUT", &path(&format!("c{counter}")), b"0");
        assert_eq!(put.status, 201);
    }
    let counters: Arc<Vec<Counter>> = Arc::new((0..COUNTERS).map(|_| Counter::default()).collect());
    let ends = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (counters, ends, addresses) = (counters.clone(), ends.clone(), flock.addresses());
            thread::spawn(move || {
                let mut turn = worker * 7;
                while !ends.load(Ordering::Relaxed) {
                    turn += 1;
                    increment(&addresses, &counters, turn % COUNTERS, turn);
                }
            })
        })
        .collect();
    let times = disturb(&mut flock);
    ends.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().unwrap();
    }
    let mut all = (0, 0);
    for (number, counter) in counters.iter().enumerate() {
        let mut told = None;
        eventually("the counter is read", Duration::from_secs(30), || {
            let node = flock.nodes[number % 3].address();
            let answer = ask(node, "GET", &format!("c{number}"), "", "");
            told = answer.filter(|answer| answer.status == 200);
            told.is_some()
        });
        let value: u64 = told.unwrap().text().parse().unwrap();
        let acknowledged = counter.acknowledged.load(Ordering::Relaxed);
        let unknown = counter.unknown.load(Ordering::Relaxed);
        assert!(
            (acknowledged..=acknowledged + unknown).contains(&value),
            "c{number} is {value} after {acknowledged} acknowledged and {unknown} unknown increments"
        );
        all = (all.0 + acknowledged, all.1 + unknown);
    }
    println!(
        "{} increments acknowledged, {} unknown, {times} leaders disturbed",
        all.0, all.1
    );
    assert!(all.0 > 1_000 && times > 5, "{all:?} {times}");
}

fn increment(addresses: &[SocketAddr], counters: &[Counter], number: usize, turn: usize) {
    let key = format!("c{number}");
    let Some(read) = ask(addresses[turn % 3], "GET", &key, "", "") else {
        return thread::sleep(Duration::from_millis(50));
    };
    if read.status != 200 {
        assert!(
            matches!(read.status, 503 | 504),
            "{} {}",
            read.status,
            read.text()
        );
        return thread::sleep(Duration::from_millis(50));
    }
    let next = read.text().parse::<u64>().unwrap() + 1;
    let condition = format!("If-Match: {}\r\n", read.version());
    let put = ask(
        addresses[(turn / 3) % 3],
        "PUT",
        &key,
        &condition,
        &next.to_string(),
    );
    let counter = &counters[number];
    match put.map(|put| (put.status, put)) {
        Some((201, _)) => drop(counter.acknowledged.fetch_add(1, Ordering::Relaxed)),
        Some((412, _)) => {}
        // It says that nothing was written.
        Some((503, put)) if put.header("dunlin-written") == Some("no") => {}
        Some((503 | 504, _)) | None => drop(counter.unknown.fetch_add(1, Ordering::Relaxed)),
        Some((status, put)) => panic!("{status} {}", put.text()),
    }
}

#[test]
fn a_lock_is_never_held_twice_while_leaders_die() {
    let mut flock = start();
    let held: Arc<Vec<AtomicBool>> = Arc::new((0..LOCKS).map(|_| AtomicBool::new(false)).collect());
    let (ends, taken) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (held, ends, taken) = (held.clone(), ends.clone(), taken.clone());
            let addresses = flock.addresses();
            thread::spawn(move || {
                let (mut turn, mut fence) = (worker, [const { String::new() }; LOCKS]);
                while !ends.load(Ordering::Relaxed) {
                    turn += 1;
                    let lock = turn % LOCKS;
                    let owner = format!("{worker}-{turn}");
                    if let Some(version) = take(&addresses, lock, &owner, turn) {
                        assert!(
                            !held[lock].swap(true, Ordering::SeqCst),
                            "lock {lock} is held twice"
                        );
                        assert!(version > fence[lock], "{version} after {}", fence[lock]);
                        fence[lock].clone_from(&version);
                        taken.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(2));
                        held[lock].store(false, Ordering::SeqCst);
                        give_back(&addresses, lock, &version, turn);
                    }
                }
            })
        })
        .collect();
    let times = disturb(&mut flock);
    ends.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().unwrap();
    }
    let taken = taken.load(Ordering::Relaxed);
    println!("{taken} locks taken, {times} leaders disturbed");
    assert!(taken > 300 && times > 5, "{taken} {times}");
}

/// Takes a lock; its version where this owner holds it. Who is not told looks.
fn take(addresses: &[SocketAddr], lock: usize, owner: &str, turn: usize) -> Option<String> {
    let key = format!("lock{lock}");
    let put = ask(
        addresses[turn % 3],
        "PUT",
        &key,
        "If-None-Match: *\r\n",
        owner,
    );
    match put.as_ref().map(|put| put.status) {
        Some(201) => return put.map(|put| put.version().to_owned()),
        Some(412) => {
            thread::sleep(Duration::from_millis(3));
            // An earlier attempt whose fate was not known may have come to pass since.
            let worker = owner.split('-').next().unwrap();
            let read = ask(addresses[turn % 3], "GET", &key, "", "")?;
            let is_own = read.status == 200 && read.text().split('-').next() == Some(worker);
            return is_own.then(|| read.version().to_owned());
        }
        _ => {}
    }
    loop {
        for address in addresses {
            match ask(*address, "GET", &key, "", "") {
                Some(answer) if answer.status == 200 => {
                    let is_own = answer.text() == owner;
                    return is_own.then(|| answer.version().to_owned());
                }
                Some(answer) if answer.status == 404 => {
                    // It may yet come: another take of one's own settles it.
                    return take_over(addresses, lock, owner, turn);
                }
                _ => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// Tries again under the same name: whichever attempt comes first holds.
fn take_over(addresses: &[SocketAddr], lock: usize, owner: &str, turn: usize) -> Option<String> {
    let key = format!("lock{lock}");
    for turn in turn.. {
        let put = ask(
            addresses[turn % 3],
            "PUT",
            &key,
            "If-None-Match: *\r\n",
            owner,
        );
        let read = match put {
            Some(put) if put.status == 201 => return Some(put.version().to_owned()),
            _ => ask(addresses[turn % 3], "GET", &key, "", ""),
        };
        match read {
            Some(read) if read.status == 200 => {
                return (read.text() == owner).then(|| read.version().to_owned());
            }
            _ => thread::sleep(Duration::from_millis(50)),
        }
    }
    None
}

/// Gives a lock back, until that is certain.
fn give_back(addresses: &[SocketAddr], lock: usize, version: &str, turn: usize) {
    let key = format!("lock{lock}");
    for turn in turn.. {
        let condition = format!("If-Match: {version}\r\n");
        match ask(addresses[turn % 3], "DELETE", &key, &condition, "") {
            Some(answer) if matches!(answer.status, 202 | 412) => return,
            _ => thread::sleep(Duration::from_millis(50)),
        }
    }
}

#[test]
fn a_put_that_waited_in_a_stopped_node_never_lands_above_what_followed_it() {
    let mut flock = start();
    for round in 0..4 {
        let key = format!("k{round}");
        eventually("what is before is written", Duration::from_secs(20), || {
            let put = ask(flock.nodes[0].address(), "PUT", &key, "", "before");
            put.is_some_and(|put| put.status == 201)
        });
        let leads = flock.leader("accounts").unwrap();
        // The leader, then one that is none.
        let stopped = (leads + round % 2) % 3;
        let other = (stopped + 1) % 3;
        let mut waiting = flock.nodes[stopped].wire();
        flock.nodes[stopped].process_mut().freeze();
        waiting.try_send("PUT", &path(&key), "", b"waited").unwrap();
        eventually("what follows is written", Duration::from_secs(20), || {
            let put = ask(flock.nodes[other].address(), "PUT", &key, "", "followed");
            put.is_some_and(|put| put.status == 201)
        });
        // Who waits for a second or less is beside what followed, not before it.
        thread::sleep(Duration::from_secs(3));
        flock.nodes[stopped].process_mut().signal("-CONT");
        let answer = waiting.head();
        let status = answer.map(|answer| answer.status);
        assert!(!matches!(status, Ok(201)), "{status:?}");
        eventually(
            "all nodes read what followed",
            Duration::from_secs(20),
            || {
                let read = |node: usize| ask(flock.nodes[node].address(), "GET", &key, "", "");
                (0..3).all(|node| {
                    read(node).is_some_and(|read| read.status == 200 && read.text() == "followed")
                })
            },
        );
    }
}
