//! A cluster with a secret: strangers stay out, it is brought to a running cluster and exchanged
//! without a failed request, and it stands in no log.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::eventually;
use crate::harness::flock::{Flock, Node};
use crate::harness::random::Random;

use super::patient::{Client, Tally};

const OURS: &str = "3f1c-our-secret-8aa1";
const NEW: &str = "77d0-our-next-secret-b1";
const THEIRS: &str = "0b9e-another-secret-42";
const SOON: Duration = Duration::from_secs(30);

fn write(path: &Path, lines: &[&str]) {
    // As an operator should: never half a file.
    let beside = path.with_extension("new");
    fs::write(&beside, lines.join("\n")).unwrap();
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(beside, path).unwrap();
}

/// A secret file for each node.
fn files(flock: &Flock) -> Vec<PathBuf> {
    let path = |node: &Node| flock.directory.path().join(format!("{}.secret", node.name));
    flock.nodes.iter().map(path).collect()
}

fn guard(flock: &mut Flock, index: usize, mode: &str) {
    let file = files(flock)[index].to_string_lossy().into_owned();
    let flags = ["--peer-secret-file", &file, "--peer-secret-mode", mode];
    flock.nodes[index].flags = flags.map(str::to_owned).to_vec();
}

fn with_secrets(secrets: [&str; 3]) -> Flock {
    let mut flock = Flock::prepare(&[]);
    for (index, secret) in secrets.iter().enumerate() {
        write(&files(&flock)[index], &[secret]);
        guard(&mut flock, index, "required");
    }
    flock
}

fn put_and_get(flock: &Flock, key: &str) {
    assert_eq!(
        flock.nodes[0].put(key, b"grey plover", "&ack=3").status,
        201
    );
    assert_eq!(flock.nodes[2].get(key, "").body, b"grey plover");
}

/// Lines of a log that hold all of these words.
fn told(node: &Node, words: &str) -> usize {
    let output = node.output();
    output.lines().filter(|line| line.contains(words)).count()
}

fn nowhere_in_logs(flock: &Flock) {
    for node in &flock.nodes {
        let (output, status) = (node.output(), node.status().to_string());
        for secret in [OURS, NEW, THEIRS] {
            assert!(!output.contains(secret), "{} logs a secret", node.name);
            assert!(!status.contains(secret), "{} tells a secret", node.name);
        }
    }
}

