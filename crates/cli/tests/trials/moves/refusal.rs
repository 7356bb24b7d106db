//! What cannot be done is refused in one line, and changes nothing.

use std::time::Duration;

use crate::harness::flock::Flock;
use crate::harness::load::{verify, verify_within};
use crate::support::operator::{at, members, names, preload, wait_complete};

#[test]
fn what_cannot_be_done_is_refused_in_one_line() {
    let mut flock = Flock::start(&[]);
    let n4 = flock.join();
    flock.up(n4);
    for (arguments, code, words) in [
        (
            &["node", "add", "n9"][..],
            3,
            "there is no node n9: start it first",
        ),
        (&["node", "drain", "n9"], 3, "there is no node n9"),
        (&["node", "add", "n1"], 1, "n1 holds data already"),
        (&["node", "drain", "n4"], 1, "n4 holds no data"),
        (
            &["node", "drain", "n1"],
            1,
            "keeps 3 replicas and only 2 nodes would be left",
        ),
        (
            &["node", "remove", "n1"],
            1,
            "n1 answers: drain it, then stop it first",
        ),
        (&["node", "remove", "n4"], 1, "n4 answers"),
        (
            &["node", "cancel"],
            1,
            "no change of the members is under way",
        ),
        (&["node", "add"], 2, "<NAME>"),
        (&["node"], 2, "a command is missing"),
        (
            &["node", "list", "--server", "127.0.0.1:1"],
            1,
            "cannot reach",
        ),
    ] {
        let ended = at(&mut flock, arguments);
        let line = ended.complaint(code);
        assert!(line.contains(words), "{arguments:?} gave {line:?}");
    }
    assert_eq!(names(&mut flock), "n1 n2 n3");
    assert_eq!(members(&mut flock)["changes"], 0);
}

#[test]
fn one_change_at_a_time_which_can_be_cancelled() {
    let mut flock = Flock::start(&[]);
    let ledger = preload(&mut flock, 5_000);
    for _ in 0..2 {
        let index = flock.join();
        flock.up(index);
    }
    // Nothing ends while one of the members is away.
    flock.kill(2);
    let added = at(&mut flock, &["node", "add", "n4", "--no-wait"]).ok();
    assert!(
        added.text().starts_with("change 1 has begun: n4 joins"),
        "{}",
        added.text()
    );
    let second = at(&mut flock, &["node", "add", "n5"]);
    let line = second.complaint(1);
    assert!(
        line.contains("change 1 of the members is under way, in phase copy"),
        "{line}"
    );
    let list = at(&mut flock, &["node", "list"]).ok();
    let line = list
        .text()
        .lines()
        .find(|line| line.starts_with("change 1: "))
        .unwrap();
    assert!(
        line.contains("n4 joins") && line.contains("waits for ") && line.contains("n3/0"),
        "{line}"
    );
    let status = at(&mut flock, &["status", "--json"]).ok().json();
    let change = &status["members"]["change"];
    assert_eq!(change["adds"], serde_json::json!(["n4"]));
    assert!(change["shards"][0]["bytes_per_s_max"].is_u64(), "{change}");
    assert!(change["shards"][0]["bytes_per_s"].is_u64(), "{change}");
    at(&mut flock, &["node", "cancel"]).ok();
    assert_eq!(names(&mut flock), "n1 n2 n3");
    flock.up(2);
    verify_within(&ledger, &flock.nodes, "&ack=3", Duration::from_secs(40));
    // What was copied of it is no obstacle.
    at(&mut flock, &["node", "add", "n4"]).ok();
    at(&mut flock, &["node", "add", "n5", "--no-wait"]).ok();
    wait_complete(&mut flock);
    assert_eq!(names(&mut flock), "n1 n2 n3 n4 n5");
    verify(&ledger, &flock.nodes, "&ack=3");
}
