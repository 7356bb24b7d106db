//! Every byte of a small log is flipped, and every file cut at every offset. For each an oracle,
//! which knows the format only through `block::decode`, says what must be recovered or refused.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use bytes::Bytes;
use common::*;
use dunlin_log::{
    Index, OpenError, Options, Padding,
    block::{Decoded, Expect, Kind, decode},
    disk::Disk,
    sim::SimDisk,
};
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

/// A physical record of the intact log.
struct Physical {
    bytes: Range<u64>,
    kind: Kind,
    /// Where the logical record it belongs to begins.
    begin: u64,
    /// Index of that record; for others that of the next one.
    index: Index,
    /// What a mark vouches for.
    vouches: u64,
}

struct Segment {
    number: u64,
    bytes: Vec<u8>,
    physical: Vec<Physical>,
    first_index: Index,
    /// Its header says that all before it was synced.
    previous_synced: bool,
    end: u64,
}

struct Sample {
    segments: Vec<Segment>,
    records: Vec<(Index, Bytes)>,
    options: Options,
}

/// What must happen.
#[derive(Debug, PartialEq)]
enum Fate {
    /// All records up to this index, whether or not something is reported torn.
    Recovered(Index),
    Damaged {
        file: String,
        offset: RangeInclusive<u64>,
    },
}

fn little_options(padding: Padding) -> Options {
    Options {
        padding,
        segment_bytes: 8 << 10,
        spare_segments: 0,
        ..small()
    }
}

/// A log of about three segments. Records are synced where `sync` says so.
async fn sample(padding: Padding, sync: fn(u64) -> bool, close: bool) -> Sample {
    let options = little_options(padding);
    let disk = SimDisk::new(1);
    let (log, _) = start(&disk, &options).await;
    for number in 1..=40 {
        let index = put(&log, record(number), sync(number));
        if number % 3 == 0 {
            log.wait_written(index).await.unwrap();
        }
    }
    log.wait_written(log.last()).await.unwrap();
    let records = all(&log).await;
    if close {
        log.close().await.unwrap();
    }
    let segments = log
        .segments()
        .iter()
        .map(|info| {
            parse(
                info.number,
                disk.contents(&segment(info.number)).unwrap(),
                info.first_index,
            )
        })
        .collect::<Vec<_>>();
    assert!(segments.len() >= 2);
    Sample {
        segments,
        records,
        options,
    }
}

fn parse(number: u64, bytes: Vec<u8>, first_index: Index) -> Segment {
    let mut physical: Vec<Physical> = Vec::new();
    let mut index = first_index;
    let mut begin = 0;
    let mut previous_synced = false;
    'blocks: for (block_at, block) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
        let mut at = 0;
        loop {
            match decode(block, at, Expect::Number(number as u32)) {
                Decoded::Record { kind, payload } => {
                    let offset = block_at + at as u64;
                    if !matches!(kind, Kind::Middle | Kind::Last) {
                        begin = offset;
                    }
                    let data = &block[payload.clone()];
                    let mut vouches = 0;
                    match kind {
                        Kind::SyncMark => vouches = u64::from_le_bytes(data.try_into().unwrap()),
                        Kind::SegmentHeader => previous_synced = data[29] == 1,
                        _ => {}
                    }
                    physical.push(Physical {
                        bytes: offset..block_at + payload.end as u64,
                        kind,
                        begin,
                        index,
                        vouches,
                    });
                    if matches!(kind, Kind::Full | Kind::Last) {
                        index += 1;
                    }
                    at = payload.end;
                    if kind == Kind::Pad {
                        break;
                    }
                }
                Decoded::Tail => break,
                Decoded::Zero => break 'blocks,
                Decoded::Invalid(_) => panic!("the sample is invalid"),
            }
        }
    }
    let end = physical.last().unwrap().bytes.end;
    Segment {
        number,
        bytes,
        physical,
        first_index,
        previous_synced,
        end,
    }
}

impl Sample {
    fn name(&self, at: usize) -> String {
        format!("{:020}.log", self.segments[at].number)
    }

    fn last(&self) -> Index {
        self.records.len() as Index
    }

    /// Whether later segments prove that all of segment `at` had been synced.
    fn later_proof(&self, at: usize) -> bool {
        self.segments[at + 1..].iter().any(|later| {
            later.previous_synced || later.physical.iter().any(|record| record.vouches > 0)
        })
    }

    /// What must come of invalid bytes in physical record `hit` of segment `at`, or between `from`
    /// and it. Marks before `visible_end` can be seen.
    fn judge(&self, at: usize, hit: &Physical, from: u64, visible_end: u64) -> Fate {
        let segment = &self.segments[at];
        let proven = segment.physical.iter().any(|mark| {
            mark.bytes.start > hit.bytes.start
                && mark.bytes.end <= visible_end
                && mark.vouches > hit.begin
        });
        if proven || self.later_proof(at) {
            return Fate::Damaged {
                file: self.name(at),
                offset: from..=hit.bytes.start,
            };
        }
        // Without its preamble a segment was never begun.
        let kept = hit.index.max(segment.first_index) - 1;
        Fate::Recovered(kept)
    }