/// Sends bytes to a node's port for others; what comes back until it hangs up.
fn send(node: &Node, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect((node.host.as_str(), node.listen)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    // It may hang up before it has all.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// What a node would open with that has no secret, and a frame that asks for something.
fn hello_and_frame(node: &Node) -> Vec<u8> {
    let mut hello = b"DNLN\x07\0".to_vec();
    // Shard 0, asked by node 9, nothing known.
    let body = [&[0, 0, 9, 0], &[0; 9][..], node.name.as_bytes()].concat();
    hello.extend_from_slice(&(body.len() as u16).to_le_bytes());
    hello.extend_from_slice(&body);
    hello.extend_from_slice(&crc32c::crc32c(&hello).to_le_bytes());
    let covered = [0u8; 64];
    hello.extend_from_slice(&64u32.to_le_bytes());
    hello.extend_from_slice(&crc32c::crc32c(&covered).to_le_bytes());
    hello.extend_from_slice(&covered);
    hello
}

#[test]
fn strangers_stay_out_and_the_cluster_goes_on() {
    let mut flock = with_secrets([OURS; 3]);
    flock.up_all();
    put_and_get(&flock, "before");
    let node = &flock.nodes[0];
    let hello = hello_and_frame(node);
    let answer = send(node, &hello);
    // Only that a secret is asked for: magic, protocol, status 4, nothing said, checksum.
    assert_eq!(answer.len(), 14, "{answer:?}");
    assert_eq!(&answer[..10], b"DNLN\x07\0\x04\0\0\0");
    let mut proof = b"DNSC\x01\0\x01\0".to_vec();
    proof.extend_from_slice(&[7; 64]);
    proof.extend_from_slice(&hello);
    let answer = send(node, &proof);
    assert_eq!(answer.len(), 80, "a challenge and a verdict");
    assert_eq!(&answer[40..48], b"DNSC\x01\0\x04\0");
    assert_eq!(&answer[48..], [0; 32]);
    for _ in 0..100 {
        assert!(send(node, b"GET / HTTP/1.0\r\n\r\n").is_empty());
    }
    assert_eq!(
        node.metric("dunlin_peer_openings_total{result=\"strange\"}"),
        100.0
    );
    assert_eq!(
        node.metric("dunlin_peer_openings_total{result=\"wrong\"}"),
        1.0
    );
    assert!(node.metric("dunlin_peer_openings_total{result=\"proven\"}") >= 2.0);
    assert_eq!(
        node.metric("dunlin_peer_openings_total{result=\"plain\"}"),
        0.0
    );
    assert_eq!(told(node, "did not open"), 1, "a line for each stranger");
    put_and_get(&flock, "after");
    nowhere_in_logs(&flock);
}

#[test]
fn another_secret_is_told_on_both_sides_and_can_be_mended_in_place() {
    let mut flock = with_secrets([OURS, OURS, THEIRS]);
    for index in 0..3 {
        flock.spawn(index);
    }
    flock.wait(0);
    flock.wait(2);
    let words = "not connected: the other node does not know the secret of this node";
    for (index, prefix) in [(0, "n3/0: "), (2, "n1/0: ")] {
        let node = &flock.nodes[index];
        eventually("status says why", SOON, || {
            let status = node.status();
            let shards = status["shards"].as_array().unwrap();
            let of_node = |shard: &&serde_json::Value| shard["shard"] == format!("{}/0", node.name);
            let own = shards.iter().find(of_node).unwrap();
            let lines = own["distrusts"].as_array().unwrap();
            lines.iter().any(|line| {
                let line = line.as_str().unwrap();
                line.starts_with(prefix) && line.contains(words)
            })
        });
        eventually("the log says so", SOON, || {
            told(node, "its secret is not known here") > 0
        });
        assert!(
            told(node, "a connection was refused") <= 2,
            "{}",
            node.output()
        );
        assert!(node.metric("dunlin_peer_openings_total{result=\"wrong\"}") > 0.0);
        assert!(node.metric("dunlin_peers_distrusted") > 0.0);
    }
    write(&files(&flock)[2], &[OURS]);
    flock.wait_connected();
    // A node that could ask nobody until now acknowledges nothing before it knows that it lacks nothing.
    for index in 0..3 {
        flock.ready(index);
    }
    put_and_get(&flock, "mended");
    for node in &flock.nodes {
        assert_eq!(node.metric("dunlin_peers_distrusted"), 0.0);
    }
    nowhere_in_logs(&flock);
}

/// Runs clients while `trouble` goes on; every request must be answered as it should be.
fn under_load(flock: &mut Flock, trouble: impl FnOnce(&mut Flock)) {
    let mut random = Random::from_environment();
    let addresses = flock.addresses();
    let stop = AtomicBool::new(false);
    let tally = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|number| {
                let client = Client::new(&format!("c{number}"), &addresses, random.next());
                let stop = &stop;
                scope.spawn(move || client.run(stop))
            })
            .collect();
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| trouble(flock)));
        stop.store(true, Ordering::Relaxed);
        let mut tally = Tally::default();
        for client in clients {
            tally.merge(client.join().unwrap());
        }
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
        tally
    });
    println!(
        "{} answers, {} went to another node",
        tally.answered, tally.turned_away
    );
    assert!(
        tally.failures.is_empty(),
        "{:#?}",
        &tally.failures[..tally.failures.len().min(10)]
    );
    assert!(tally.answered > 500, "hardly any load");
}

fn restart_each(flock: &mut Flock, prepare: impl Fn(&mut Flock, usize)) {
    for index in 0..3 {
        std::thread::sleep(Duration::from_millis(300));
        flock.stop(index);
        prepare(flock, index);
        flock.spawn(index);
        flock.ready(index);
    }
}

