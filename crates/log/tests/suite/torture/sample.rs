//! Little logs of two or three segments, and disks that hold them with one file changed.

use super::{
    layout::{self, BLOCK_SIZE, Place},
    oracle::{Fate, Oracle, Torn, name},
};
use crate::common::*;
use bytes::Bytes;
use dunlin_log::{Compression, Log, OpenError, Options, Padding, check, disk::Disk, sim::SimDisk};
use rand::{RngCore, SeedableRng, rngs::StdRng};
use std::{fmt, time::Duration};

/// Which records are synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// All, and the log is closed.
    All,
    /// Every tenth.
    Some,
    None,
}

/// How a sample is written.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub padding: Padding,
    pub compression: Compression,
    pub synced: Synced,
    /// The first segment has been released, and its file is another one now.
    pub recycled: bool,
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.padding, self.compression, self.synced)
    }
}

pub struct Sample {
    pub oracle: Oracle,
    pub options: Options,
    pub setup: Setup,
}

fn noise(length: usize, seed: u64) -> Bytes {
    let mut bytes = vec![0; length];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    Bytes::from(bytes)
}

/// Appends a record, with a preamble before it when it is time, and notes both.
fn append(log: &Log, record: Bytes, sync: bool, written: &mut Vec<Bytes>) {
    if log.should_rotate() {
        begin(log, written);
    }
    log.append(record.clone(), sync).unwrap();
    written.push(record);
}

fn begin(log: &Log, written: &mut Vec<Bytes>) {
    let preamble = Bytes::from(format!("preamble {}", written.len()));
    log.rotate(preamble.clone()).unwrap();
    written.push(preamble);
}

pub async fn sample(setup: Setup) -> Sample {
    let options = Options {
        padding: setup.padding,
        compression: setup.compression,
        segment_bytes: 12 << 10,
        spare_segments: 0,
        ..small()
    };
    let disk = SimDisk::new(1);
    let (log, _) = start(&disk, &options).await;
    let mut written = Vec::new();
    let plain = setup.compression == Compression::None;
    for number in 1..=if plain { 34 } else { 56_u64 } {
        let record = match number {
            // No block holds it.
            17 | 31 => noise(4500, number),
            // What is left of a block seldom does.
            6 | 13 | 20 | 27 | 34 | 41 | 48 => noise(1500, number),
            _ if !plain && number % 4 != 0 => text(number),
            _ => noise((number * 53 % 250) as usize, number),
        };
        let sync = match setup.synced {
            Synced::All => true,
            Synced::Some => number % 10 == 0,
            Synced::None => false,
        };
        if setup.recycled && number == if plain { 28 } else { 40 } {
            log.request_sync();
            log.wait_synced(log.last()).await.unwrap();
            log.release(log.segments()[1].first_index);
            tokio::time::sleep(Duration::from_millis(10)).await;
            begin(&log, &mut written);
        }
        append(&log, record, sync, &mut written);
        if number % 3 == 0 {
            log.wait_written(log.last()).await.unwrap();
        }
    }
    log.wait_written(log.last()).await.unwrap();
    if setup.synced == Synced::All {
        log.close().await.unwrap();
    }
    let segments: Vec<layout::Segment> = log
        .segments()
        .iter()
        .map(|info| layout::segment(info.number, disk.contents(&segment(info.number)).unwrap()))
        .collect();
    // The model is of what was really written.
    let read = segments.iter().flat_map(|segment| &segment.records);
    let first = segments[0].first_index as usize;
    assert_eq!(first > 1, setup.recycled);
    assert!(read.eq(written[first - 1..].iter()));
    let sample = Sample {
        oracle: Oracle { segments },
        options,
        setup,
    };
    sample.has_everything();
    sample
}

impl Sample {
    /// Fails when what is to be tortured is not there.
    fn has_everything(&self) {
        let segments = &self.oracle.segments;
        assert!((2..=3).contains(&segments.len()), "{}", segments.len());
        let pieces = || segments.iter().flat_map(|segment| &segment.pieces);
        let count = |place: Place| pieces().filter(|piece| piece.place == place).count();
        assert!(count(Place::First) > 0 && count(Place::Last) > 0);
        assert_eq!(count(Place::Pad) > 0, self.setup.padding == Padding::Pad);
        let marks = pieces().filter(|piece| piece.vouches > 0).count();
        assert_eq!(
            marks > 1,
            self.setup.synced != Synced::None,
            "{marks} marks"
        );
        let batches: usize = segments.iter().map(|segment| segment.batches).sum();
        let compressed = self.setup.compression != Compression::None;
        assert_eq!(batches > 4, compressed, "{batches} batches");
        if self.setup.recycled {
            let last = segments.last().unwrap();
            let stale = &last.bytes[last.next_header() + 11..];
            assert!(stale.iter().any(|&byte| byte != 0), "nothing was recycled");
        }
    }

