//! A node whose past is not certain: restored from an older copy, set back, emptied after others
//! have left. It must not answer for what it does not know.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::flock::{Flock, Node};
use crate::harness::{duplicate, eventually};

const KEYS: usize = 120;
/// Part of the line that a node of uncertain past prints.
const DOUBT: &str = "it answers no reads before the other replicas have given it what it lacks";
/// The longest anything here may take on a machine that does other things, too.
const LONG: Duration = Duration::from_secs(60);

fn key(number: usize) -> String {
    format!("key-{number:04}")
}

fn put_all(node: &Node, value: &str) {
    for number in 0..KEYS {
        let answer = node.put(&key(number), value.as_bytes(), "");
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

/// Replaces what is at `to` by a copy of `from`, as a backup is put back.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).unwrap();
    }
    duplicate(from, to);
}

fn shard(node: &Node, name: &str) -> Value {
    let status = node.status();
    let shards = status["shards"].as_array().unwrap();
    shards.iter().find(|s| s["shard"] == name).unwrap().clone()
}

fn wait_whole(node: &Node) {
    let name = format!("{}/0", node.name);
    eventually(&format!("{name} is whole"), LONG, || {
        shard(node, &name)["refilling"] == false
    });
}

/// How many keys a node answers with `value`, how many it calls absent, and how many it does not know.
fn count(node: &Node, value: &str, rest: &str) -> (usize, usize, usize) {
    count_of(node, value, rest, 1)
}

/// The same of every so manieth key: not to know may take its time.
fn count_of(node: &Node, value: &str, rest: &str, step: usize) -> (usize, usize, usize) {
    let mut counts = (0, 0, 0);
    for number in (0..KEYS).step_by(step) {
        let answer = node.get(&key(number), rest);
        match answer.status {
            200 if answer.body == value.as_bytes() => counts.0 += 1,
            404 => counts.1 += 1,
            504 => counts.2 += 1,
            status => panic!("{status}: {answer:?}"),
        }
    }
    counts
}

#[test]
fn a_node_restored_from_an_older_copy_hides_no_acknowledged_write() {
    let mut flock = Flock::start(&["--clock-bound", "5s"]);
    assert_eq!(flock.nodes[0].put("before", b"v", "&ack=3").status, 201);
    flock.stop(2);
    let backup = flock.directory.path().join("backup");
    copy(&flock.nodes[2].data, &backup);
    flock.up(2);
    flock.wait_connected();
    // These are on n1 and n3 alone.
    flock.stop(1);
    put_all(&flock.nodes[0], "v");
    flock.stop(2);
    flock.stop(0);
    copy(&backup, &flock.nodes[2].data);
    for index in [1, 2] {
        flock.spawn(index);
    }
    for index in [1, 2] {
        let node = &flock.nodes[index];
        eventually("it serves", LONG, || {
            node.try_request("GET", "/v1/status", b"").is_ok()
        });
        assert_eq!(
            count_of(node, "v", "", 10),
            (0, 0, KEYS / 10),
            "{}",
            node.name
        );
    }
    assert!(flock.nodes[2].output().contains(DOUBT));
    let told = shard(&flock.nodes[1], "n3/0");
    assert_eq!(told["refilling"], true);
    assert_eq!(told["refill"]["waits_for"], json!(["n1/0"]));
    let reason = told["refill"]["reason"].as_str().unwrap();
    assert!(reason.contains("older copy"), "{reason}");
    // It takes writes meanwhile, and its word counts once nothing that it forgot can be stamped later:
    // three times the clocks' bound.
    eventually("n3 counts", LONG, || {
        flock.nodes[1].put("meanwhile", b"v", "&ack=2").status == 201
    });
    // Over a restart, too.
    flock.stop(2);
    flock.spawn(2);
    eventually("n3 serves", LONG, || {
        flock.nodes[2].try_request("GET", "/v1/status", b"").is_ok()
    });
    assert_eq!(count_of(&flock.nodes[2], "v", "", 10), (0, 0, KEYS / 10));

    flock.up(0);
    wait_whole(&flock.nodes[2]);
    flock.kill(0);
    flock.kill(1);
    assert_eq!(count(&flock.nodes[2], "v", "&ack=1"), (KEYS, 0, 0));
    for key in ["before", "meanwhile"] {
        assert_eq!(flock.nodes[2].get(key, "&ack=1").status, 200, "{key}");
    }
}