#[test]
fn it_is_brought_to_a_running_cluster_without_a_failed_request() {
    let mut flock = Flock::start(&[]);
    for file in files(&flock) {
        write(&file, &[OURS]);
    }
    under_load(&mut flock, |flock| {
        restart_each(flock, |flock, index| guard(flock, index, "offered"));
        flock.wait_connected();
        eventually("all is proven", SOON, || {
            let mut nodes = flock.nodes.iter();
            nodes.all(|node| node.metric("dunlin_peers_distrusted") == 0.0)
        });
        restart_each(flock, |flock, index| guard(flock, index, "required"));
    });
    flock.wait_connected();
    for node in &flock.nodes {
        assert_eq!(
            node.metric("dunlin_peer_openings_total{result=\"plain\"}"),
            0.0
        );
    }
    nowhere_in_logs(&flock);
}

#[test]
fn it_is_exchanged_without_a_failed_request() {
    let mut flock = with_secrets([OURS; 3]);
    flock.up_all();
    under_load(&mut flock, |flock| {
        let steps: [&[&str]; 3] = [&[OURS, NEW], &[NEW, OURS], &[NEW]];
        for lines in steps {
            for (index, file) in files(flock).iter().enumerate() {
                let before = told(&flock.nodes[index], "has changed and holds");
                write(file, lines);
                eventually("the file is read", SOON, || {
                    told(&flock.nodes[index], "has changed and holds") > before
                });
            }
        }
        // Connections that stand stay: new ones know the new one alone.
        restart_each(flock, |_, _| ());
    });
    flock.stop(1);
    write(&files(&flock)[1], &[OURS]);
    flock.up(1);
    eventually("the old one is refused", SOON, || {
        flock.nodes[0].metric("dunlin_peer_openings_total{result=\"wrong\"}") > 0.0
    });
    // What cannot be used is told once, and changes nothing.
    write(&files(&flock)[0], &["short"]);
    let words = "line 1 holds 5 bytes; a secret has at least 16: openssl rand -hex 32; the secrets from before";
    eventually("a bad file is told of", SOON, || {
        told(&flock.nodes[0], words) == 1
    });
    nowhere_in_logs(&flock);
}

#[test]
fn what_is_wrong_with_a_start_is_one_line() {
    use std::process::Command;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    fs::write(path("short"), "short\n").unwrap();
    fs::write(path("empty"), "\n").unwrap();
    let start = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
        crate::harness::child::without_settings(&mut command);
        let output = command
            .args(["serve", "--name", "n1", "--metadata", "embedded"])
            .args([
                "--data",
                &path("data"),
                "--http",
                "127.0.0.1:0",
                "--listen",
                "127.0.0.1:0",
            ])
            .args(flags)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let cases = [
        (
            vec!["--peer-secret-file".into(), path("short")],
            "line 1 holds 5 bytes; a secret has at least 16",
        ),
        (
            vec!["--peer-secret-file".into(), path("empty")],
            "holds no secret; make one: openssl rand -hex 32",
        ),
        (
            vec!["--peer-secret-file".into(), path("none")],
            "none cannot be read: No such file",
        ),
        (
            vec!["--peer-secret-mode".into(), "offered".into()],
            "give --peer-secret-file as well",
        ),
    ];
    for (flags, words) in cases {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let line = start(&flags);
        assert!(
            line.contains(words) && line.trim_end().lines().count() == 1,
            "{line}"
        );
    }
}

#[test]
fn a_door_open_to_a_network_is_warned_of() {
    let start = |listen: &str, secret: bool| {
        let mut flock = Flock::prepare(&[]);
        listen.clone_into(&mut flock.nodes[0].host);
        if secret {
            write(&files(&flock)[0], &[OURS]);
            guard(&mut flock, 0, "required");
            // As `umask 022` leaves it.
            let all_may_read = fs::Permissions::from_mode(0o644);
            fs::set_permissions(&files(&flock)[0], all_may_read).unwrap();
        }
        flock.up(0);
        flock.nodes[0].output()
    };
    let words = "the port for other nodes";
    let lets_in = "lets in everybody who reaches it: give all nodes a secret (--peer-secret-file";
    let open = start("0.0.0.0", false);
    assert!(open.contains(words) && open.contains(lets_in), "{open}");
    assert!(!start("127.0.0.1", false).contains(lets_in));
    let guarded = start("0.0.0.0", true);
    assert!(!guarded.contains(lets_in), "{guarded}");
    assert!(guarded.contains("can be read by every user of this machine: chmod 600 it"));
}
