//! A log whose settings change between segments: whatever was written is read, by cursors from
//! anywhere and after every reopening, on the simulated disk and on a real one.

use crate::common::{drive, simulate};
use bytes::Bytes;
use dunlin_log::{
    Compression, Index, Log, Options, Padding, Runner, SegmentSettings, check,
    disk::{Disk, RealDisk},
    sim::SimDisk,
};
use proptest::prelude::*;
use std::{path::Path, sync::Arc, time::Duration};

#[derive(Debug, Clone)]
enum Step {
    /// A record of this length, of one byte or of noise, and whether it is synced.
    Append(usize, bool, bool),
    /// Waits until everything is written, so that the next record begins another group.
    Write,
    Rotate,
    /// With other settings, closed before or as after a kill.
    Reopen(Options, bool),
    /// Reads from somewhere, so many bytes at a time.
    Read(prop::sample::Index, usize),
}

fn options() -> impl Strategy<Value = Options> {
    (
        12u32..=20,
        prop_oneof![Just(Padding::Fragment), Just(Padding::Pad)],
        prop_oneof![
            Just(Compression::None),
            Just(Compression::Lz4),
            Just(Compression::Zstd)
        ],
        any::<bool>(),
        prop_oneof![Just(0usize), 0usize..100_000],
        any::<bool>(),
    )
        .prop_map(
            |(block_bits, padding, compression, direct_io, tail_bytes, odd)| Options {
                block_size_bytes: 1 << block_bits,
                padding,
                compression,
                direct_io,
                // Also one that does not end at a page.
                segment_bytes: (2 << block_bits) + if odd { 1001 } else { 0 },
                tail_bytes,
                // Every record of a trial, for some are long and nobody waits for the disk.
                backlog_bytes: 32 << 20,
                write_behind_bytes: if odd { 3_000 } else { 0 },
                ..crate::common::small()
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![
        8 => 0usize..400,
        2 => 3900usize..4300,
        1 => 0usize..70_000,
        1 => 250_000usize..300_000,
    ];
    prop_oneof![
        12 => (length, any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(length, noise, sync)| Step::Append(length, noise, sync)),
        3 => Just(Step::Write),
        1 => Just(Step::Rotate),
        1 => (options(), any::<bool>()).prop_map(|(options, close)| Step::Reopen(options, close)),
        1 => (any::<prop::sample::Index>(), 1usize..60_000)
            .prop_map(|(from, max_bytes)| Step::Read(from, max_bytes)),
    ]
}

fn bytes(length: usize, noise: bool, seed: u64) -> Bytes {
    let mut state = seed.wrapping_add(1);
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if noise {
                (state >> 56) as u8
            } else {
                seed as u8
            }
        })
        .collect()
}

/// A log, and what it must hold.
struct Trial {
    disk: Arc<dyn Disk>,
    runner: fn() -> Runner,
    directory: std::path::PathBuf,
    log: Log,
    driving: tokio::task::JoinHandle<()>,
    options: Options,
    /// `records[i]` has index `i + 1`.
    records: Vec<Bytes>,
    /// What each segment was begun with.
    begun: Vec<SegmentSettings>,
}

impl Trial {
    async fn open(
        disk: Arc<dyn Disk>,
        runner: fn() -> Runner,
        directory: &Path,
        options: &Options,
    ) -> (Log, tokio::task::JoinHandle<()>) {
        let (log, recovered) = Log::open(disk, runner(), directory, options.clone())
            .await
            .unwrap();
        assert_eq!(recovered.torn, None);
        let driving = drive(&log);
        (log, driving)
    }

