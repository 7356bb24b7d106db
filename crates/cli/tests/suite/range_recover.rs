//! Ranges that have lost their majority begin again with one replica, by a command.

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::suite_ranges::{RANGES, START, put, reads, run, start, succeeds, whole};

/// The ranges that there are.
const ALL: [(&str, &str); RANGES] = [
    ("_oracle", "0"),
    ("bank", "0"),
    ("bank", "1"),
    ("bank", "2"),
];

/// The output of the dry run about a range, once each node has answered.
fn remains(flock: &Flock, node: usize, (keyspace, range): (&str, &str)) -> String {
    let mut text = String::new();
    eventually("the range can be recovered", START, || {
        text = succeeds(flock, node, &["range", "recover", keyspace, range]);
        !text.contains("cannot be recovered now")
    });
    text
}

fn recover(flock: &Flock, node: usize, keep: &[&str]) {
    for (keyspace, range) in ALL {
        let recover = ["range", "recover", keyspace, range, "--accept-data-loss"];
        succeeds(flock, node, &[&recover, keep].concat());
    }
}

/// Two of three nodes have lost their replicas.
fn says_what_is_missing(flock: &Flock) {
    let health = |node: usize, path| {
        let answer = flock.nodes[node].request("GET", path, b"");
        (answer.status, answer.text().to_owned())
    };
    eventually("a node without its replicas is not ready", START, || {
        let (status, text) = health(1, "/health/ready");
        status == 503 && text.contains("its replica of _oracle/0 does not work")
    });
    for node in [0, 1, 2] {
        eventually("every node names ranges without a majority", START, || {
            let (_, text) = health(node, "/health");
            text.contains("range bank/2 cannot be read or written: 1 of its 3 replicas")
        });
    }
    let (status, text) = health(0, "/health");
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("n3/0: its replica of"), "{text}");
    let (code, text) = run(flock, 0, &["status", "--exit-code"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("keyspace bank: no replica to spare in bank/0"),
        "{text}"
    );
}

#[test]
fn a_range_of_which_one_replica_is_left_is_recovered_with_all_its_entries() {
    let mut flock = start(&["--clock-bound=5s"]);
    whole(&flock, 0);
    // It is no use where there is a leader.
    let arguments = ["range", "recover", "bank", "0", "--keep", "n1"];
    let (code, text) = run(
        &flock,
        0,
        &[&arguments[..], &["--accept-data-loss"]].concat(),
    );
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("nothing is to be recovered"), "{text}");

    for lost in [1, 2] {
        flock.kill(lost);
        std::fs::remove_dir_all(&flock.nodes[lost].data).unwrap();
    }
    // Nodes that may come back stand against it.
    let text = succeeds(&flock, 0, &arguments);
    assert!(text.contains("does not say what it holds"), "{text}");
    for lost in [1, 2] {
        flock.up(lost);
    }
    for range in ALL {
        let text = remains(&flock, 1, range);
        assert!(text.contains("--keep n1 --accept-data-loss"), "{text}");
    }
    says_what_is_missing(&flock);
    let without = flock.nodes[0].request("GET", "/v1/keyspaces/bank/keys/1", b"");
    assert!(without.status >= 500, "{}", without.text());
    recover(&flock, 1, &["--keep", "n1"]);
    whole(&flock, 2);
    for node in [0, 1, 2] {
        reads(&flock, node, "first");
        flock.ready(node);
    }
    eventually("no loss would stop anything", START, || {
        run(&flock, 2, &["status", "--exit-code"]).0 == Some(0)
    });
    for key in 0..10 {
        put(&flock, key % 3, key, "second");
    }
    flock.kill(0);
    reads(&flock, 1, "second");
    let listed = succeeds(&flock, 1, &["range", "list"]);
    assert!(listed.contains("bank/1: recovered"), "{listed}");
}

#[test]
fn ranges_whose_replicas_are_all_copies_or_gone_are_recovered_too() {
    let mut flock = start(&["--clock-bound=5s"]);
    whole(&flock, 0);
    for node in [0, 1, 2] {
        flock.stop(node);
    }
    for node in [0, 1, 2] {
        flock.nodes[node].move_data();
        flock.spawn(node);
    }
    for node in [0, 1, 2] {
        flock.wait(node);
    }
    for range in ALL {
        let text = remains(&flock, 0, range);
        assert!(text.contains("silent"), "{text}");
    }
    // A replica with data is not thrown away.
    let new = [
        "range",
        "recover",
        "bank",
        "0",
        "--new",
        "--accept-data-loss",
    ];
    let (_, text) = run(&flock, 0, &new);
    assert!(text.contains("has data of it"), "{text}");
    recover(&flock, 0, &["--keep", "n2"]);
    whole(&flock, 0);
    reads(&flock, 2, "first");

    for node in [0, 1, 2] {
        flock.kill(node);
    }
    for node in [0, 1, 2] {
        std::fs::remove_dir_all(flock.nodes[node].data.join("shard-0/ranges")).unwrap();
        flock.spawn(node);
    }
    for node in [0, 1, 2] {
        flock.wait(node);
    }
    for range in ALL {
        let text = remains(&flock, 1, range);
        assert!(text.contains("No replica of"), "{text}");
    }
    recover(&flock, 1, &["--new"]);
    whole(&flock, 1);
    let gone = flock.nodes[1].request("GET", "/v1/keyspaces/bank/keys/1", b"");
    assert_eq!(gone.status, 404, "{}", gone.text());
    put(&flock, 1, 1, "third");
}