    /// A disk that holds the sample, with one file changed.
    pub fn disk(&self, at: usize, change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
        let disk = SimDisk::new(1);
        let mut change = Some(change);
        for (position, it) in self.oracle.segments.iter().enumerate() {
            let mut bytes = it.bytes.clone();
            if position == at
                && let Some(change) = change.take()
            {
                change(&mut bytes);
            }
            let file = disk.open(&segment(it.number), true).unwrap();
            file.write_at(&bytes, 0).unwrap();
        }
        disk
    }

    /// Opens a disk and fails unless that comes of it.
    pub async fn expect(&self, disk: &SimDisk, fate: &Fate, case: &str) {
        let report = check(disk, &dir()).unwrap();
        let opened = open(disk, &self.options).await;
        match (fate, opened) {
            (Fate::Recovered { last, torn }, Ok((log, recovered))) => {
                assert!(!report.is_damaged(), "{case}: check");
                let told = recovered.torn.map(|torn| Torn {
                    file: torn.file,
                    offset: torn.offset as usize,
                    segments_removed: torn.segments_removed,
                });
                assert_eq!((log.last(), &told), (*last, torn), "{case}");
                let wanted = self.oracle.segments.iter().flat_map(|it| &it.records);
                let first = self.oracle.segments[0].first_index;
                let held = all(&log).await;
                assert_eq!(held.len() as u64, last + 1 - first, "{case}");
                assert!(
                    held.iter()
                        .map(|(_, record)| record)
                        .eq(wanted.take(held.len())),
                    "{case}"
                );
            }
            (
                Fate::Damaged { file, offset },
                Err(OpenError::Damaged {
                    file: in_,
                    offset: at,
                    ..
                }),
            ) => {
                assert!(report.is_damaged(), "{case}: check");
                assert_eq!(&in_, file, "{case}");
                assert!(
                    offset.contains(&(at as usize)),
                    "{case}: {at} is not in {offset:?}"
                );
            }
            (wanted, Ok((log, recovered))) => {
                panic!(
                    "{case}: {} records, {:?}; {wanted:?}",
                    log.last(),
                    recovered.torn
                )
            }
            (wanted, Err(error)) => panic!("{case}: {error}; {wanted:?}"),
        }
    }

    /// Flips a bit of every byte and cuts at every offset, a header beyond the end; how many were
    /// refused, and how many opened.
    pub async fn torture(&self) -> (u32, u32) {
        let (mut refused, mut recovered) = (0, 0);
        for (at, it) in self.oracle.segments.iter().enumerate() {
            let file = name(it.number);
            for offset in 0..it.bytes.len().min(it.next_header() + 20) {
                let flipped = self.oracle.flipped(at, offset);
                let disk = self.disk(at, |bytes| bytes[offset] ^= 1 << (offset % 8));
                let case = format!("{}: {file}, flip at {offset}", self.setup);
                self.expect(&disk, &flipped, &case).await;
                let cut = self.oracle.cut(at, offset);
                let disk = self.disk(at, |bytes| bytes.truncate(offset));
                let case = format!("{}: {file}, cut at {offset}", self.setup);
                self.expect(&disk, &cut, &case).await;
                for fate in [flipped, cut] {
                    match fate {
                        Fate::Damaged { .. } => refused += 1,
                        Fate::Recovered { .. } => recovered += 1,
                    }
                }
            }
        }
        (refused, recovered)
    }

    /// Sectors that never reached the disk.
    pub async fn holes(&self, bytes: usize) {
        for (at, it) in self.oracle.segments.iter().enumerate() {
            for from in (0..it.end).step_by(bytes) {
                let to = (from + bytes).min(it.bytes.len());
                let Some(fate) = self.oracle.hole(at, from, to) else {
                    continue;
                };
                let disk = self.disk(at, |bytes| bytes[from..to].fill(0));
                let case = format!("{}: {}, hole at {from}", self.setup, name(it.number));
                self.expect(&disk, &fate, &case).await;
            }
        }
    }
}

/// Blocks of the least size, so that a little log has several.
const _: () = assert!(BLOCK_SIZE == 4096);
