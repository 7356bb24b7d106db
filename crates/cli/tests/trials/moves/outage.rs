//! Changes while etcd, or the node that an operator talks to, is away.

use std::time::{Duration, Instant};

use crate::harness::flock::Flock;
use crate::harness::load::{Writer, verify, verify_within};
use crate::support::operator::{SLOW, at, begin, members, names, preload, wait_complete};

const COMPLETE: Duration = Duration::from_secs(240);

#[test]
fn a_change_rests_while_etcd_is_away_and_goes_on_afterwards() {
    let mut flock = Flock::start(&SLOW);
    let mut ledger = preload(&mut flock, 10_000);
    let n4 = flock.join();
    flock.up(n4);
    at(&mut flock, &["node", "add", "n4", "--no-wait"]).ok();
    flock.etcd.kill();
    let begun = Instant::now();
    let mut number = 0;
    while begun.elapsed() < Duration::from_secs(10) {
        let writer = Writer::new(
            &format!("without{number}"),
            &flock.addresses(),
            number + 2,
            20,
        );
        ledger.merge(writer.run_count(100));
        number += 1;
    }
    assert_eq!(
        members(&mut flock)["change"]["id"],
        1,
        "it cannot end without etcd"
    );
    verify(&ledger, &flock.nodes, "&ack=2");
    flock.etcd.restart();
    wait_complete(&mut flock);
    assert_eq!(names(&mut flock), "n1 n2 n3 n4");
    verify_within(&ledger, &flock.nodes, "&ack=3", Duration::from_secs(60));
}

#[test]
fn a_wait_can_be_broken_off_and_outlives_the_node_it_began_at() {
    let mut flock = Flock::start(&[]);
    let ledger = preload(&mut flock, 5_000);
    let n4 = flock.join();
    flock.up(n4);
    at(&mut flock, &["node", "add", "n4"]).ok();
    // Nothing ends while n3 is away.
    flock.kill(2);
    let server = format!("http://{}", flock.nodes[0].address());
    let arguments = ["node", "drain", "n1", "--server", &server];
    let mut waiting = begin(&mut flock, &arguments);
    while members(&mut flock)["change"].is_null() {
        std::thread::sleep(Duration::from_millis(50));
        assert!(waiting.is_running(), "{}", waiting.output());
    }
    std::thread::sleep(Duration::from_secs(1));
    waiting.signal("-INT");
    assert_eq!(waiting.ended(Duration::from_secs(30)), Some(1));
    let output = waiting.output();
    let line = output.trim_end();
    assert!(
        line.starts_with("dunlin: change 2 goes on: ") && line.contains("dunlin node cancel"),
        "{output}"
    );
    assert_eq!(members(&mut flock)["change"]["id"], 2, "it goes on");
    at(&mut flock, &["node", "cancel"]).ok();

    // Told of n1 alone, the wait goes on with the others when n1 dies for good.
    let mut waiting = begin(&mut flock, &arguments);
    while members(&mut flock)["change"]["id"] != 3 {
        std::thread::sleep(Duration::from_millis(50));
        assert!(waiting.is_running(), "{}", waiting.output());
    }
    std::thread::sleep(Duration::from_secs(2));
    flock.kill(0);
    flock.up(2);
    at(&mut flock, &["node", "remove", "n1", "--no-wait"]).ok();
    assert_eq!(waiting.ended(COMPLETE), Some(0), "{}", waiting.output());
    let output = waiting.output();
    assert!(output.contains("n4 hold data"), "{output}");
    assert_eq!(names(&mut flock), "n2 n3 n4");
    verify(&ledger, &flock.nodes[1..], "&ack=2");
    verify_within(
        &ledger,
        &flock.nodes[1..],
        "&ack=3",
        Duration::from_secs(60),
    );
}