    fn rotate(&mut self) {
        let preamble = bytes(30, true, self.records.len() as u64);
        self.log.rotate(preamble.clone()).unwrap();
        self.records.push(preamble);
        self.begun.push(SegmentSettings {
            block_size_bytes: self.options.block_size_bytes,
            padding: self.options.padding,
            compression: self.options.compression,
            direct_io: self.options.direct_io,
        });
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Append(length, noise, sync) => {
                if self.log.should_rotate() {
                    self.rotate();
                }
                let record = bytes(length, noise, self.records.len() as u64);
                let index = self.log.append(record.clone(), sync).unwrap();
                self.records.push(record);
                assert_eq!(index, self.records.len() as u64);
                if sync {
                    self.log.wait_synced(index).await.unwrap();
                }
            }
            Step::Write => self.log.wait_written(self.log.last()).await.unwrap(),
            Step::Rotate => self.rotate(),
            Step::Reopen(options, close) => {
                if close {
                    self.log.close().await.unwrap();
                } else {
                    self.log.wait_written(self.log.last()).await.unwrap();
                }
                self.driving.abort();
                self.options = options;
                (self.log, self.driving) = Trial::open(
                    Arc::clone(&self.disk),
                    self.runner,
                    &self.directory,
                    &self.options,
                )
                .await;
                assert_eq!(self.log.last(), self.records.len() as u64);
                self.read(1, 100_000).await;
            }
            Step::Read(from, max_bytes) => {
                let from = from.index(self.records.len().max(1)) as Index + 1;
                self.read(from, max_bytes).await;
            }
        }
    }

    async fn read(&self, from: Index, max_bytes: usize) {
        let mut cursor = self.log.cursor(from);
        let mut expected = from;
        while cursor.position() <= self.log.last() {
            for (index, record) in cursor.next(max_bytes).await.unwrap() {
                assert_eq!(index, expected);
                assert!(record == self.records[index as usize - 1], "record {index}");
                expected += 1;
            }
        }
    }

    async fn end(mut self, direct_io_allowed: bool) {
        self.step(Step::Reopen(Options::default(), true)).await;
        self.read(1, 3000).await;
        let report = check(&*self.disk, &self.directory).unwrap();
        assert!(!report.is_damaged());
        let mut at = 0;
        assert_eq!(report.segments.len(), self.begun.len());
        for ((segment, begun), info) in report
            .segments
            .iter()
            .zip(&self.begun)
            .zip(self.log.segments())
        {
            let settings = segment.settings.unwrap();
            let wanted = SegmentSettings {
                direct_io: begun.direct_io && direct_io_allowed,
                ..*begun
            };
            assert_eq!(settings, wanted);
            assert_eq!(info.settings, wanted);
            assert_eq!(segment.first_index, Some(at as u64 + 1));
            let end = at + segment.records as usize;
            let payload: usize = self.records[at..end].iter().map(Bytes::len).sum();
            assert_eq!(segment.payload_bytes, payload as u64);
            if begun.compression == Compression::None {
                assert_eq!(segment.batches, 0);
            }
            assert!(segment.batch_raw_bytes <= segment.payload_bytes);
            at = end;
        }
        assert_eq!(at, self.records.len());
    }
}

async fn trial(
    disk: Arc<dyn Disk>,
    runner: fn() -> Runner,
    directory: &Path,
    options: Options,
    steps: Vec<Step>,
    direct_io_allowed: bool,
) {
    let (log, driving) = Trial::open(Arc::clone(&disk), runner, directory, &options).await;
    let mut trial = Trial {
        disk,
        runner,
        directory: directory.to_owned(),
        log,
        driving,
        options,
        records: Vec::new(),
        begun: Vec::new(),
    };
    for step in steps {
        trial.step(step).await;
    }
    trial.end(direct_io_allowed).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn any_settings_on_the_simulated_disk(
        options in options(),
        steps in prop::collection::vec(step(), 1..80),
        allowed in prop::bool::weighted(0.8),
    ) {
        simulate(async {
            let disk = SimDisk::new(1);
            disk.allow_direct(allowed);
            let runner = || Runner::inline(|| Duration::from_micros(100));
            trial(Arc::new(disk), runner, &crate::common::dir(), options, steps, allowed).await;
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_settings_on_a_real_disk(
        options in options(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let home = tempfile::tempdir().unwrap();
        let allowed = allows_direct(home.path());
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(tokio::task::LocalSet::new().run_until(async {
                let runner = || Runner::thread("log-test").unwrap();
                let directory = home.path().join("log");
                trial(Arc::new(RealDisk), runner, &directory, options, steps, allowed).await;
            }));
    }
}

fn allows_direct(directory: &Path) -> bool {
    let probe = directory.join("probe");
    RealDisk.open(&probe, true).unwrap();
    RealDisk.open_direct(&probe).unwrap().is_some()
}

/// The only thing the settings above do not say: what happens where direct I/O is refused.
#[test]
fn refused_direct_io_is_ordinary_and_seen() {
    simulate(async {
        let disk = SimDisk::new(1);
        let options = Options {
            direct_io: true,
            ..crate::common::small()
        };
        disk.allow_direct(false);
        let (log, _) = crate::common::start(&disk, &options).await;
        let index = crate::common::put(&log, crate::common::record(1), true);
        log.wait_synced(index).await.unwrap();
        assert!(!log.stats().direct_io);
        assert!(!log.segments()[0].settings.direct_io);
        // Allowed from the next segment on; and refused again when one begun so is gone on with.
        disk.allow_direct(true);
        log.rotate(Bytes::from_static(b"preamble")).unwrap();
        log.wait_written(log.last()).await.unwrap();
        assert!(log.stats().direct_io);
        let seen: Vec<bool> = log
            .segments()
            .iter()
            .map(|segment| segment.settings.direct_io)
            .collect();
        assert_eq!(seen, [false, true]);
        log.close().await.unwrap();
        disk.allow_direct(false);
        let (log, _) = crate::common::start(&disk, &options).await;
        let index = crate::common::put(&log, crate::common::record(2), true);
        log.wait_synced(index).await.unwrap();
        let records = crate::common::all(&log).await;
        log.close().await.unwrap();
        let (log, recovered) = crate::common::start(&disk, &options).await;
        assert_eq!(recovered.torn, None);
        assert_eq!(crate::common::all(&log).await, records);
    });
}
