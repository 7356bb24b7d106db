//! Change streams under kills and under load.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::harness::child::{Process, dunlin};
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Writer, beside};
use crate::harness::mirror::{Mirror, scan};
use crate::harness::random::Random;
use crate::harness::secure;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const CLIENTS: u64 = 5;

/// Follows one node after another until told to stop, each for some lines; then all to the end.
fn roam(mut random: Random, nodes: &[SocketAddr], stop: &AtomicBool) -> Mirror {
    let mut mirror = Mirror::new("default");
    while !stop.load(Ordering::Relaxed) {
        let node = nodes[random.below(nodes.len())];
        let query = ["", "&limit=7", "&wait=200ms", "&until=end"][random.below(4)];
        let mut left = 1 + random.below(3_000);
        let is_over = || {
            left -= 1;
            left == 0 || stop.load(Ordering::Relaxed)
        };
        // The node may be killed in the middle.
        if mirror.follow_until(node, query, is_over).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    mirror
}

/// Whatever is told, to its end, at a node that is there.
fn finish(mirror: &mut Mirror, node: SocketAddr) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match mirror.follow(node, "&until=end") {
            Ok(Some(reason)) if reason == "until" => return,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn clients_miss_nothing_while_each_node_is_killed_in_turn() {
    let mut random = Random::from_environment();
    for shards in ["--shards=1", "--shards=2"] {
        let flags = [shards, "--segment=256KiB", "--flush=1MiB"];
        let mut flock = Flock::start(&flags);
        let nodes = flock.addresses();
        let writer = |number| {
            let name = format!("w{number}");
            Writer::new(&name, &nodes, random.next(), 200).value_bytes(300)
        };
        let writers: Vec<Writer> = (0..3).map(writer).collect();
        let stop = AtomicBool::new(false);
        let (ledger, mirrors) = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let (random, nodes, stop) = (Random::new(random.next()), &nodes, &stop);
                    scope.spawn(move || roam(random, nodes, stop))
                })
                .collect();
            let (ledger, ()) = beside(writers, |_| {
                for index in 0..3 {
                    std::thread::sleep(random.millis(2_000, 5_000));
                    flock.kill(index);
                    std::thread::sleep(random.millis(500, 4_000));
                    flock.up(index);
                    flock.wait_connected();
                }
                std::thread::sleep(random.millis(1_000, 2_000));
            });
            stop.store(true, Ordering::Relaxed);
            let mirrors: Vec<Mirror> = clients.into_iter().map(|c| c.join().unwrap()).collect();
            (ledger, mirrors)
        });
        println!(
            "{shards}: {} writes acknowledged",
            ledger.acknowledged_count
        );
        let all = scan(nodes[0], "default");
        for mut mirror in mirrors {
            finish(&mut mirror, nodes[1]);
            println!(
                "{} changes told, snapshots {:?}",
                mirror.changes, mirror.snapshots
            );
            let told = mirror.values();
            let wrong = all
                .iter()
                .filter(|(key, value)| told.get(*key) != Some(value));
            let wrong: Vec<_> = wrong.map(|(key, _)| String::from_utf8_lossy(key)).collect();
            assert!(wrong.is_empty(), "{} wrong: {:?}", wrong.len(), &wrong[..3]);
            assert_eq!(told.len(), all.len());
        }
    }
}

#[test]
fn pages_of_a_hundred_come_to_the_end_of_a_partition_that_is_written() {
    const KEYS: usize = 100_000;
    let flock = Flock::start(&["--shards=2", "--segment=1MiB", "--flush=2MiB"]);
    let nodes = flock.addresses();
    let mut wire = flock.nodes[0].wire();
    let made = br#"{"name": "one", "partitions": 1}"#;
    assert_eq!(wire.request("POST", "/v1/keyspaces", made).status, 201);
    let keys = "/v1/keyspaces/one/keys";
    let input = flock.directory.path().join("input");
    let lines: String = (0..KEYS)
        .map(|n| format!("{{\"id\":\"{n:06}\"}}\n"))
        .collect();
    std::fs::write(&input, lines).unwrap();
    let loaded = dunlin()
        .args(["import", "--format", "jsonl", "--key", "id", "-k", "one"])
        .args(["--server", &format!("http://{}", nodes[0])])
        .arg(&input)
        .status();
    assert!(loaded.unwrap().success());
    let stop = AtomicBool::new(false);
    let mut mirror = Mirror::new("one");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut wire = flock.nodes[1].wire();
            for number in (0..).step_by(7) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let path = format!("{keys}/{:06}", number % KEYS);
                assert_eq!(wire.request("PUT", &path, "again").status, 201);
            }
        });
        let deadline = Instant::now() + Duration::from_secs(120);
        for page in 0.. {
            let node = nodes[page / 50 % 3];
            let ended = mirror.follow(node, "&limit=100&until=end").unwrap();
            if ended.as_deref() == Some("until") {
                break;
            }
            assert!(Instant::now() < deadline, "no end: {} told", mirror.changes);
        }
        stop.store(true, Ordering::Relaxed);
    });
    finish(&mut mirror, nodes[2]);
    println!(
        "{} changes, snapshots {:?}",
        mirror.changes, mirror.snapshots
    );
    assert_eq!(mirror.values(), scan(nodes[0], "one"));
}