#[test]
fn a_log_and_a_store_that_were_set_back_are_noticed_by_what_was_closed() {
    let mut flock = Flock::start(&[]);
    assert_eq!(flock.nodes[0].put("before", b"v", "&ack=3").status, 201);
    flock.stop(2);
    let backup = flock.directory.path().join("backup");
    copy(&flock.nodes[2].data, &backup);
    flock.up(2);
    flock.wait_connected();
    put_all(&flock.nodes[0], "v");
    // Shards exchange vectors twice a second.
    std::thread::sleep(Duration::from_millis(1_500));
    flock.stop(2);
    // Log and store go back; all that tells of starts stays.
    for part in ["log", "store"] {
        let part = Path::new("shard-0").join(part);
        copy(&backup.join(&part), &flock.nodes[2].data.join(&part));
    }
    flock.up(2);
    eventually("n3 is in doubt", LONG, || {
        flock.nodes[2].output().contains(DOUBT)
    });
    wait_whole(&flock.nodes[2]);
    // That is over: what the others remember is what it holds now.
    std::thread::sleep(Duration::from_millis(1_500));
    flock.stop(2);
    flock.up(2);
    wait_whole(&flock.nodes[2]);
    let output = flock.nodes[2].output();
    assert_eq!(output.matches(DOUBT).count(), 1, "{output}");
    flock.kill(0);
    flock.kill(1);
    assert_eq!(count(&flock.nodes[2], "v", "&ack=1"), (KEYS, 0, 0));
}

#[test]
fn a_kill_of_the_program_loses_nothing_and_nothing_is_asked_for() {
    for sync in ["never", "interval:60000ms"] {
        let mut flock = Flock::start(&["--sync", sync]);
        put_all(&flock.nodes[0], sync);
        for round in 0..3 {
            for index in 0..3 {
                flock.kill(index);
            }
            // Alone, so that it is its own word.
            let index = round % 3;
            flock.spawn(index);
            let node = &flock.nodes[index];
            eventually("it serves", LONG, || {
                node.try_request("GET", "/v1/status", b"").is_ok()
            });
            let (found, absent, unknown) = count(node, sync, "&ack=1");
            assert!(found > 0 && unknown == 0, "{found} {absent} {unknown}");
            assert_eq!(shard(node, &format!("{}/0", node.name))["refilling"], false);
            flock.up_all();
            assert_eq!(count(&flock.nodes[index], sync, ""), (KEYS, 0, 0));
        }
        for node in &flock.nodes {
            assert!(!node.output().contains(DOUBT), "{}", node.output());
        }
    }
}

fn change(flock: &Flock, body: Value) {
    let answer = flock.nodes[1].request("POST", "/v1/members", body.to_string().as_bytes());
    assert_eq!(answer.status, 202, "{answer:?}");
    eventually("the change is complete", LONG * 2, || {
        let members = flock.nodes[1].request("GET", "/v1/members", b"").json();
        members["change"].is_null()
    });
}

