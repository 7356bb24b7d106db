//! Nodes that come back with nothing, or too late for the log.

use std::time::Duration;

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, beside, verify, verify_within};

/// Logs so small that a few megabytes push the first segments out.
const SMALL: &[&str] = &[
    "--segment",
    "512KiB",
    "--flush",
    "512KiB",
    "--retention",
    "1MiB",
];

/// Enough to leave no log from before: 12 MB.
fn load(flock: &Flock, name: &str, nodes: std::ops::Range<usize>) -> Ledger {
    let addresses = &flock.addresses()[nodes];
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let writer = Writer::new(&format!("{name}{number}"), addresses, number + 11, 300);
                scope.spawn(move || writer.value_bytes(5_000).run_count(1_000))
            })
            .collect();
        let mut ledger = Ledger::default();
        for writer in writers {
            ledger.merge(writer.join().unwrap());
        }
        ledger
    })
}

/// Every key from node n3 alone, the other two gone.
fn verify_alone(flock: &mut Flock, ledgers: &[&Ledger]) {
    for ledger in ledgers {
        verify_within(ledger, &flock.nodes, "&ack=1", Duration::from_secs(40));
    }
    flock.kill(0);
    flock.kill(1);
    for ledger in ledgers {
        verify(ledger, &flock.nodes[2..], "&ack=1");
    }
}

#[test]
fn a_node_without_its_data_is_filled_from_the_logs_of_the_others() {
    let mut flock = Flock::start(&[]);
    let before = load(&flock, "before", 0..3);
    flock.kill(2);
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    let during = Writer::new("during", &flock.addresses()[..2], 5, 50).run_count(200);
    flock.up(2);
    // Empty as it is, it must not hide what the other two have.
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes, "");
    }
    flock.wait_connected();
    verify_alone(&mut flock, &[&before, &during]);
}

#[test]
fn a_node_without_its_data_is_filled_when_the_logs_are_gone_too() {
    let mut flock = Flock::start(SMALL);
    let before = load(&flock, "before", 0..3);
    flock.kill(2);
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    let during = load(&flock, "during", 0..2);
    flock.up(2);
    flock.wait_connected();
    eventually("n3 is backfilled", Duration::from_secs(40), || {
        flock.nodes[2].metric("dunlin_backfilled_records_total") > 0.0
    });
    verify_alone(&mut flock, &[&before, &during]);
}

#[test]
fn a_node_away_for_longer_than_the_log_reaches_is_backfilled() {
    let mut flock = Flock::start(SMALL);
    let before = load(&flock, "before", 0..3);
    let deleted: Vec<&String> = before.keys.keys().take(50).collect();
    for key in &deleted {
        assert_eq!(
            flock.nodes[0].put(key, b"to be deleted", "&ack=3").status,
            201
        );
    }
    flock.kill(2);
    for key in &deleted {
        assert_eq!(flock.nodes[1].delete(key, "").status, 202);
    }
    let during = load(&flock, "during", 0..2);
    flock.up(2);
    flock.wait_connected();
    eventually("n3 is backfilled", Duration::from_secs(40), || {
        flock.nodes[2].metric("dunlin_backfilled_records_total") > 0.0
    });
    for key in &deleted {
        eventually("deletes arrive", Duration::from_secs(40), || {
            flock.nodes[2].get(key, "&ack=1").status == 404
        });
    }
    let rest = Ledger {
        keys: before
            .keys
            .iter()
            .skip(50)
            .map(|(k, e)| (k.clone(), e.clone()))
            .collect(),
        ..Ledger::default()
    };
    verify_alone(&mut flock, &[&rest, &during]);
    // Once more from its own disk.
    flock.kill(2);
    flock.up(2);
    verify(&during, &flock.nodes[2..], "&ack=1");
    for key in &deleted {
        assert_eq!(
            flock.nodes[2].get(key, "&ack=1").status,
            404,
            "{key} is back"
        );
    }
}

#[test]
fn a_backfill_broken_off_from_either_end_begins_again() {
    let mut flock = Flock::start(SMALL);
    let before = load(&flock, "before", 0..3);
    flock.kill(2);
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    let during = load(&flock, "during", 0..2);
    for pause_ms in [50, 150, 300, 600] {
        flock.up(2);
        std::thread::sleep(Duration::from_millis(pause_ms));
        flock.kill(2);
    }
    flock.up(2);
    for source in [0, 1, 0] {
        std::thread::sleep(Duration::from_millis(200));
        flock.kill(source);
        flock.up(source);
    }
    flock.wait_connected();
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes, "");
    }
    verify_alone(&mut flock, &[&before, &during]);
}

#[test]
fn who_comes_back_is_whole_while_writes_go_on_and_is_sent_only_what_it_lacks() {
    let mut flock = Flock::start(&[SMALL, &["--shards", "1"]].concat());
    let addresses = flock.addresses();
    let before: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let writer = Writer::new(&format!("held{number}"), &addresses, number + 1, 4_000);
                scope.spawn(move || writer.value_bytes(1_000).run_count(4_000))
            })
            .collect();
        writers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let held: usize = before.iter().map(|ledger| ledger.keys.len()).sum();
    flock.kill(2);
    let during = load(&flock, "during", 0..2);
    let writers = (0..2)
        .map(|number| {
            let name = format!("steady{number}");
            let writer = Writer::new(&name, &addresses[..2], number + 31, 300);
            writer.value_bytes(4_000)
        })
        .collect();
    let (steady, ()) = beside(writers, |_| {
        flock.up(2);
        eventually("n3 has it all", Duration::from_secs(60), || {
            let backfills = flock.nodes[2].metric("dunlin_backfills_total");
            let name = flock.nodes[2].name.clone() + "/0";
            let follows = |follower: &serde_json::Value| {
                follower["to"] != *name || follower["state"] == "streaming"
            };
            let status = flock.nodes[0].status();
            let shards = status["shards"].as_array().unwrap();
            let is_behind = shards.iter().any(|shard| shard["catching_up"] == true);
            backfills > 0.0 && !is_behind && flock.nodes[0].followers().iter().all(follows)
        });
    });
    let backfills = flock.nodes[2].metric("dunlin_backfills_total");
    // From each of the two others once; and once more where one had not heard yet how far the other was.
    assert!(backfills <= 4.0, "{backfills} backfills");
    let sent = flock.nodes[2].metric("dunlin_backfilled_records_total") as usize;
    let lacked = 2 * (during.keys.len() + steady.keys.len());
    println!("{held} records held, {lacked} lacked, {sent} sent");
    assert!(
        sent <= lacked,
        "{sent} records were sent where {lacked} were lacking"
    );
    assert!(
        held > 3 * lacked,
        "{held} records held, hardly more than {lacked}"
    );
    let mut ledgers: Vec<&Ledger> = before.iter().collect();
    ledgers.extend([&during, &steady]);
    verify_alone(&mut flock, &ledgers);
}
