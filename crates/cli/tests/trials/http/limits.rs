//! What a node does when clients want more than there is: connections, descriptors, memory, patience.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::child::{Process, dunlin, without_settings};
use crate::harness::curl::{get, put};
use crate::harness::up::Up;
use crate::harness::wire::Wire;
use crate::harness::{self, eventually, ports};

const MIB: usize = 1 << 20;

/// A node alone, with a limit of open files.
struct Alone {
    process: Process,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Alone {
    fn start(open_files: u32, flags: &[&str]) -> Alone {
        let directory = tempfile::tempdir().unwrap();
        let port = ports::row(2);
        let program = dunlin().get_program().to_owned();
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -n \"$1\" && shift && exec \"$0\" \"$@\""])
            .arg(program)
            .arg(open_files.to_string())
            .args(["serve", "--name", "alone", "--metadata", "embedded"])
            .args(["--replicas", "1", "--shards", "1", "--data"])
            .arg(directory.path().join("data"))
            .args(["--http", &format!("127.0.0.1:{port}")])
            .args(["--listen", &format!("127.0.0.1:{}", port + 1)])
            .args(flags);
        without_settings(&mut command);
        let mut process = Process::start(&mut command, &directory.path().join("output"));
        eventually("the node is ready", Duration::from_secs(30), || {
            assert!(process.is_running(), "{}", process.output());
            Wire::try_open(port)
                .and_then(|mut wire| wire.try_request("GET", "/health/ready", b""))
                .is_ok_and(|answer| answer.status == 200)
        });
        Alone {
            process,
            port,
            _directory: directory,
        }
    }

    fn metric(&self, name: &str) -> u64 {
        metric(self.port, name)
    }
}

fn metric(port: u16, name: &str) -> u64 {
    let answer = Wire::open(port).request("GET", "/metrics", "");
    harness::metric(answer.text(), name) as u64
}

#[test]
fn connections_beyond_the_limit_are_refused_politely_and_the_log_goes_on() {
    let alone = Alone::start(200, &["--segment", "1MiB", "--flush", "1MiB"]);
    let most = alone.metric("dunlin_connections_max");
    assert!((8..150).contains(&most), "{most}");
    let mut early = Wire::open(alone.port);
    assert_eq!(early.request("PUT", "/v0/entity?id=a", "x").status, 201);
    let idle: Vec<Wire> = (0..250)
        .filter_map(|_| Wire::try_open(alone.port).ok())
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    // Whoever has a connection is served, and log and store open files all the while.
    for number in 0..100 {
        let path = format!("/v0/entity?id=k{number}");
        let stored = early.request("PUT", &path, vec![b'x'; 100_000]);
        assert_eq!(stored.status, 201, "{number}: {}", stored.text());
    }
    // Those who ask are told, once the idle ones have been waited for.
    eventually("refused politely", Duration::from_secs(20), || {
        let mut late = Wire::open(alone.port);
        late.try_request("PUT", "/v1/keyspaces/default/keys/b", b"y")
            .is_ok_and(|answer| {
                assert_eq!(answer.status, 503);
                assert_eq!(answer.header("retry-after"), Some("1"));
                assert_eq!(answer.header("connection"), Some("close"));
                answer.text().contains("--max-connections") && late.is_closed()
            })
    });
    drop(idle);
    eventually("others are let in again", Duration::from_secs(10), || {
        Wire::try_open(alone.port)
            .and_then(|mut wire| wire.try_request("PUT", "/v0/entity?id=c", b"z"))
            .is_ok_and(|answer| answer.status == 201)
    });
    assert_eq!(early.request("GET", "/v0/entity?id=c", "").text(), "z");
    eventually("all have left", Duration::from_secs(10), || {
        alone.metric("dunlin_connections") < 5
    });
    assert!(alone.metric("dunlin_connections_refused_total") >= 100);
    assert!(alone.metric("process_open_fds") < 150);
    let warnings = alone.process.output().matches("WARN").count();
    assert!(warnings < 5, "{}", alone.process.output());
}

