//! Power losses at any point: what was reported synced is there, what is there is a prefix of what
//! was appended, and the log goes on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use bytes::Bytes;
use common::*;
use dunlin_log::{Compression, Index, Options, Padding, sim::SimDisk};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::time::Duration;

/// What the log must hold: `records[i]` has index `i + 1`.
#[derive(Default)]
struct Model {
    records: Vec<Bytes>,
    /// The greatest index that was reported synced.
    synced: Index,
    /// Nothing at or above this index was ever released.
    released: Index,
}

impl Model {
    /// Checks a recovered log against the model, and forgets what was lost.
    async fn check(&mut self, log: &dunlin_log::Log, seed: u64) {
        assert!(
            log.last() >= self.synced,
            "seed {seed}: {} synced, {} recovered",
            self.synced,
            log.last()
        );
        assert!(log.last() <= self.records.len() as u64, "seed {seed}");
        assert!(log.first() <= self.released.max(1), "seed {seed}");
        self.records.truncate(log.last() as usize);
        for (index, record) in all(log).await {
            assert_eq!(
                record,
                self.records[index as usize - 1],
                "seed {seed}: record {index}"
            );
        }
        // Recovery syncs what it keeps.
        assert_eq!(log.synced(), log.last());
        self.synced = log.last();
    }
}

/// What the runs met.
#[derive(Default)]
struct Met {
    torn: u64,
    batches: u64,
    direct: u64,
}

async fn live_and_die(seed: u64, met: &mut Met) {
    let mut random = StdRng::seed_from_u64(seed);
    let disk = SimDisk::new(seed);
    let mut model = Model::default();
    let mut number = 0_u64;
    for _ in 0..6 {
        let options = Options {
            block_size_bytes: 4096,
            padding: if random.random() {
                Padding::Pad
            } else {
                Padding::Fragment
            },
            compression: match random.random_range(0..3) {
                0 => Compression::None,
                1 => Compression::Lz4,
                _ => Compression::Zstd,
            },
            direct_io: random.random(),
            segment_bytes: 16 << 10,
            tail_bytes: 2000,
            backlog_bytes: 1 << 20,
            spare_segments: random.random_range(0..3),
            recycle: random.random(),
        };
        if random.random_bool(0.3) {
            // Now and then the power fails again while the log recovers.
            disk.stop(random.random_range(0..12));
        }
        let opened = open(&disk, &options).await;
        let (log, recovered) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                assert!(
                    matches!(error, dunlin_log::OpenError::Io { .. }),
                    "seed {seed}: {error}"
                );
                disk.crash();
                continue;
            }
        };
        met.torn += u64::from(recovered.torn.is_some());
        model.check(&log, seed).await;
        let loop_ = drive(&log);
        if random.random_bool(0.5) {
            disk.stop(random.random_range(0..60));
        }
        for _ in 0..random.random_range(0..150) {
            number += 1;
            if log.should_rotate() {
                let preamble = Bytes::from(format!("preamble {number}"));
                if log.rotate(preamble.clone()).is_err() {
                    break;
                }
                model.records.push(preamble);
            }
            let longest = if random.random_bool(0.05) { 9000 } else { 400 };
            let length = random.random_range(0..longest);
            let mut record = number.to_le_bytes().to_vec();
            record.resize(8 + length, number as u8);
            let record = Bytes::from(record);
            if log.append(record.clone(), random.random_bool(0.2)).is_err() {
                break;
            }
            model.records.push(record);
            if random.random_bool(0.3) {
                tokio::time::sleep(Duration::from_micros(random.random_range(0..400))).await;
            }
            if random.random_bool(0.05) {
                let before = random.random_range(0..=log.last());
                model.released = model.released.max(before);
                log.release(before);
            }
        }
        if random.random_bool(0.2) {
            let _ = log.close().await;
        }
        met.batches += log.stats().batches;
        met.direct += u64::from(log.stats().direct_io);
        model.synced = log.synced();
        assert!(model.synced <= model.records.len() as u64);
        loop_.abort();
        let _ = loop_.await;
        disk.crash();
    }
}

#[test]
fn synced_records_survive_and_indices_stay_dense() {
    let seeds: u64 = std::env::var("SEEDS").map_or(400, |seeds| seeds.parse().unwrap());
    let mut met = Met::default();
    for seed in 0..seeds {
        simulate(live_and_die(seed, &mut met));
    }
    // The test means something only if crashes really tear, and tear batches and direct writes too.
    let Met {
        torn,
        batches,
        direct,
    } = met;
    assert!(torn > seeds / 4, "{torn} torn tails in {seeds} seeds");
    assert!(batches > 20 * seeds, "{batches} batches in {seeds} seeds");
    assert!(direct > seeds, "{direct} direct segments in {seeds} seeds");
}