    fn flipped(&self, at: usize, offset: u64) -> Fate {
        let segment = &self.segments[at];
        let hit = segment
            .physical
            .iter()
            .find(|record| record.bytes.contains(&offset));
        match hit {
            Some(hit) => self.judge(at, hit, hit.bytes.start, u64::MAX),
            // Block tails, room behind a pad record, the end: nothing stands there.
            None => Fate::Recovered(self.last()),
        }
    }

    fn cut(&self, at: usize, length: u64) -> Fate {
        let segment = &self.segments[at];
        let hit = segment
            .physical
            .iter()
            .find(|record| record.bytes.end > length);
        match hit {
            Some(hit) => self.judge(at, hit, length.min(hit.bytes.start), length),
            None => Fate::Recovered(self.last()),
        }
    }

    /// A disk that holds the sample, with one file changed.
    fn disk(&self, at: usize, change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
        let disk = SimDisk::new(1);
        let mut change = Some(change);
        for (position, segment_) in self.segments.iter().enumerate() {
            let mut bytes = segment_.bytes.clone();
            if position == at
                && let Some(change) = change.take()
            {
                change(&mut bytes);
            }
            disk.open(&segment(segment_.number), true)
                .unwrap()
                .write_at(&bytes, 0)
                .unwrap();
        }
        disk
    }

    async fn expect(&self, disk: &SimDisk, fate: Fate, case: &str) {
        let damaged = match fate {
            Fate::Damaged { file, offset } => (file, offset),
            Fate::Recovered(last) => {
                let opened = open(disk, &self.options).await;
                let (log, _) = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(log.last(), last, "{case}");
                assert_eq!(all(&log).await, self.records[..last as usize], "{case}");
                return;
            }
        };
        match open(disk, &self.options).await {
            Err(OpenError::Damaged { file, offset, .. }) => {
                assert_eq!(file, damaged.0, "{case}");
                assert!(damaged.1.contains(&offset), "{case}: {offset}");
            }
            Err(error) => panic!("{case}: {error}"),
            Ok((log, _)) => panic!("{case}: opened with {} records", log.last()),
        }
    }

    async fn torture(&self, name: &str) -> (u32, u32) {
        let (mut refused, mut recovered) = (0, 0);
        for at in 0..self.segments.len() {
            let written = self.segments[at].end + 40;
            for offset in 0..written.min(self.segments[at].bytes.len() as u64) {
                let fate = self.flipped(at, offset);
                *(if matches!(fate, Fate::Recovered(_)) {
                    &mut recovered
                } else {
                    &mut refused
                }) += 1;
                let mask = 1 << (offset % 8);
                let disk = self.disk(at, |bytes| bytes[offset as usize] ^= mask);
                self.expect(
                    &disk,
                    fate,
                    &format!("{name}: segment {at}, flip at {offset}"),
                )
                .await;
                if offset % 3 == 0 {
                    let disk = self.disk(at, |bytes| bytes.truncate(offset as usize));
                    let case = format!("{name}: segment {at}, cut at {offset}");
                    self.expect(&disk, self.cut(at, offset), &case).await;
                }
            }
        }
        (refused, recovered)
    }
}

#[test]
fn synced_and_closed() {
    simulate(async {
        let sample = sample(Padding::Fragment, |_| true, true).await;
        let (refused, recovered) = sample.torture("synced").await;
        // All but the last mark, the tails and the free room is proven.
        assert!(refused > 20 * recovered, "{refused} {recovered}");
    });
}

#[test]
fn some_synced_and_padded() {
    simulate(async {
        let sample = sample(Padding::Pad, |number| number % 10 == 0, false).await;
        let (refused, recovered) = sample.torture("padded").await;
        assert!(refused > 0 && recovered > 0);
    });
}

#[test]
fn never_synced() {
    simulate(async {
        let sample = sample(Padding::Fragment, |_| false, false).await;
        let (refused, _) = sample.torture("unsynced").await;
        assert_eq!(refused, 0);
    });
}

