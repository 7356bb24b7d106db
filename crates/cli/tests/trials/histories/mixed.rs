//! Nodes of two builds in one cluster. Runs only where a build before is named; `make mixed` does.
//!
//! Reads that the build before coordinates are not linearizable (it answered with a value that only
//! one replica had), so under two builds what counts is that nothing acknowledged is lost and no
//! writer reads anything but what it wrote last; histories are judged once all are of this build.

use std::path::PathBuf;
use std::time::Duration;

use super::clients::Clients;
use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, beside, verify, verify_within};
use crate::harness::random::Random;

const FLAGS: [&str; 6] = ["--segment", "1MiB", "--flush", "1MiB", "--shards", "2"];
const SOON: Duration = Duration::from_secs(30);

/// Three nodes of the build before, none of them started.
fn flock() -> Option<Flock> {
    let Some(before) = std::env::var_os("DUNLIN_BUILD_BEFORE") else {
        println!("skipped: DUNLIN_BUILD_BEFORE names no program; `make mixed` builds one");
        return None;
    };
    let before = PathBuf::from(before);
    assert!(before.is_file(), "{}: no program", before.display());
    let mut flock = Flock::prepare(&FLAGS);
    for node in &mut flock.nodes {
        node.program = Some(before.clone());
    }
    Some(flock)
}

/// Runs writers while `trouble` goes on.
fn under_load(flock: &mut Flock, name: &str, trouble: impl FnOnce(&mut Flock)) -> Ledger {
    let mut random = Random::from_environment();
    let addresses = flock.addresses();
    let writers = (0..6)
        .map(|number| {
            let writer = Writer::new(&format!("{name}-{number}"), &addresses, random.next(), 60);
            writer.value_bytes(1_000)
        })
        .collect();
    let (ledger, ()) = beside(writers, |_| trouble(flock));
    println!(
        "{name}: {} acknowledged writes, {} of unknown outcome, {} reads checked under way",
        ledger.acknowledged_count, ledger.open_count, ledger.checked_reads
    );
    assert!(ledger.acknowledged_count > 500, "hardly any load");
    ledger
}

#[test]
fn a_rolling_upgrade_under_load() {
    let Some(mut flock) = flock() else {
        return;
    };
    flock.up_all();
    let ledger = under_load(&mut flock, "upgrade", |flock| {
        for index in 0..3 {
            std::thread::sleep(Duration::from_secs(2));
            flock.stop(index);
            flock.nodes[index].program = None;
            flock.up(index);
        }
        std::thread::sleep(Duration::from_secs(2));
    });
    flock.wait_connected();
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_within(&ledger, &flock.nodes, "&ack=1", SOON);
    // And again from the disk, written by two builds.
    for index in 0..3 {
        flock.kill(index);
    }
    flock.up_all();
    verify(&ledger, &flock.nodes, "&ack=2");
    let mut random = Random::from_environment();
    let clients = Clients::new(&flock.addresses(), 6);
    clients.run([2, 2, 2], &mut random, || {
        std::thread::sleep(Duration::from_secs(1));
        flock.kill(0);
        flock.up(0);
        std::thread::sleep(Duration::from_secs(1));
    });
    clients.settle(&flock);
    clients.judge("upgraded", 100);
}

/// A majority of either, with kills of either.
#[test]
fn one_beside_the_other_under_load_and_kills() {
    for new in [1, 2] {
        let Some(mut flock) = flock() else {
            return;
        };
        for node in &mut flock.nodes[..new] {
            node.program = None;
        }
        flock.up_all();
        let ledger = under_load(&mut flock, &format!("mixed-{new}"), |flock| {
            for index in [0, 2, 1] {
                std::thread::sleep(Duration::from_secs(1));
                flock.kill(index);
                std::thread::sleep(Duration::from_millis(300));
                flock.up(index);
            }
            std::thread::sleep(Duration::from_secs(1));
        });
        flock.wait_connected();
        verify(&ledger, &flock.nodes, "&ack=2");
        verify_within(&ledger, &flock.nodes, "&ack=1", SOON);
    }
}

/// Nodes that offer a secret beside one that has never heard of any, with kills of either.
#[test]
fn those_that_offer_a_secret_beside_one_of_before() {
    let Some(mut flock) = flock() else {
        return;
    };
    let secret = flock.directory.path().join("secret");
    std::fs::write(&secret, "a secret that the build before cannot know\n").unwrap();
    let secret = secret.to_string_lossy().into_owned();
    for node in &mut flock.nodes[..2] {
        node.program = None;
        let flags = [
            "--peer-secret-file",
            &secret,
            "--peer-secret-mode",
            "offered",
        ];
        node.flags.extend(flags.map(str::to_owned));
    }
    flock.up_all();
    let ledger = under_load(&mut flock, "offered", |flock| {
        for index in [0, 2, 1] {
            std::thread::sleep(Duration::from_secs(1));
            flock.kill(index);
            std::thread::sleep(Duration::from_millis(300));
            flock.up(index);
        }
        std::thread::sleep(Duration::from_secs(1));
    });
    flock.wait_connected();
    let status = flock.nodes[0].status().to_string();
    assert!(status.contains("connected without a proof"), "{status}");
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_within(&ledger, &flock.nodes, "&ack=1", SOON);
}
