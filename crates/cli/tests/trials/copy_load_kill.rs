//! A copy into a keyspace of three processes that goes to the replicas as files, beside other writes, while the
//! copy and the nodes are killed at random moments: in the end each replica by itself holds the source and
//! what was written beside it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::copy_support::keyspace::key;
use crate::copy_support::{content, db_bench};
use crate::harness::answer::Answer;
use crate::harness::child::{Process, dunlin};
use crate::harness::flock::{Flock, Node};
use crate::harness::random::Random;
use crate::harness::wire::Wire;

const KILLS: usize = 12;
const KEYS: usize = 300_000;
/// What is written beside the copy lies below this: it is in the way of any file around it.
const BESIDE_KEYS: usize = KEYS / 3;

/// Many bodies, of 1 MiB, each with all partitions.
const LOADS: [&str; 2] = ["--load=256KiB", "--max-body=512KiB"];
/// Of 2 MiB, each with half of the partitions of a range.
const LOADS_BY_PARTITION: [&str; 2] = ["--load=256KiB", "--max-body=1MiB"];

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn start(source: &Path, target: &str, log: &Path) -> Process {
    let mut command = dunlin();
    command.arg("copy").arg(source).arg(target);
    command.args(["--range-size=4MiB", "--connections=3"]);
    // Slow enough to be killed half way.
    command.args(["--limit=1MB/s", "--retry-for=600s", "--no-verify"]);
    Process::start(&mut command, log)
}

fn create(port: u16, sync: &str) {
    let body = format!(r#"{{"name":"birds","sync":"{sync}","replicas":3,"partitions":8}}"#);
    let answer = Wire::open(port).request("POST", "/v1/keyspaces", body);
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// What one node holds by itself, or none while it does not answer.
fn held(port: u16) -> Option<Content> {
    let path = "/v1/keyspaces/birds/keys?ack=1";
    let answer: Answer = Wire::try_open(port)
        .ok()?
        .try_request("GET", path, b"")
        .ok()?;
    (answer.status == 200).then(|| crate::copy_support::keyspace::pairs_of(&answer))
}

/// Kills nodes and the copy in turn until the copy is whole.
fn kill_until_whole(sync: &str, flags: &[&str]) {
    let mut random = Random::from_environment();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (source, log) = (path("source"), path("copy.log"));
    db_bench(
        &source,
        &[
            "--benchmarks=fillrandom,overwrite,deleterandom",
            &format!("--num={KEYS}"),
            "--compression_type=none",
            "--write_buffer_size=4000000",
            "--target_file_size_base=4000000",
        ],
    );
    let mut expected = content(&source).remove("default").unwrap();
    let mut flock = Flock::start(flags);
    let ports: Vec<u16> = flock.nodes.iter().map(|node| node.http).collect();
    create(ports[0], sync);
    let servers = ports.iter().map(|port| format!("http://127.0.0.1:{port}"));
    let target = format!("{}/birds", servers.collect::<Vec<_>>().join(","));
    let mut copying = start(&source, &target, &log);
    // One that was killed is behind, and takes files again only when a backfill has brought it level: the copy may
    // end before. So some go before the first kill.
    crate::harness::eventually("something goes as files", Duration::from_secs(60), || {
        let loaded = |node: &Node| node.metric("dunlin_loaded_records_total");
        flock.nodes.iter().all(|node| loaded(node) > 0.0)
    });
    let (mut kills, mut down, mut loaded) = (0, None, 0.0);
    // Written beside the copy, among its keys.
    let mut beside = Content::new();
    loop {
        std::thread::sleep(random.millis(100, 900));
        if !copying.is_running() {
            break;
        }
        for number in 0..20 {
            let mut name = random.below(BESIDE_KEYS).to_be_bytes().to_vec();
            name.extend([b'+', number]);
            let port = ports[random.below(3)];
            let value = format!("{kills}.{number}").into_bytes();
            let try_put = || -> std::io::Result<Answer> {
                let path = format!(
                    "/v1/keyspaces/birds/keys/{}",
                    crate::harness::percent(&name)
                );
                Wire::try_open(port)?.try_request("PUT", &path, &value)
            };
            match try_put() {
                Ok(answer) if answer.status == 201 => {
                    beside.insert(name, value);
                }
                // It may be there or not: what it is in the end is not asked.
                _ => {
                    beside.remove(&name);
                    expected.remove(&name);
                }
            }
        }
        if let Some(node) = down.take() {
            flock.up(node);
            continue;
        }
        if kills >= KILLS {
            continue;
        }
        kills += 1;
        match random.below(3) {
            0 => {
                copying.kill();
                copying = start(&source, &target, &log);
            }
            _ => {
                let node = random.below(3);
                loaded += flock.nodes[node].metric("dunlin_loaded_records_total");
                flock.kill(node);
                down = Some(node);
            }
        }
    }
    let code = copying.ended(Duration::from_secs(1));
    let said = copying.output();
    // Killed when it had nothing left to do but to say so: the next one finds a copy that is whole.
    let was_whole = code == Some(1) && said.contains("is not empty");
    assert!(code == Some(0) || was_whole, "{code:?}: {said}");
    if let Some(node) = down {
        flock.up(node);
    }
    flock.wait_connected();
    expected.extend(beside.clone());
    for (port, node) in ports.iter().zip(&flock.nodes) {
        loaded += node.metric("dunlin_loaded_records_total");
        let begun = Instant::now();
        let mut found = Content::new();
        while begun.elapsed() < Duration::from_secs(90) && !holds(&found, &expected) {
            std::thread::sleep(Duration::from_millis(300));
            found = held(*port).unwrap_or_default();
        }
        let lost = expected.iter().filter(|(k, v)| found.get(*k) != Some(v));
        let lost = lost.count();
        assert_eq!(lost, 0, "of {} on {port}", expected.len());
    }
    // All three hold the same, whatever became of writes that nobody was told of.
    crate::harness::eventually("all hold the same", Duration::from_secs(60), || {
        let all: Vec<_> = ports.iter().map(|port| held(*port)).collect();
        all[0].is_some() && all[0] == all[1] && all[1] == all[2]
    });
    assert!(loaded > 0.0, "nothing went as files");
    let some = expected.keys().next().unwrap();
    assert_eq!(key(ports[0], "GET", "birds", some, b"").status, 200);
    println!(
        "{sync}: {kills} kills, {} pairs and {} beside, {loaded} taken over as files at all replicas",
        expected.len(),
        beside.len()
    );
}

fn holds(found: &Content, expected: &Content) -> bool {
    expected.iter().all(|(k, v)| found.get(k) == Some(v))
}

#[test]
fn kills_of_nodes_and_of_the_copy_lose_nothing_of_what_goes_as_files() {
    kill_until_whole("always", &LOADS);
}

#[test]
fn nor_where_disks_are_not_waited_for() {
    // With two shards a node, each gives the other what that holds.
    let small = ["--flush=4MiB", "--segment=1MiB", "--shards=2"];
    kill_until_whole("never", &[&LOADS_BY_PARTITION[..], &small[..]].concat());
}
