//! A log that is kept for a moment only, and a copy that takes longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, beside, verify, verify_settled};
use crate::support::operator::{SLOW, at, begin, names, preload, wait_complete};

/// What is written in less than a second.
const RETENTION_BYTES: u64 = 2 << 20;
const VALUE_BYTES: u64 = 4_000;

fn shards(flock: &mut Flock) -> Vec<Value> {
    let status = at(flock, &["status", "--json"]).ok().json();
    status["shards"].as_array().unwrap().clone()
}

fn sum(shards: &[Value], field: &str) -> u64 {
    shards
        .iter()
        .map(|shard| shard[field].as_u64().unwrap())
        .sum()
}

fn pins(shards: &[Value]) -> Vec<Value> {
    let pins = shards.iter().map(|shard| shard["pins"].as_array().unwrap());
    pins.flatten().cloned().collect()
}

const FLAGS: [&str; 12] = [
    "--segment",
    "1MiB",
    "--flush",
    "2MiB",
    "--retention",
    "2MiB",
    "--partitions",
    "8",
    "--shards",
    "1",
    SLOW[0],
    SLOW[1],
];

/// Four clients write until `change` is done; what they wrote, and what it says.
fn under_load<T>(
    flock: &mut Flock,
    change: impl FnOnce(&mut Flock, &AtomicBool) -> T,
) -> (Ledger, T) {
    // Not at the node that comes, which may be held.
    let addresses = &flock.addresses()[..3];
    let writers = (0..4)
        .map(|number| {
            let writer = Writer::new(&format!("w{number}"), addresses, number + 1, 200);
            writer.value_bytes(VALUE_BYTES as usize)
        })
        .collect();
    beside(writers, |stop| change(flock, stop))
}

#[test]
fn a_node_is_added_however_little_log_is_kept_and_each_part_is_copied_once() {
    let mut flock = Flock::start(&FLAGS);
    let mut ledger = preload(&mut flock, 30_000);
    let n4 = flock.join();
    flock.up(n4);
    let (written, held) = under_load(&mut flock, |flock, _| {
        let mut add = begin(flock, &["node", "add", "n4"]);
        let mut held = 0;
        while add.is_running() {
            let shards = shards(flock);
            let bytes = pins(&shards)
                .into_iter()
                .map(|pin| pin["bytes"].as_u64().unwrap());
            held = bytes.chain([held]).max().unwrap_or_default();
            std::thread::sleep(Duration::from_millis(200));
        }
        wait_complete(flock);
        held
    });
    assert_eq!(names(&mut flock), "n1 n2 n3 n4");
    let shards = shards(&mut flock);
    let bytes = written.acknowledged_count * VALUE_BYTES;
    println!("{bytes} bytes written, {held} held back at a time");
    assert!(bytes > 4 * RETENTION_BYTES, "hardly any load");
    assert!(held > RETENTION_BYTES, "no log was held back: {held} bytes");
    assert_eq!(sum(&shards, "copied_again"), 0, "copied again");
    assert_eq!(sum(&shards, "pins_cut"), 0);
    assert_eq!(pins(&shards), [] as [Value; 0], "held back for nobody");
    ledger.merge(written);
    let moved = sum(&shards, "moved");
    assert!(moved > 15_000, "{moved} records were copied");
    // Of one source each, so no more than there are keys.
    let keys = ledger.keys.len() as u64;
    assert!(moved <= keys, "{moved} records of {keys} were copied");
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_settled(&ledger, &flock.nodes, "&ack=3");
}

#[test]
fn a_copy_for_which_too_much_log_is_needed_begins_again_and_the_log_goes() {
    let mut flock = Flock::start(&[&FLAGS[..], &["--pins", "1MiB"]].concat());
    let mut ledger = preload(&mut flock, 30_000);
    let n4 = flock.join();
    flock.up(n4);
    let (written, ()) = under_load(&mut flock, |flock, stop| {
        at(flock, &["node", "add", "n4", "--no-wait"]).ok();
        eventually("it copies", Duration::from_secs(60), || {
            sum(&shards(flock), "moved") > 0
        });
        flock.nodes[n4].process_mut().freeze();
        eventually("too much is held back", Duration::from_secs(60), || {
            sum(&shards(flock), "pins_cut") > 0
        });
        // What it has read is further on than what it needs if a source is lost: that goes, too.
        let writes = sum(&shards(flock), "writes");
        let more = 8 * RETENTION_BYTES / VALUE_BYTES;
        eventually("the log goes on", Duration::from_secs(180), || {
            sum(&shards(flock), "writes") > writes + more
        });
        flock.nodes[n4].process_mut().signal("-CONT");
        eventually("it begins again", Duration::from_secs(60), || {
            sum(&shards(flock), "copied_again") > 0
        });
        let status = at(flock, &["status"]).ok();
        let advice = "let go of log that was still needed";
        assert!(status.text().contains(advice), "{}", status.text());
        stop.store(true, Ordering::Relaxed);
        wait_complete(flock);
    });
    assert_eq!(names(&mut flock), "n1 n2 n3 n4");
    ledger.merge(written);
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_settled(&ledger, &flock.nodes, "&ack=3");
}