/// Without what is held back for log and store: they must wait for descriptors, and go on.
#[test]
fn without_descriptors_log_and_store_wait_and_go_on() {
    let alone = Alone::start(1024, &["--segment", "1MiB", "--flush", "1MiB"]);
    let limit = |files: u64| {
        let done = Command::new("prlimit")
            .args(["--pid", &alone.process.id().to_string()])
            .arg(format!("--nofile={files}:1024"))
            .status();
        assert!(done.unwrap().success());
    };
    let mut wire = Wire::open(alone.port);
    assert_eq!(wire.request("PUT", "/v0/entity?id=first", "x").status, 201);
    // Fewer than are open already.
    limit(8);
    let refused = (0..200).any(|number| {
        let path = format!("/v0/entity?id=k{number}");
        wire.request("PUT", &path, vec![b'x'; 100_000]).status != 201
    });
    assert!(refused, "the log needed no further file");
    eventually("it says why", Duration::from_secs(10), || {
        let answer = wire.request("PUT", "/v0/entity?id=now", "x");
        answer.status == 503 && answer.header("retry-after") == Some("1")
    });
    assert_eq!(wire.request("GET", "/v0/entity?id=k0", "").status, 200);
    std::thread::sleep(Duration::from_secs(3));
    limit(1024);
    eventually("puts succeed again", Duration::from_secs(10), || {
        wire.request("PUT", "/v0/entity?id=again", "x").status == 201
    });
    // The store has gone on, too: more than its memory is written.
    for number in 0..100 {
        let path = format!("/v0/entity?id=l{number}");
        assert_eq!(wire.request("PUT", &path, vec![b'y'; 100_000]).status, 201);
    }
    eventually("it is flushed", Duration::from_secs(20), || {
        alone.metric("dunlin_memtable_bytes") < 3 << 20
    });
    let output = alone.process.output();
    assert!(!output.contains("ERROR"), "{output}");
    assert!(output.matches("WARN").count() < 40, "{output}");
}