#[test]
fn what_came_through_nodes_that_have_left_is_refilled_too() {
    const ALL: usize = 500;
    let mut flock = Flock::start(&[]);
    for number in 0..ALL {
        let answer = flock.nodes[0].put(&key(number), b"through n1", "&ack=3");
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let n4 = flock.join();
    flock.up(n4);
    change(&flock, json!({"add": ["n4"], "drain": []}));
    change(&flock, json!({"add": [], "drain": ["n1"]}));
    for index in [1, 2] {
        flock.stop(index);
        std::fs::remove_dir_all(&flock.nodes[index].data).unwrap();
        flock.up(index);
        wait_whole(&flock.nodes[index]);
    }
    flock.kill(n4);
    let mut missing = Vec::new();
    for number in 0..ALL {
        let answer = flock.nodes[1].get(&key(number), "");
        if answer.status != 200 || answer.body != b"through n1" {
            missing.push((number, answer.status));
        }
    }
    assert!(
        missing.is_empty(),
        "{} of {ALL}: {missing:?}",
        missing.len()
    );
}

/// Changes one byte in the middle of each of a stopped node's larger tables.
fn damage_tables(node: &Node) {
    let tables = std::fs::read_dir(node.data.join("shard-0/store")).unwrap();
    let tables = tables.map(|entry| entry.unwrap().path());
    let mut damaged = 0;
    for table in tables.filter(|path| path.extension().is_some_and(|e| e == "sst")) {
        let mut bytes = std::fs::read(&table).unwrap();
        if bytes.len() > 100_000 {
            let at = bytes.len() / 3;
            bytes[at] ^= 16;
            std::fs::write(&table, bytes).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0);
}

#[test]
fn a_refill_that_its_own_damage_holds_up_says_what_to_do() {
    let mut flock = Flock::start(&["--flush", "1MiB"]);
    // Nothing that compression makes small.
    let value = |number: usize| {
        let mut state = number as u64 + 1;
        let noise = (0..6_000).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        });
        noise.collect::<Vec<u8>>()
    };
    for number in 0..400 {
        let put = flock.nodes[0].put(&key(number), &value(number), "&ack=3");
        assert_eq!(put.status, 201, "{put:?}");
    }
    flock.stop(2);
    let backup = flock.directory.path().join("backup");
    copy(&flock.nodes[2].data, &backup);
    flock.up(2);
    flock.wait_connected();
    flock.kill(2);
    copy(&backup, &flock.nodes[2].data);
    damage_tables(&flock.nodes[2]);
    flock.up(2);
    let advice = "stop node n3, remove its data directory";
    eventually("its health says what to do", LONG, || {
        let health = flock.nodes[2].request("GET", "/health", b"");
        assert_eq!(health.status, 503, "{}", health.text());
        health.json()["error"].to_string().contains(advice)
    });
    let told = shard(&flock.nodes[0], "n3/0");
    let damage = told["refill"]["damage"].as_str().unwrap();
    assert!(damage.contains(advice), "{damage}");
    assert_eq!(told["refill"]["waits_for"], json!([]));
    let tries = || flock.nodes[2].output().matches("a page cannot be").count();
    let before = tries();
    std::thread::sleep(Duration::from_secs(5));
    let more = tries() - before;
    assert!(more <= 2, "{more} tries in 5 s");

    flock.stop(2);
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    flock.up(2);
    wait_whole(&flock.nodes[2]);
    let got = flock.nodes[2].get(&key(7), "&ack=1");
    assert_eq!((got.status, &got.body), (200, &value(7)));
}

/// The metadata store counts no start that it does not see: a backup from before such a start looks
/// like the last state there was.
#[test]
fn a_copy_from_before_a_start_without_etcd_hides_nothing_of_that_start() {
    let mut flock = Flock::start(&[]);
    assert_eq!(flock.nodes[0].put("before", b"v", "&ack=3").status, 201);
    flock.stop(1);
    let backup = flock.directory.path().join("backup");
    copy(&flock.nodes[1].data, &backup);
    flock.etcd.kill();
    flock.stop(2);
    flock.up(1);
    // On n1, and on n2 in a life that nobody else has seen.
    eventually("the two take writes", LONG, || {
        flock.nodes[0].put("first", b"v", "").status == 201
    });
    put_all(&flock.nodes[0], "v");
    flock.stop(0);
    flock.stop(1);
    copy(&backup, &flock.nodes[1].data);
    flock.etcd.restart();
    for index in [1, 2] {
        flock.spawn(index);
    }
    for index in [1, 2] {
        let node = &flock.nodes[index];
        eventually("it serves", LONG, || {
            node.try_request("GET", "/v1/status", b"").is_ok()
        });
        let (found, absent, _) = count_of(node, "v", "", 10);
        assert_eq!((found, absent), (0, 0), "{}", node.name);
    }
    flock.up(0);
    for index in [1, 2] {
        wait_whole(&flock.nodes[index]);
    }
    eventually("all is back", LONG, || {
        flock
            .nodes
            .iter()
            .all(|node| count(node, "v", "") == (KEYS, 0, 0))
    });
}

