//! Power losses and kills at any point: what was reported synced is there, what is there is a prefix
//! of what was appended, and the log goes on. Unsynced writes are lost, torn and reordered, within a
//! segment and over several; settings change at every start, and segments are recycled often.

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{Compression, Index, Log, OpenError, Options, Padding, sim::SimDisk};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::time::Duration;

/// Starts of one log.
const LIVES: u64 = 6;

/// What the log must hold: `records[i]` has index `i + 1`.
#[derive(Default)]
struct Model {
    records: Vec<Bytes>,
    /// The greatest index that was reported synced.
    synced: Index,
    /// The greatest index that was written when the process was killed; the power may still fail.
    written: Index,
    /// Nothing at or above this index was ever released.
    released: Index,
}

impl Model {
    /// Checks a recovered log against the model, and forgets what was lost. Every record is another,
    /// so one that comes back from an earlier life of a file is not the one at its index.
    async fn check(&mut self, log: &Log, seed: u64) {
        assert!(
            log.last() >= self.synced.max(self.written),
            "seed {seed}: {} synced, {} written, {} recovered",
            self.synced,
            self.written,
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
        self.written = 0;
    }
}

/// What the runs met.
#[derive(Debug, Default)]
struct Met {
    torn: u64,
    batches: u64,
    direct: u64,
    /// Segments behind whose end their file's earlier life was to be seen when the power failed.
    recycled: u64,
    lost: u64,
    reordered_files: u64,
    reordered_pairs: u64,
    kills: u64,
    /// Logs that stopped because a write or a sync failed.
    failed: u64,
}

fn settings(random: &mut StdRng) -> Options {
    let block_size_bytes = 4096 << random.random_range(0..3);
    Options {
        block_size_bytes,
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
        segment_bytes: u64::from(block_size_bytes) * random.random_range(2..=4),
        tail_bytes: 2000,
        backlog_bytes: 1 << 20,
        spare_segments: random.random_range(0..3),
        write_behind_bytes: [0, 600, 5_000][random.random_range(0..3)],
        recycle: random.random_bool(0.8),
    }
}

async fn live_and_die(seed: u64, met: &mut Met) {
    let mut random = StdRng::seed_from_u64(seed);
    let disk = SimDisk::new(seed);
    let mut model = Model::default();
    let mut number = 0_u64;
    // Records of one length, so that old ones, cut off or in a recycled file, begin where new ones
    // end.
    let alike = random.random_bool(0.5).then(|| random.random_range(0..300));
    for _ in 0..LIVES {
        let options = settings(&mut random);
        disk.allow_direct(random.random_bool(0.8));
        if random.random_bool(0.3) {
            // Now and then the power fails again while the log recovers.
            disk.stop(random.random_range(0..12));
        }
        let (log, recovered) = match open(&disk, &options).await {
            Ok(opened) => opened,
            Err(error) => {
                let told = matches!(error, OpenError::Io { .. });
                assert!(told, "seed {seed}: {error}");
                disk.crash();
                model.written = 0;
                continue;
            }
        };
        met.torn += u64::from(recovered.torn.is_some());
        model.check(&log, seed).await;
        let driving = drive(&log);
        let stops = random.random_bool(0.5);
        if stops {
            disk.stop(random.random_range(0..80));
        } else if random.random_bool(0.2) {
            let after = random.random_range(0..20);
            if random.random() {
                disk.fail_sync(after)
            } else {
                disk.fail_write(after)
            }
        }
        live(&log, &mut model, &mut number, alike, &mut random).await;
        if random.random_bool(0.2) {
            let _ = log.close().await;
        }
        met.batches += log.stats().batches;
        met.direct += u64::from(log.stats().direct_io);
        met.failed += u64::from(log.failure().is_some() && !stops);
        met.recycled += recycled(&disk, &log);
        model.synced = log.synced();
        driving.abort();
        let _ = driving.await;
        disk.fail_sync(u64::MAX);
        disk.fail_write(u64::MAX);
        if !stops && random.random_bool(0.3) {
            // The process is killed: what it wrote is with the operating system.
            model.written = log.written();
            met.kills += 1;
        } else {
            let lost = disk.crash();
            met.lost += lost.writes;
            met.reordered_files += lost.reordered_files;
            met.reordered_pairs += lost.reordered_pairs;
        }
        assert!(model.synced.max(model.written) <= model.records.len() as u64);
    }
}

/// Appends, rotates and releases until something fails.
async fn live(
    log: &Log,
    model: &mut Model,
    number: &mut u64,
    alike: Option<usize>,
    random: &mut StdRng,
) {
    // Mostly several segments are not synced.
    let synced = [0.0, 0.02, 0.2][random.random_range(0..3)];
    for _ in 0..random.random_range(0..200) {
        *number += 1;
        if log.should_rotate() || random.random_bool(0.08) {
            let preamble = Bytes::from(format!("preamble {number}"));
            if log.rotate(preamble.clone()).is_err() {
                break;
            }
            model.records.push(preamble);
        }
        let longest = if random.random_bool(0.05) { 9000 } else { 400 };
        let length = alike.unwrap_or_else(|| random.random_range(0..longest));
        let mut record = number.to_le_bytes().to_vec();
        record.resize(8 + length, *number as u8);
        let record = Bytes::from(record);
        if log
            .append(record.clone(), random.random_bool(synced))
            .is_err()
        {
            break;
        }
        model.records.push(record);
        if random.random_bool(0.3) {
            tokio::time::sleep(Duration::from_micros(random.random_range(0..400))).await;
        }
        if random.random_bool(0.1) {
            let before = if random.random() {
                log.last()
            } else {
                random.random_range(0..=log.last())
            };
            model.released = model.released.max(before);
            log.release(before);
        }
    }
}

/// Segments behind whose end something stands.
fn recycled(disk: &SimDisk, log: &Log) -> u64 {
    let is_recycled = |segment_: &dunlin_log::SegmentInfo| {
        let bytes = disk.contents(&segment(segment_.number)).unwrap_or_default();
        let behind = bytes.get(segment_.bytes as usize..).unwrap_or_default();
        segment_.bytes > 0 && behind.iter().any(|&byte| byte != 0)
    };
    log.segments().iter().filter(|it| is_recycled(it)).count() as u64
}

/// `SEEDS` says how many; else 500.
#[test]
fn synced_records_survive_and_indices_stay_dense() {
    let asked = std::env::var("SEEDS").ok();
    let seeds: u64 = asked.map_or(500, |seeds| seeds.parse().unwrap());
    let mut met = Met::default();
    for seed in 0..seeds {
        simulate(live_and_die(seed, &mut met));
    }
    println!("{seeds} seeds: {met:?}");
    // The test means something only if crashes really tear and reorder, and tear batches, direct
    // writes and recycled segments too.
    assert!(met.torn > seeds / 2, "{seeds} seeds: {met:?}");
    assert!(met.batches > 20 * seeds, "{seeds} seeds: {met:?}");
    assert!(met.direct > seeds, "{seeds} seeds: {met:?}");
    assert!(met.recycled > seeds, "{seeds} seeds: {met:?}");
    assert!(met.lost > 4 * seeds, "{seeds} seeds: {met:?}");
    assert!(met.reordered_files > seeds / 5, "{seeds} seeds: {met:?}");
    assert!(met.reordered_pairs > seeds / 2, "{seeds} seeds: {met:?}");
    assert!(met.kills > seeds / 4, "{seeds} seeds: {met:?}");
    assert!(met.failed > seeds / 8, "{seeds} seeds: {met:?}");
}