fn half_sent(port: u16, id: usize, size: usize, sent: usize) -> Option<TcpStream> {
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    stream
        .set_write_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let head =
        format!("PUT /v0/entity?id=h{id} HTTP/1.1\r\nHost: d\r\nContent-Length: {size}\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&vec![b'h'; sent]);
    Some(stream)
}

fn status(stream: &mut TcpStream) -> String {
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap()
}

#[test]
fn half_sent_bodies_take_no_more_memory_than_they_may_and_it_is_given_back() {
    let up = Up::with(1, &["--request-memory", "128MiB"]);
    let before_kib = up.process.rss_kib();
    // Only 7 fit, and most of the others are told so before they send anything.
    let mut halves: Vec<TcpStream> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..8)
            .map(|sender| {
                let port = up.ports[0];
                scope.spawn(move || {
                    (0..25)
                        .filter_map(|n| half_sent(port, sender * 25 + n, 16 * MIB, 15 * MIB))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let joined = senders.into_iter().map(|sender| sender.join().unwrap());
        joined.flatten().collect()
    });
    assert!(halves.len() > 150, "{}", halves.len());
    let most_kib = up.process.rss_kib_max() - before_kib;
    assert!(most_kib < 200 << 10, "{} MiB", most_kib >> 10);
    let used = metric(up.ports[0], "dunlin_request_memory_bytes");
    assert!(used <= 128 << 20, "{used}");
    let mut wire = Wire::open(up.ports[0]);
    if used > 100 << 20 {
        let refused = wire.request("PUT", "/v0/entity?id=new", vec![b'n'; 15 * MIB]);
        assert_eq!(refused.status, 503);
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    // What is small goes on.
    let mut small = Wire::open(up.ports[0]);
    assert_eq!(small.request("PUT", "/v0/entity?id=s", "small").status, 201);
    assert!(metric(up.ports[0], "dunlin_request_memory_refused_total") > 100);
    let told = halves.iter_mut().map(status);
    let refused = told
        .filter(|head| head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 1"))
        .count();
    assert!(refused > 100, "{refused}");
    drop(halves);
    eventually("puts succeed again", Duration::from_secs(20), || {
        Wire::open(up.ports[0])
            .try_request("PUT", "/v0/entity?id=new", vec![b'n'; 15 * MIB])
            .is_ok_and(|answer| answer.status == 201)
    });
    assert!(metric(up.ports[0], "dunlin_request_memory_bytes") < 32 << 20);
    // Three values of 15 MiB or so are in log, memtable and caches by then.
    eventually("memory is given back", Duration::from_secs(20), || {
        up.process.rss_kib() < before_kib + (100 << 10)
    });
}

#[test]
fn answers_that_nobody_takes_count_against_memory() {
    let up = Up::with(1, &["--request-memory", "64MiB"]);
    let url = up.url(0, "/v0/entity?id=big");
    assert_eq!(put(&url, &vec![b'v'; 15 * MIB]).status, 201);
    let mut asked: Vec<Wire> = (0..20)
        .map(|_| {
            let mut wire = Wire::open(up.ports[0]);
            wire.send("GET /v0/entity?id=big HTTP/1.1\r\nHost: d\r\n\r\n");
            wire
        })
        .collect();
    let statuses: Vec<u16> = asked
        .iter_mut()
        .map(|wire| wire.head().unwrap().status)
        .collect();
    let served = statuses.iter().filter(|status| **status == 200).count();
    assert!((1..=4).contains(&served), "{statuses:?}");
    assert!(statuses.iter().all(|s| [200, 503].contains(s)));
    let used = metric(up.ports[0], "dunlin_request_memory_bytes");
    assert!((15 << 20..=64 << 20).contains(&used), "{used}");
    drop(asked);
    eventually("what they took is free", Duration::from_secs(10), || {
        metric(up.ports[0], "dunlin_request_memory_bytes") < 1 << 20
    });
    assert_eq!(get(&url).body.len(), 15 * MIB);
}

#[test]
fn a_body_that_stops_coming_is_given_up() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    wire.patience(Duration::from_secs(40));
    let begun = Instant::now();
    wire.send("PUT /v0/entity?id=slow HTTP/1.1\r\nHost: d\r\nContent-Length: 100000\r\n\r\n");
    wire.send(vec![b's'; 50_000]);
    let answer = wire.answer();
    assert_eq!(answer.status, 408);
    assert!(answer.text().contains("too slowly"));
    assert!(begun.elapsed() > Duration::from_secs(9));
    assert_eq!(metric(up.ports[0], "dunlin_slow_senders_total"), 1);
    assert_eq!(get(&up.url(0, "/v0/entity?id=slow")).status, 404);
}

#[test]
fn a_slow_body_that_keeps_coming_is_taken() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    wire.send("PUT /v0/entity?id=slow HTTP/1.1\r\nHost: d\r\nContent-Length: 100000\r\n\r\n");
    for _ in 0..10 {
        wire.send(vec![b's'; 10_000]);
        std::thread::sleep(Duration::from_millis(2_500));
    }
    assert_eq!(wire.answer().status, 201);
    assert_eq!(get(&up.url(0, "/v0/entity?id=slow")).body.len(), 100_000);
}

#[test]
fn an_answer_that_is_not_taken_is_given_up() {
    let up = Up::nodes(1);
    let url = up.url(0, "/v0/entity?id=big");
    assert_eq!(put(&url, &vec![b'v'; 15 * MIB]).status, 201);
    let mut wire = Wire::open(up.ports[0]);
    wire.send("GET /v0/entity?id=big HTTP/1.1\r\nHost: d\r\n\r\n");
    eventually("the answer counts", Duration::from_secs(5), || {
        metric(up.ports[0], "dunlin_request_memory_bytes") > 0
    });
    eventually("it is given up", Duration::from_secs(80), || {
        std::thread::sleep(Duration::from_secs(1));
        metric(up.ports[0], "dunlin_slow_readers_total") == 1
    });
    eventually("its memory is free", Duration::from_secs(5), || {
        metric(up.ports[0], "dunlin_request_memory_bytes") == 0
    });
    drop(wire);
}

#[test]
fn the_largest_body_goes_to_all_replicas() {
    let up = Up::with(3, &["--max-body", "64MiB"]);
    let value = vec![b'w'; 64 * MIB];
    let stored = put(&up.url(0, "/v0/entity?id=w&ack=3"), &value);
    assert_eq!(stored.status, 201, "{}", stored.text());
    for node in 0..3 {
        assert!(get(&up.url(node, "/v0/entity?id=w&ack=1")).body == value);
    }
}
