//! Life without etcd, and after it.

use std::time::{Duration, Instant};

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Writer, verify, verify_within};

#[test]
fn losing_etcd_stops_neither_reads_nor_writes() {
    let mut flock = Flock::start(&[]);
    let addresses = flock.addresses();
    let before = Writer::new("before", &addresses, 1, 50).run_count(200);
    let reached = |flock: &Flock, figure: f64| {
        let mut nodes = flock.nodes.iter();
        nodes.all(|node| node.metric("dunlin_metadata_reached") == figure)
    };
    assert!(reached(&flock, 1.0));
    flock.etcd.kill();
    let begun = Instant::now();
    eventually("the loss is told", Duration::from_secs(2), || {
        reached(&flock, 0.0)
    });
    for node in &flock.nodes {
        for path in ["/health", "/v1/status"] {
            let told = node.request("GET", path, b"");
            let problems = told.json()["problems"][0].as_str().map(str::to_owned);
            let problem = problems.unwrap_or_else(|| panic!("{path}: {}", told.text()));
            assert!(problem.contains("does not answer"), "{problem}");
        }
        assert!(node.metric("dunlin_problems") >= 1.0);
    }
    let mut written = 0;
    let mut ledgers = vec![before];
    // Longer than any lease or retry is likely to take notice.
    while begun.elapsed() < Duration::from_secs(12) {
        let writer = Writer::new(&format!("without{written}"), &addresses, written + 2, 20);
        ledgers.push(writer.run_count(100));
        written += 1;
        std::thread::sleep(Duration::from_millis(200));
    }
    for node in &flock.nodes {
        assert_eq!(node.request("GET", "/health", b"").status, 200);
        assert_eq!(node.status()["nodes"].as_array().unwrap().len(), 3);
        let range = node.request("GET", "/v0/entities?start=before", b"");
        assert_eq!(range.status, 200);
    }
    for ledger in &ledgers {
        verify(ledger, &flock.nodes, "");
    }
    // What does need etcd says so, and soon.
    let begun = Instant::now();
    let refused = flock.nodes[0].request("POST", "/v1/keyspaces", br#"{"name": "later"}"#);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "took {:?}",
        begun.elapsed()
    );

    flock.etcd.restart();
    flock.kill(2);
    flock.up(2);
    flock.wait_connected();
    eventually("etcd is reached again", Duration::from_secs(20), || {
        reached(&flock, 1.0)
    });
    for ledger in &ledgers {
        verify_within(ledger, &flock.nodes, "&ack=1", Duration::from_secs(20));
    }
    let mut made = false;
    eventually(
        "keyspaces can be made again",
        Duration::from_secs(20),
        || {
            let answer = flock.nodes[0].request("POST", "/v1/keyspaces", br#"{"name": "later"}"#);
            // A try whose answer was lost may have made it.
            made |= answer.status == 201 || answer.status == 409;
            made
        },
    );
    for node in &flock.nodes {
        eventually(
            "every node knows the keyspace",
            Duration::from_secs(20),
            || {
                node.request("PUT", "/v1/keyspaces/later/keys/a", b"x")
                    .status
                    == 201
            },
        );
    }
}

#[test]
fn a_node_on_another_address_is_found_again() {
    let mut flock = Flock::start(&[]);
    let ledger = Writer::new("moved", &flock.addresses(), 7, 50).run_count(200);
    flock.stop(1);
    let row = crate::harness::ports::row(2);
    flock.nodes[1].http = row;
    flock.nodes[1].listen = row + 1;
    flock.up(1);
    flock.wait_connected();
    verify(&ledger, &flock.nodes, "&ack=3");
    let more = Writer::new("more", &flock.addresses(), 8, 50).run_count(200);
    verify_within(&more, &flock.nodes, "&ack=1", Duration::from_secs(20));
}

#[test]
fn data_of_another_node_is_refused_in_one_line() {
    let mut flock = Flock::start(&[]);
    flock.stop(0);
    flock.stop(1);
    let data = flock.nodes[0].data.clone();
    flock.nodes[1].data = data;
    flock.spawn(1);
    let process = flock.nodes[1].process_mut();
    assert_eq!(process.ended(Duration::from_secs(20)), Some(1));
    let output = process.output();
    let last = output.lines().last().unwrap();
    assert!(
        last.starts_with("dunlin: ") && last.contains("n1"),
        "{output}"
    );
}
