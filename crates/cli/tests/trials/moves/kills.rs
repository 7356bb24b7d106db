//! `kill -9` in the middle of changes.

use std::time::{Duration, Instant};

use crate::harness::flock::Flock;
use crate::harness::load::{Writer, beside, verify, verify_within};
use crate::harness::random::Random;
use crate::support::copies;
use crate::support::operator::{members, preload, wait_complete};

const CHANGES: usize = 8;
/// However slow the machine: no new change after this.
const LONGEST: Duration = Duration::from_secs(300);

#[test]
fn kills_in_the_middle_of_changes_lose_nothing_and_changes_complete() {
    let mut random = Random::from_environment();
    let small = ["--segment", "2MiB", "--flush", "2MiB", "--partitions", "8"];
    let mut flock = Flock::start(&small);
    let mut ledger = preload(&mut flock, 20_000);
    for _ in 0..2 {
        let index = flock.join();
        flock.up(index);
    }
    let addresses = flock.addresses();
    let mut kills = 0;
    let writers = (0..4)
        .map(|number| {
            let writer = Writer::new(&format!("w{number}"), &addresses, random.next(), 100);
            writer.value_bytes(1_000)
        })
        .collect();
    let (written, ()) = beside(writers, |_| {
        let begun = Instant::now();
        for _ in 0..CHANGES {
            if begun.elapsed() < LONGEST {
                kills += change(&mut flock, &mut random);
            }
        }
    });
    println!(
        "{kills} kills, {} acknowledged, {} of unknown outcome, {} reads checked",
        written.acknowledged_count, written.open_count, written.checked_reads
    );
    assert!(kills >= 10, "only {kills} kills");
    assert!(written.acknowledged_count > 500, "hardly any load");
    ledger.merge(written);
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_within(&ledger, &flock.nodes, "&ack=3", Duration::from_secs(60));
    let names = members(&mut flock)["members"].clone();
    let is_member = |index: &usize| {
        let names = names.as_array().unwrap();
        names.contains(&format!("n{}", index + 1).into())
    };
    let holders: Vec<usize> = (0..flock.nodes.len()).filter(is_member).collect();
    copies::assert_on(&mut flock, &ledger, 3, &holders);
}

/// Begins a change, kills nodes in the middle of it, and waits until it is complete; returns how
/// many kills there were.
fn change(flock: &mut Flock, random: &mut Random) -> usize {
    let before = members(flock);
    let list = |of: &str| -> Vec<String> {
        let names = before[of].as_array().unwrap().iter();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let (mut old, mut spare) = (list("members"), list("spare"));
    let pick =
        |names: &mut Vec<String>, random: &mut Random| names.swap_remove(random.below(names.len()));
    let (mut add, mut drain) = (Vec::new(), Vec::new());
    if !spare.is_empty() && (old.len() == 3 || random.below(2) == 0) {
        add.push(pick(&mut spare, random));
    }
    if old.len() + add.len() > 3 && (add.is_empty() || random.below(2) == 0) {
        drain.push(pick(&mut old, random));
    }
    println!(
        "members {:?}, add {add:?}, drain {drain:?}",
        before["members"]
    );
    let body = serde_json::json!({"add": add, "drain": drain}).to_string();
    let answer = flock.nodes[0].request("POST", "/v1/members", body.as_bytes());
    assert_eq!(answer.status, 202, "{answer:?}");
    // One that joins, one that leaves, one of the others.
    let mut victims: Vec<String> = add.into_iter().chain(drain).collect();
    victims.push(pick(&mut old, random));
    for name in &victims {
        std::thread::sleep(random.millis(0, 700));
        let index = flock
            .nodes
            .iter()
            .position(|node| node.name == *name)
            .unwrap();
        flock.kill(index);
        std::thread::sleep(random.millis(0, 500));
        flock.up(index);
    }
    wait_complete(flock);
    victims.len()
}
