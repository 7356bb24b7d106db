//! The power goes at all nodes at once, and everything they had not synced is gone: their logs', their
//! stores', and names of files too.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::clients::{Clients, bytes_of, value_of};
use super::fuse::Mounted;
use crate::harness::flock::{Flock, entity};
use crate::harness::random::Random;
use crate::harness::wire::Wire;

/// A disk for each node. They are unmounted before their directory goes.
struct Disks {
    mounted: Vec<Mounted>,
    directory: tempfile::TempDir,
}

/// Three nodes on a disk each that forgets. Bound in this order, the disks outlive the processes.
fn flock(flags: &[&str]) -> Option<(Disks, Flock)> {
    let mut disks = Disks {
        mounted: Vec::new(),
        directory: tempfile::tempdir().unwrap(),
    };
    let mut flock = Flock::prepare(flags);
    for node in &mut flock.nodes {
        let disk = disks.directory.path().join(&node.name);
        disks.mounted.push(Mounted::mount(&disk)?);
        node.data = disk.join("data");
    }
    flock.up_all();
    Some((disks, flock))
}

/// Everything stops as one: no node writes on while another is dead already.
fn power_cut(flock: &mut Flock, disks: &mut Disks, mut luck: Option<&mut Random>) {
    for node in &mut flock.nodes {
        node.process_mut().signal("-STOP");
    }
    for index in 0..3 {
        flock.kill(index);
    }
    for disk in &mut disks.mounted {
        disk.cut(luck.as_deref_mut());
    }
}

#[test]
fn what_was_acknowledged_outlives_power_cuts() {
    let mut random = Random::from_environment();
    // Small segments and memtables: files come and go in the logs and in RocksDB.
    let flags = [
        "--segment",
        "256KiB",
        "--flush",
        "256KiB",
        "--retention",
        "1MiB",
    ];
    let Some((mut disks, mut flock)) = flock(&flags) else {
        return;
    };
    let clients = Clients::new(&flock.addresses(), 6).value_bytes(2_000);
    let mut choices = Random::new(random.next());
    for round in 0..4 {
        clients.run([3, 3, 2], &mut random, || {
            std::thread::sleep(choices.millis(700, 1_500));
            // The even times all of it goes, the odd ones some.
            let luck = (round % 2 == 1).then_some(&mut choices);
            power_cut(&mut flock, &mut disks, luck);
        });
        flock.up_all();
        clients.settle(&flock);
    }
    clients.judge("power", 300);
}

const INTERVAL: Duration = Duration::from_millis(200);
/// What a slow machine may take to come to its syncs.
const SLACK: Duration = Duration::from_secs(2);

/// Of each key, when which value was acknowledged; the values ascend.
type Acknowledged = BTreeMap<String, Vec<(u64, Instant)>>;

#[test]
fn with_syncs_at_intervals_a_power_cut_takes_the_last_of_them() {
    let flags = [
        "--sync",
        "interval:200ms",
        "--segment",
        "1MiB",
        "--flush",
        "1MiB",
    ];
    let Some((mut disks, mut flock)) = flock(&flags) else {
        return;
    };
    let addresses = flock.addresses();
    let mut keys = Acknowledged::new();
    // A cut just after a sync takes nothing, so some rounds more than two may be needed.
    let mut with_losses = 0;
    for round in 0..8 {
        let stop = AtomicBool::new(false);
        let (written, cut_at) = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|number| {
                    let key = format!("r{round}-w{number}");
                    let (stop, address) = (&stop, addresses[number]);
                    scope.spawn(move || (key.clone(), ascend(&key, address, stop)))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(3_500));
            let cut_at = Instant::now();
            power_cut(&mut flock, &mut disks, None);
            stop.store(true, Ordering::Relaxed);
            let written: Acknowledged = writers.into_iter().map(|w| w.join().unwrap()).collect();
            (written, cut_at)
        });
        keys.extend(written);
        flock.up_all();
        let mut lost = 0;
        for (key, acknowledged) in &mut keys {
            assert!(acknowledged.len() > 20, "hardly any load");
            let found: Vec<u64> = flock
                .nodes
                .iter()
                .map(|node| node.get(key, ""))
                .map(|answer| value_of(answer.status, &answer.body).unwrap_or(0))
                .collect();
            assert!(
                found.windows(2).all(|two| two[0] == two[1]),
                "{key}: {found:?}"
            );
            let safe = acknowledged
                .iter()
                .filter(|(_, at)| *at + INTERVAL + SLACK < cut_at);
            let safe = safe.map(|(value, _)| *value).max().unwrap_or(0);
            assert!(
                found[0] >= safe,
                "{key}: {safe} was safe, {} is left",
                found[0]
            );
            lost += acknowledged
                .iter()
                .filter(|(value, _)| *value > found[0])
                .count();
            // What is left now has been read, and stays.
            acknowledged.retain(|(value, _)| *value <= found[0]);
        }
        println!("round {round}: {lost} acknowledged writes lost");
        with_losses += usize::from(lost > 0);
        if with_losses == 2 {
            return;
        }
    }
    // Without a loss the disk does not forget, or everything is synced: nothing was tried.
    panic!("{with_losses} power cuts of 8 took something");
}

/// Puts 1, 2, 3 and so on under a key.
fn ascend(key: &str, address: SocketAddr, stop: &AtomicBool) -> Vec<(u64, Instant)> {
    let mut acknowledged = Vec::new();
    let Ok(mut wire) = Wire::try_open_at(address) else {
        return acknowledged;
    };
    for value in 1.. {
        let answer = wire.try_request("PUT", &entity(key, ""), bytes_of(value, 300));
        if stop.load(Ordering::Relaxed) || !answer.is_ok_and(|answer| answer.status == 201) {
            break;
        }
        acknowledged.push((value, Instant::now()));
    }
    acknowledged
}