#[test]
fn a_moved_directory_is_whole_once_all_have_been_heard() {
    let mut flock = Flock::start(&[]);
    put_all(&flock.nodes[0], "v");
    flock.stop(1);
    let moved = flock.directory.path().join("moved");
    copy(&flock.nodes[1].data, &moved);
    copy(&moved, &flock.nodes[1].data);
    flock.up(1);
    wait_whole(&flock.nodes[1]);
    assert_eq!(count(&flock.nodes[1], "v", "&ack=1&from=3"), (KEYS, 0, 0));
    // Its records did not travel again.
    assert_eq!(flock.nodes[1].metric("dunlin_backfilled_total"), 0.0);
}

/// A backup of a running node put back over it, as `rsync` and `cp` do: every file keeps its name,
/// most keep their number.
#[test]
fn a_directory_that_is_put_back_over_itself_hides_nothing() {
    for flags in [&["-ac", "--delete"][..], &["-ac", "--delete", "--inplace"]] {
        let mut flock = Flock::start(&[]);
        assert_eq!(flock.nodes[0].put("before", b"v", "&ack=3").status, 201);
        let backup = flock.directory.path().join("backup");
        copy(&flock.nodes[1].data, &backup);
        flock.stop(2);
        put_all(&flock.nodes[0], "v");
        flock.stop(0);
        flock.kill(1);
        let synced = Command::new("rsync")
            .args(flags)
            .arg(format!("{}/", backup.display()))
            .arg(format!("{}/", flock.nodes[1].data.display()))
            .status();
        assert!(synced.unwrap().success());
        for index in [1, 2] {
            flock.spawn(index);
        }
        for index in [1, 2] {
            let node = &flock.nodes[index];
            eventually("it serves", LONG, || {
                node.try_request("GET", "/v1/status", b"").is_ok()
            });
            let (found, absent, _) = count_of(node, "v", "", 10);
            assert_eq!(
                (found, absent),
                (0, 0),
                "{} after rsync {flags:?}",
                node.name
            );
        }
        flock.up(0);
        eventually("all is back", LONG, || {
            flock
                .nodes
                .iter()
                .all(|node| count_of(node, "v", "", 10) == (KEYS / 10, 0, 0))
        });
    }
}

/// A snapshot of a volume taken between two starts, and put back: only the number of starts tells.
#[test]
fn a_start_that_fails_does_not_hide_that_the_directory_is_an_older_copy() {
    let mut flock = Flock::start(&[]);
    assert_eq!(flock.nodes[0].put("before", b"v", "&ack=3").status, 201);
    let backup = flock.directory.path().join("backup");
    flock.stop(1);
    copy(&flock.nodes[1].data, &backup);
    flock.up(1);
    flock.wait_connected();
    // These are on n1 and n2 alone.
    flock.stop(2);
    put_all(&flock.nodes[0], "v");
    flock.stop(0);
    flock.kill(1);
    let synced = Command::new("rsync")
        .args(["-ac", "--delete", "--inplace"])
        .arg(format!("{}/", backup.display()))
        .arg(format!("{}/", flock.nodes[1].data.display()))
        .status();
    assert!(synced.unwrap().success());
    let current = flock.nodes[1].data.join("shard-0/store/CURRENT");
    let held = std::fs::read(&current).unwrap();
    for _ in 0..2 {
        std::fs::write(&current, b"no manifest\n").unwrap();
        flock.spawn(1);
        eventually("it does not start", LONG, || !flock.nodes[1].is_running());
    }
    std::fs::write(&current, held).unwrap();
    for index in [1, 2] {
        flock.spawn(index);
    }
    for index in [1, 2] {
        let node = &flock.nodes[index];
        eventually("it serves", LONG, || {
            node.try_request("GET", "/v1/status", b"").is_ok()
        });
        let (found, absent, _) = count_of(node, "v", "", 10);
        assert_eq!((found, absent), (0, 0), "{}", node.name);
    }
    assert!(flock.nodes[1].output().contains(DOUBT));
    flock.up(0);
    eventually("all is back", LONG, || {
        let mut nodes = flock.nodes.iter();
        nodes.all(|node| count_of(node, "v", "", 10) == (KEYS / 10, 0, 0))
    });
}
