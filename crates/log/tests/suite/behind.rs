//! Syncs behind the commits: bytes reach the disk though nobody asks, and their failures count.

use crate::common::*;
use dunlin_log::{Log, Options, sim::SimDisk};
use std::time::Duration;

fn behind() -> Options {
    Options {
        write_behind_bytes: 8 << 10,
        ..small()
    }
}

/// Writes so many records, nobody asking for a sync, with time for what happens beside.
async fn write(log: &Log, count: u64) {
    for number in 1..=count {
        put(log, record(number), false);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The last record that is left of a hundred after the power failed.
fn left_after_power_loss(options: &Options, seed: u64) -> u64 {
    simulate(async {
        let disk = SimDisk::new(seed);
        let (log, _) = start(&disk, options).await;
        write(&log, 100).await;
        assert_eq!(log.synced(), 0, "what nobody asked for is not promised");
        disk.crash();
        let (_, recovered) = start(&disk, options).await;
        recovered.last_index
    })
}

#[test]
fn most_of_what_nobody_synced_outlives_a_power_loss() {
    let seeds = 1..=20;
    let behind = seeds
        .clone()
        .map(|seed| left_after_power_loss(&behind(), seed));
    assert!(behind.min() > Some(60));
    let small = seeds.map(|seed| left_after_power_loss(&small(), seed));
    assert!(small.min() < Some(60), "or the test shows nothing");
}

#[test]
fn a_failure_behind_the_commits_is_not_forgotten_by_the_next_sync() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &behind()).await;
        let index = put(&log, record(1), true);
        log.wait_synced(index).await.unwrap();
        // Spare segments are made and synced, too.
        tokio::time::sleep(Duration::from_secs(5)).await;
        disk.fail_sync(0);
        write(&log, 60).await;
        // The system tells of a failure once: the sync below succeeds, but not for those bytes.
        let index = put(&log, record(61), true);
        let failure = log.wait_synced(index).await.unwrap_err();
        assert!(failure.to_string().contains("syncing"), "{failure}");
    });
}