#[test]
fn who_does_not_read_costs_little_is_closed_and_is_in_nobodys_way() {
    let up = Up::with(1, &["--shards=2"]);
    let keys = "/v1/keyspaces/default/keys";
    let mut wire = Wire::open(up.ports[0]);
    let value = "v".repeat(4_000);
    for number in 0..4_000 {
        let put = wire.request("PUT", &format!("{keys}/{number}"), &value);
        assert_eq!(put.status, 201);
    }
    let path = "/v1/keyspaces/default/changes?from=beginning";
    let before = up.process.rss_kib();
    let mut stuck: Vec<Wire> = (0..50)
        .map(|_| {
            let mut wire = Wire::open(up.ports[0]);
            wire.try_send("GET", path, "", b"").unwrap();
            assert_eq!(wire.head().unwrap().status, 200);
            wire
        })
        .collect();
    // Another is told all beside them.
    let mut mirror = Mirror::new("default");
    finish(&mut mirror, ([127, 0, 0, 1], up.ports[0]).into());
    assert_eq!(mirror.values().len(), 4_000);
    let grown = up.process.rss_kib().saturating_sub(before);
    println!("50 clients that do not read take {grown} KiB");
    assert!(grown < 100 << 10, "{grown} KiB");
    std::thread::sleep(Duration::from_secs(75));
    let closed = stuck.iter_mut().filter_map(|wire| {
        wire.patience(Duration::from_secs(5));
        while let Ok(Some(_)) = wire.chunk() {}
        wire.is_closed().then_some(())
    });
    assert_eq!(closed.count(), 50);
}

#[test]
fn the_example_mirrors_a_keyspace_though_it_is_killed_ten_times() {
    let mut random = Random::from_environment();
    let flock = Flock::start(&["--shards=2", "--segment=256KiB", "--flush=1MiB"]);
    let nodes = flock.addresses();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mirror.db");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mirror.py");
    let servers: Vec<String> = nodes.iter().map(|node| format!("http://{node}")).collect();
    let mirror = || {
        let mut command = Command::new("python3");
        command
            .arg(&example)
            .arg(servers.join(","))
            .arg("default")
            .arg(&file);
        command
    };
    let writers = vec![
        Writer::new("a", &nodes, random.next(), 2_000).value_bytes(200),
        Writer::new("b", &nodes, random.next(), 2_000).value_bytes(200),
    ];
    beside(writers, |_| {
        for _ in 0..10 {
            let mut running = Process::start(&mut mirror(), &directory.path().join("said"));
            std::thread::sleep(random.millis(100, 1_500));
            running.kill();
        }
    });
    let said = mirror().arg("--until-end").output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let told = "import sqlite3, sys; print(len(sqlite3.connect(sys.argv[1]).execute(\
        'SELECT 1 FROM pairs WHERE value IS NOT NULL').fetchall()))";
    let count = Command::new("python3")
        .args(["-c", told])
        .arg(&file)
        .output()
        .unwrap();
    let all = scan(nodes[0], "default");
    assert_eq!(
        String::from_utf8_lossy(&count.stdout).trim(),
        all.len().to_string()
    );
    let read = "import sqlite3, sys\n\
        for k, v in sqlite3.connect(sys.argv[1]).execute(\
        'SELECT key, value FROM pairs WHERE value IS NOT NULL ORDER BY key'): print(k.hex(), v.hex())";
    let rows = Command::new("python3")
        .args(["-c", read])
        .arg(&file)
        .output()
        .unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let expected: String = all
        .iter()
        .map(|(k, v)| format!("{} {}\n", hex(k), hex(v)))
        .collect();
    assert!(
        String::from_utf8_lossy(&rows.stdout) == expected,
        "the mirror differs from a scan"
    );
}

