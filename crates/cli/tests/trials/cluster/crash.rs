//! `kill -9` under load, again and again.

use std::time::{Duration, Instant};

use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, beside, verify, verify_settled, verify_within};
use crate::harness::random::Random;

const KILLS: usize = 24;
const WRITERS: usize = 6;
/// However slow the machine: no new kill after this.
const LONGEST: Duration = Duration::from_secs(150);

#[test]
fn nothing_acknowledged_is_lost_and_no_delete_comes_back() {
    let mut random = Random::from_environment();
    // Small segments and memtables: rotations, flushes and recycling happen under fire, too.
    let mut flock = Flock::start(&["--segment", "1MiB", "--flush", "1MiB", "--shards", "2"]);
    let addresses = flock.addresses();
    let mut kills = 0;
    let writers = (0..WRITERS)
        .map(|number| {
            let writer = Writer::new(&format!("w{number}"), &addresses, random.next(), 60);
            writer.value_bytes(1_500)
        })
        .collect();
    let (ledger, ()) = beside(writers, |_| {
        let begun = Instant::now();
        while kills < KILLS && begun.elapsed() < LONGEST {
            std::thread::sleep(random.millis(100, 1_200));
            kills += round(&mut flock, &mut random);
        }
        std::thread::sleep(Duration::from_secs(1));
    });
    println!(
        "{kills} kills, {} acknowledged writes, {} of unknown outcome, {} reads checked under way",
        ledger.acknowledged_count, ledger.open_count, ledger.checked_reads
    );
    assert!(kills >= 20, "only {kills} kills");
    assert!(ledger.acknowledged_count > 1_000, "hardly any load");
    flock.up_all();
    verify(&ledger, &flock.nodes, "&ack=2");
    // Each node by itself, once it has caught up.
    verify_within(&ledger, &flock.nodes, "&ack=1", Duration::from_secs(30));
    // And from the disk alone.
    for index in 0..3 {
        flock.kill(index);
    }
    flock.up_all();
    verify_settled(&ledger, &flock.nodes, "&ack=1");
    verify_settled(&ledger, &flock.nodes, "&ack=3");
}

/// Kills one node, sometimes two or all, and starts them again; returns how many. Now and then
/// they are asked to stop instead, which under load is a path of its own.
fn round(flock: &mut Flock, random: &mut Random) -> usize {
    let count = match random.below(6) {
        0 => 2,
        1 => 3,
        _ => 1,
    };
    let first = random.below(3);
    let victims: Vec<usize> = (0..count).map(|more| (first + more) % 3).collect();
    let stopped = random.below(5) == 0;
    for victim in &victims {
        if stopped {
            flock.stop(*victim)
        } else {
            flock.kill(*victim)
        }
    }
    std::thread::sleep(random.millis(1, 800));
    for victim in &victims {
        flock.spawn(*victim);
    }
    for victim in &victims {
        flock.wait(*victim);
    }
    if stopped { 0 } else { count }
}

#[test]
fn a_kill_while_starting_is_a_kill_like_any_other() {
    let mut random = Random::from_environment();
    let mut flock = Flock::start(&["--segment", "256KiB", "--flush", "256KiB"]);
    let addresses = flock.addresses();
    let ledger = Writer::new("s", &addresses, random.next(), 200)
        .value_bytes(4_000)
        .run_count(600);
    for _ in 0..8 {
        flock.kill(0);
        for _ in 0..2 {
            flock.spawn(0);
            std::thread::sleep(random.millis(1, 250));
            flock.kill(0);
        }
        flock.up(0);
    }
    flock.wait_connected();
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_within(&ledger, &flock.nodes, "&ack=1", Duration::from_secs(20));
}

#[test]
fn without_syncs_data_survives_the_processes_all_the_same() {
    for sync in ["never", "interval:50ms"] {
        let mut flock = Flock::start(&["--sync", sync, "--flush", "1MiB", "--segment", "1MiB"]);
        let addresses = flock.addresses();
        let mut ledger = Ledger::default();
        for round in 0..3 {
            let writer = Writer::new(&format!("r{round}"), &addresses, round, 200);
            ledger.merge(writer.value_bytes(4_000).run_count(600));
            for index in 0..3 {
                flock.kill(index);
            }
            flock.up_all();
            verify(&ledger, &flock.nodes, "&ack=2");
        }
        verify_within(&ledger, &flock.nodes, "&ack=1", Duration::from_secs(20));
    }
}
