//! A node that is gone for good.

use std::time::{Duration, Instant};

use crate::harness::eventually;
use crate::harness::flock::{Flock, entity};
use crate::harness::load::{Writer, verify};
use crate::support::copies;
use crate::support::operator::{at, members, names, preload};

#[test]
fn a_dead_node_is_replaced_and_its_copies_are_made_anew() {
    let mut flock = Flock::start(&["--flush", "4MiB"]);
    let mut ledger = preload(&mut flock, 5_000);
    ledger.merge(Writer::new("before", &flock.addresses(), 1, 100).run_count(400));
    let n4 = flock.join();
    flock.up(n4);
    flock.kill(1);
    let alone = at(&mut flock, &["node", "remove", "n2"]);
    assert!(
        alone.complaint(1).contains("add a node first"),
        "{}",
        alone.stderr
    );
    let replaced = at(
        &mut flock,
        &["node", "remove", "n2", "--replace-with", "n4"],
    )
    .ok();
    assert!(
        replaced.text().contains("n4 hold data"),
        "{}",
        replaced.text()
    );
    let nodes = at(&mut flock, &["status", "--json"]).ok().json()["nodes"].clone();
    assert_eq!(
        nodes.as_array().unwrap().len(),
        3,
        "n2 is forgotten: {nodes}"
    );

    // Its old data is of no use to the cluster any more.
    for _ in 0..2 {
        flock.spawn(1);
        let process = flock.nodes[1].process_mut();
        assert_eq!(process.ended(Duration::from_secs(60)), Some(1));
        let output = process.output();
        let last = output.lines().last().unwrap();
        assert!(
            last.starts_with("dunlin: ")
                && last.contains("n2")
                && last.contains("it was removed")
                && last.contains("clear the directory to join anew"),
            "{output}"
        );
        assert_eq!(names(&mut flock), "n1 n3 n4");
        let spare = &members(&mut flock)["spare"];
        assert_eq!(
            *spare,
            serde_json::json!([]),
            "a start that was refused left a node"
        );
    }

    let addresses = [0, 2, n4].map(|index| flock.nodes[index].address());
    ledger.merge(Writer::new("after", &addresses, 2, 100).run_count(400));
    flock.kill(0);
    verify(&ledger, &flock.nodes[2..], "&ack=2");
    flock.up(0);

    // Without it, the node is a new one.
    std::fs::remove_dir_all(&flock.nodes[1].data).unwrap();
    flock.up(1);
    eventually("n2 says that it is spare", Duration::from_secs(20), || {
        flock.nodes[1]
            .output()
            .contains("n2 holds no data yet: dunlin node add n2")
    });
    at(&mut flock, &["node", "add", "n2", "--quiet"]).ok();
    verify(&ledger, &flock.nodes, "&ack=3");
    copies::assert_on(&mut flock, &ledger, 3, &[0, 1, 2, 3]);
}

#[test]
fn the_last_number_given_out_is_refused_like_any_other() {
    let mut flock = Flock::start(&[]);
    let n4 = flock.join();
    flock.up(n4);
    flock.kill(n4);
    let forgotten = at(&mut flock, &["node", "remove", "n4"]).ok();
    assert_eq!(forgotten.text(), "n4 is forgotten\n");
    flock.spawn(n4);
    let process = flock.nodes[n4].process_mut();
    assert_eq!(process.ended(Duration::from_secs(60)), Some(1));
    assert!(
        process.output().contains("it was removed"),
        "{}",
        process.output()
    );
    let spare = &members(&mut flock)["spare"];
    assert_eq!(
        *spare,
        serde_json::json!([]),
        "a start that was refused left a node"
    );
}

#[test]
fn a_spare_node_that_is_away_holds_up_no_replacement_and_reads_nothing_old_afterwards() {
    let mut flock = Flock::start(&["--flush", "4MiB", "--shards", "1"]);
    let mut ledger = preload(&mut flock, 2_000);
    let (n4, n5, n6) = (flock.join(), flock.join(), flock.join());
    for index in [n4, n5, n6] {
        flock.up(index);
    }
    // One is gone, one is held in the middle of whatever it does, one goes on.
    flock.kill(n5);
    flock.nodes[n6].process_mut().freeze();
    flock.kill(1);
    let addresses = [flock.nodes[0].address(), flock.nodes[2].address()];
    let begun = Instant::now();
    let replaced = at(
        &mut flock,
        &["node", "remove", "n2", "--replace-with", "n4"],
    )
    .ok();
    let text = replaced.text();
    assert!(text.contains("n4 hold data"), "{text}");
    println!("replaced within {:?}", begun.elapsed());
    // What was there is written anew: where it was before the change it is older, or not at all.
    let keys: Vec<String> = ledger.keys.keys().take(300).cloned().collect();
    for (number, key) in keys.iter().enumerate() {
        let value = format!("after-{number}").into_bytes();
        let node = &flock.nodes[[0, 2, n4][number % 3]];
        let answer = node.put(key, &value, "&ack=2");
        assert_eq!(answer.status / 100, 2, "{key}");
        ledger.keys.get_mut(key).unwrap().acknowledged = Some(value);
    }
    ledger.merge(Writer::new("after", &addresses, 1, 100).run_count(300));
    flock.nodes[n6].process_mut().signal("-CONT");
    // From the first answer on; some it refuses, for what came before may have waited through its pause.
    let mut answered = 0;
    for (number, key) in keys.iter().enumerate() {
        let path = entity(key, "&ack=1");
        match flock.nodes[n6].try_request("GET", &path, b"") {
            Ok(answer) if answer.status == 200 => {
                assert_eq!(answer.text(), format!("after-{number}"), "{key}");
                answered += 1;
            }
            Ok(answer) => assert!(answer.status >= 500, "{key}: {}", answer.status),
            Err(_) => {}
        }
    }
    assert!(answered > 200, "{answered} answers");
    // For a moment it closes each connection, which may have waited through the pause.
    flock.ready(n6);
    std::thread::sleep(Duration::from_secs(1));
    verify(&ledger, &flock.nodes[n6..=n6], "&ack=2");
    flock.up(n5);
    flock.ready(n5);
    verify(&ledger, &flock.nodes[n4..=n6], "&ack=2");
}