#[test]
fn a_partition_without_a_majority_holds_up_no_other() {
    let mut flock = Flock::start(&["--shards=2"]);
    let mut wire = flock.nodes[0].wire();
    let made = br#"{"name": "two", "replicas": 2}"#;
    assert_eq!(wire.request("POST", "/v1/keyspaces", made).status, 201);
    flock.kill(2);
    let mut follows: Vec<Wire> = (0..2).map(|node| flock.nodes[node].wire()).collect();
    let stop = AtomicBool::new(false);
    let (mut held, mut lacking) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let told: Vec<_> = follows
            .iter_mut()
            .map(|wire| {
                let told = std::sync::Mutex::new(std::collections::BTreeSet::new());
                let told = std::sync::Arc::new(told);
                let (keeps, stop) = (told.clone(), &stop);
                let path = "/v1/keyspaces/two/changes?from=beginning";
                wire.patience(Duration::from_secs(60));
                wire.try_send("GET", path, "", b"").unwrap();
                assert_eq!(wire.head().unwrap().status, 200);
                scope.spawn(move || {
                    while let Ok(Some(lines)) = wire.chunk() {
                        for line in String::from_utf8(lines).unwrap().lines() {
                            let line: serde_json::Value = serde_json::from_str(line).unwrap();
                            if let Some(key) = line["key"].as_str() {
                                keeps.lock().unwrap().insert(key.to_owned());
                            }
                        }
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
                told
            })
            .collect();
        // Each is written before the next, so that some stand before others in every log.
        for number in 0..60 {
            let key = format!("key-{number}");
            let put = |ack: &str| {
                let path = format!("/v1/keyspaces/two/keys/{key}?ack={ack}");
                flock.nodes[number % 2].request("PUT", &path, b"v").status
            };
            eventually("it is written once", Duration::from_secs(20), || {
                put("1") == 201
            });
            match put("2") {
                201 => held.push(key),
                _ => lacking.push(key),
            }
        }
        println!("{} held by a majority, {} not", held.len(), lacking.len());
        assert!(held.len() > 5 && lacking.len() > 5);
        let has_all = |keys: &[String]| {
            let mut told = told.iter().map(|told| told.lock().unwrap());
            told.all(|told| keys.iter().all(|key| told.contains(key)))
        };
        eventually(
            "what a majority has is told",
            Duration::from_secs(30),
            || has_all(&held),
        );
        for told in &told {
            let told = told.lock().unwrap();
            let early = lacking.iter().find(|key| told.contains(*key));
            assert_eq!(early, None, "what too few have was told");
        }
        flock.up(2);
        eventually("all is told", Duration::from_secs(30), || has_all(&lacking));
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_stream_ends_at_a_node_that_has_lost_its_peers() {
    let flock = Flock::start(&["--shards=2"]);
    assert_eq!(flock.nodes[0].put("a", b"1", "").status, 201);
    let mut wire = flock.nodes[0].wire();
    wire.patience(Duration::from_secs(60));
    let path = "/v1/keyspaces/default/changes?from=beginning";
    wire.try_send("GET", path, "", b"").unwrap();
    assert_eq!(wire.head().unwrap().status, 200);
    // They keep their connections and say nothing.
    flock.nodes[1].process().freeze();
    flock.nodes[2].process().freeze();
    let mut text = String::new();
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            while let Ok(Some(lines)) = wire.chunk() {
                text.push_str(std::str::from_utf8(&lines).unwrap());
            }
            text
        });
        eventually("it says so", Duration::from_secs(30), || {
            let status = flock.nodes[0].status();
            let streams = status["streams"].as_array().unwrap();
            streams.iter().any(|stream| {
                stream["state"] == "no_majority" && stream["behind_ms"].as_u64() > Some(2_000)
            })
        });
        let text = reading.join().unwrap();
        let last = text.lines().last().unwrap();
        assert!(last.contains("\"reason\":\"unreachable\""), "{last}");
    });
    flock.nodes[1].process().signal("CONT");
    flock.nodes[2].process().signal("CONT");
    let mut mirror = Mirror::new("default");
    finish(&mut mirror, flock.nodes[0].address());
    assert_eq!(mirror.values().len(), 1);
}