/// A sector that never reached the disk in the middle of what was written.
#[test]
fn holes() {
    simulate(async {
        for (padding, sync) in [
            (
                Padding::Fragment,
                (|number| number % 10 == 0) as fn(u64) -> bool,
            ),
            (Padding::Pad, |number| number % 10 == 0),
            (Padding::Pad, |_| false),
        ] {
            let sample = sample(padding, sync, false).await;
            for at in 0..sample.segments.len() {
                for sector in (0..sample.segments[at].end).step_by(512) {
                    let hole = sector..sector + 512;
                    let segment = &sample.segments[at];
                    let Some(hit) = segment.physical.iter().find(|record| {
                        record.bytes.end > hole.start
                            && segment.bytes[record.bytes.start.max(hole.start) as usize
                                ..record.bytes.end.min(hole.end).max(hole.start) as usize]
                                .iter()
                                .any(|byte| *byte != 0)
                    }) else {
                        continue;
                    };
                    // Marks within the hole are gone.
                    let proven = segment
                        .physical
                        .iter()
                        .any(|mark| mark.bytes.start >= hole.end && mark.vouches > hit.begin)
                        || segment
                            .physical
                            .iter()
                            .any(|mark| mark.bytes.end <= hole.start && mark.vouches > hit.begin);
                    let fate = if proven || sample.later_proof(at) {
                        Fate::Damaged {
                            file: sample.name(at),
                            offset: hit.bytes.start..=hit.bytes.start,
                        }
                    } else {
                        Fate::Recovered(hit.index.max(segment.first_index) - 1)
                    };
                    let disk = sample.disk(at, |bytes| {
                        let end = bytes.len().min(hole.end as usize);
                        bytes[hole.start as usize..end].fill(0);
                    });
                    let case = format!("{padding:?}: segment {at}, hole at {sector}");
                    sample.expect(&disk, fate, &case).await;
                }
            }
        }
    });
}

/// A hole that begins exactly at a record looks like the end of the log.
#[test]
fn a_hole_at_a_record_is_not_taken_for_the_end() {
    simulate(async {
        let sample = sample(Padding::Fragment, |_| true, false).await;
        let at = sample.segments.len() - 1;
        let segment_ = &sample.segments[at];
        for hit in &segment_.physical {
            let proven = segment_
                .physical
                .iter()
                .any(|mark| mark.bytes.start >= hit.bytes.end && mark.vouches > hit.begin);
            let fate = match proven {
                true => Fate::Damaged {
                    file: sample.name(at),
                    offset: hit.bytes.start..=hit.bytes.start,
                },
                false => Fate::Recovered(hit.index.max(segment_.first_index) - 1),
            };
            let disk = sample.disk(at, |bytes| {
                bytes[hit.bytes.start as usize..hit.bytes.end as usize].fill(0);
            });
            let case = format!("hole at {}", hit.bytes.start);
            sample.expect(&disk, fate, &case).await;
        }
    });
}

/// A second after the last sync its mark is there, so the last group too is known to be synced.
#[test]
fn an_idle_log_marks_its_last_sync() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &small()).await;
        let index = put(&log, record(1), true);
        log.wait_synced(index).await.unwrap();
        let end = log.segments()[0].bytes;
        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
        assert_eq!(log.segments()[0].bytes, end);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert_eq!(log.segments()[0].bytes, end + 19);
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert_eq!(log.segments()[0].bytes, end + 19, "once is enough");
        disk.flip(&segment(1), end - 1, 1).unwrap();
        assert!(matches!(
            open(&disk, &small()).await,
            Err(OpenError::Damaged { .. })
        ));
    });
}

/// A spare file may hold records of a number that will be used again.
#[test]
fn no_spare_file_outlives_an_open() {
    simulate(async {
        let disk = SimDisk::new(1);
        disk.open(&path("spare-9.tmp"), true).unwrap();
        disk.sync_dir(&dir()).unwrap();
        open(&disk, &small()).await.unwrap();
        disk.crash();
        assert!(disk.list(&dir()).unwrap().is_empty());
    });
}

/// Cutting twice, or cutting and going on, never brings back what was cut.
#[test]
fn what_was_cut_stays_cut() {
    simulate(async {
        let sample = sample(Padding::Fragment, |_| false, false).await;
        let last = sample.segments.len() - 1;
        let segment_ = &sample.segments[last];
        let victims: Vec<&Physical> = segment_
            .physical
            .iter()
            .filter(|record| record.kind == Kind::Full && record.index > segment_.first_index)
            .collect();
        for victim in victims {
            let at = victim.bytes.end as usize - 1;
            let disk = sample.disk(last, |bytes| bytes[at] ^= 1);
            let (log, recovered) = start(&disk, &sample.options).await;
            assert!(recovered.torn.is_some());
            let left = disk.contents(&segment(segment_.number)).unwrap();
            assert!(left[victim.begin as usize..].iter().all(|byte| *byte == 0));
            // A record of the same length ends where the old next one begins.
            let again = Bytes::from(vec![
                0xee;
                (victim.bytes.end - victim.bytes.start - 11) as usize
            ]);
            let index = log.append(again.clone(), false).unwrap();
            assert_eq!(index, victim.index);
            log.wait_written(index).await.unwrap();
            let (log, _) = open(&disk, &sample.options).await.unwrap();
            assert_eq!(log.last(), index);
            assert_eq!(read(&log, index, index).await, [(index, again)]);
        }
    });
}

#[test]
fn a_missing_segment_is_said() {
    simulate(async {
        let sample = sample(Padding::Fragment, |_| true, true).await;
        assert!(sample.segments.len() >= 3);
        let disk = sample.disk(0, |_| {});
        let missing: PathBuf = segment(sample.segments[1].number);
        disk.remove(&missing).unwrap();
        assert!(matches!(
            open(&disk, &sample.options).await,
            Err(OpenError::Missing(file)) if missing.ends_with(&file)
        ));
    });
}