#[test]
fn a_batch_may_take_longer_than_a_lease_and_a_consumer_that_hangs_loses_it() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::with(1, &["--shards=1"]);
    let server = up.url(0, "");
    let run =
        |arguments: &[&str]| secure::run(dunlin().args(arguments).args(["--server", &server])).ok();
    run(&["put", "a", "1"]);
    run(&["cursor", "create", "c"]);
    let consume = |name: &str, script: &str| {
        let mut command = dunlin();
        command.args([
            "stream", "--cursor", "c", "--server", &server, "--exec", script,
        ]);
        Process::start(&mut command, &directory.path().join(name))
    };
    let done = directory.path().join("done");
    let script = format!("sleep 25; cat >> {}", done.display());
    let mut first = consume("first", &script);
    eventually("it has the cursor", Duration::from_secs(10), || {
        run(&["cursor", "show", "c"]).contains("read by")
    });
    // A standby is refused for as long as the batch takes.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(22) {
        let path = format!("{server}/v1/keyspaces/default/changes?cursor=c&wait=0");
        assert_eq!(crate::harness::curl::curl(&[&path]).status, 409);
        std::thread::sleep(Duration::from_millis(500));
    }
    let token = || {
        let text = run(&["cursor", "show", "c", "--json"]);
        let cursor: serde_json::Value = serde_json::from_str(&text).unwrap();
        cursor["token"].as_str().unwrap().to_owned()
    };
    let before = token();
    eventually("the batch is committed", Duration::from_secs(20), || {
        token() != before
    });
    assert_eq!(
        std::fs::read_to_string(&done)
            .unwrap()
            .matches("\"key\":\"a\"")
            .count(),
        1
    );
    // One that hangs is no obstacle for long.
    first.freeze();
    let path = format!("{server}/v1/keyspaces/default/changes?cursor=c&wait=0");
    eventually("it is free", Duration::from_secs(20), || {
        crate::harness::curl::curl(&[&path]).status == 200
    });
    first.signal("CONT");
    assert_eq!(first.ended(Duration::from_secs(30)), Some(1));
}

/// Answers that nobody takes: each fills its connection, and asks other shards for more no more.
#[test]
fn readers_of_a_view_that_stop_reading_hold_up_no_query_and_no_stream() {
    let up = Up::with(3, &["--shards=2"]);
    let text = "t".repeat(4 << 10);
    let mut writer = Wire::open(up.ports[0]);
    for n in 0..4_000 {
        let path = format!("/v1/keyspaces/default/keys/doc-{n:04}");
        let value = format!("{{\"n\":{n},\"text\":\"{text}\"}}");
        assert_eq!(writer.request("PUT", &path, value).status, 201);
    }
    let views = "/v1/keyspaces/default/views";
    let view = r#"{"name": "texts", "map": "function (doc) { emit(doc.n, doc.text) }"}"#;
    assert_eq!(writer.request("POST", views, view).status, 201);
    eventually("the view is built", Duration::from_secs(60), || {
        let status = writer.request("GET", &format!("{views}/texts/status"), "");
        status.status == 200 && status.json()["is_whole"] == true
    });
    let all = format!("{views}/texts");
    let open = |_| {
        let mut wire = Wire::open(up.ports[1]);
        wire.try_send("GET", &all, "", b"").unwrap();
        wire
    };
    let unread: Vec<Wire> = (0..100).map(open).collect();
    std::thread::sleep(Duration::from_secs(5));
    let mut slowest = Duration::ZERO;
    for n in 0..50 {
        let started = Instant::now();
        let path = format!("{views}/texts?key={n}");
        let answer = Wire::open(up.ports[1]).request("GET", &path, "");
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["rows"][0]["id"], format!("doc-{n:04}"));
        slowest = slowest.max(started.elapsed());
    }
    let mut mirror = Mirror::new("default");
    let node = ([127, 0, 0, 1], up.ports[1]).into();
    let started = Instant::now();
    finish(&mut mirror, node);
    println!(
        "slowest query {slowest:?}, all changes in {:?}",
        started.elapsed()
    );
    assert_eq!(mirror.values().len(), 4_000);
    drop(unread);
}
