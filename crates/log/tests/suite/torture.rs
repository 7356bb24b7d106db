//! Every byte of a small log is flipped, and every file cut at every offset. For each an oracle,
//! which reads the log without the code under test, says what must be recovered or refused.

pub mod layout;
mod oracle;
mod sample;

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{Compression, OpenError, Padding, disk::Disk, sim::SimDisk};
use layout::Place;
use sample::{Sample, Setup, Synced, sample};
use std::path::PathBuf;

const PLAIN: Setup = Setup {
    padding: Padding::Fragment,
    compression: Compression::None,
    synced: Synced::All,
    recycled: false,
};

/// Tortures a sample with either padding; what was refused and what opened, of both.
fn torture(compression: Compression, synced: Synced, recycled: bool) -> (u32, u32) {
    simulate(async {
        let (mut refused, mut recovered) = (0, 0);
        for padding in [Padding::Fragment, Padding::Pad] {
            let setup = Setup {
                padding,
                compression,
                synced,
                recycled,
            };
            let (more, others) = sample(setup).await.torture().await;
            refused += more;
            recovered += others;
        }
        (refused, recovered)
    })
}

#[test]
fn synced_and_closed() {
    let (refused, recovered) = torture(Compression::None, Synced::All, false);
    // All but the last mark, padding and the free room is proven.
    assert!(refused > 5 * recovered, "{refused} {recovered}");
}

#[test]
fn some_synced() {
    let (refused, recovered) = torture(Compression::None, Synced::Some, false);
    assert!(refused > 1000 && recovered > 1000, "{refused} {recovered}");
}

#[test]
fn never_synced() {
    let (refused, _) = torture(Compression::None, Synced::None, false);
    assert_eq!(refused, 0);
}

#[test]
fn lz4_synced_and_closed() {
    let (refused, recovered) = torture(Compression::Lz4, Synced::All, false);
    assert!(refused > 5 * recovered, "{refused} {recovered}");
}

#[test]
fn lz4_never_synced() {
    let (refused, _) = torture(Compression::Lz4, Synced::None, false);
    assert_eq!(refused, 0);
}

#[test]
fn zstd_some_synced() {
    let (refused, recovered) = torture(Compression::Zstd, Synced::Some, false);
    assert!(refused > 1000 && recovered > 1000, "{refused} {recovered}");
}

/// Behind the end stand the records of the file's earlier life, and the first segment is not the
/// log's first.
#[test]
fn recycled_and_some_synced() {
    let (refused, recovered) = torture(Compression::None, Synced::Some, true);
    assert!(refused > 1000 && recovered > 1000, "{refused} {recovered}");
}

#[test]
fn lz4_recycled_synced_and_closed() {
    let (refused, recovered) = torture(Compression::Lz4, Synced::All, true);
    assert!(refused > 5 * recovered, "{refused} {recovered}");
}

/// A sector, or a page, that never reached the disk in the middle of what was written.
#[test]
fn holes() {
    simulate(async {
        for padding in [Padding::Fragment, Padding::Pad] {
            for compression in [Compression::None, Compression::Lz4] {
                for synced in [Synced::Some, Synced::None] {
                    let setup = Setup {
                        padding,
                        compression,
                        synced,
                        recycled: false,
                    };
                    let sample = sample(setup).await;
                    sample.holes(512).await;
                    sample.holes(4096).await;
                }
            }
        }
    });
}

/// A hole that is exactly a record looks like the end of the log.
#[test]
fn a_hole_at_a_record_is_not_taken_for_the_end() {
    simulate(async {
        for synced in [Synced::All, Synced::None] {
            let sample = sample(Setup { synced, ..PLAIN }).await;
            for (at, it) in sample.oracle.segments.iter().enumerate() {
                for piece in &it.pieces {
                    let hole = piece.bytes.clone();
                    let fate = sample.oracle.hole(at, hole.start, hole.end).unwrap();
                    let disk = sample.disk(at, |bytes| bytes[hole.clone()].fill(0));
                    let case = format!("{}: segment {at}, hole {hole:?}", sample.setup);
                    sample.expect(&disk, &fate, &case).await;
                }
            }
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
        let sample = sample(Setup {
            synced: Synced::None,
            ..PLAIN
        })
        .await;
        let last = sample.oracle.segments.len() - 1;
        let segment_ = &sample.oracle.segments[last];
        let victims = segment_
            .pieces
            .iter()
            .filter(|piece| piece.place == Place::Whole && !segment_.is_beginning(piece));
        for victim in victims {
            let at = victim.bytes.end - 1;
            let disk = sample.disk(last, |bytes| bytes[at] ^= 1);
            let (log, recovered) = start(&disk, &sample.options).await;
            assert!(recovered.torn.is_some());
            let left = disk.contents(&segment(segment_.number)).unwrap();
            assert!(left[victim.begin..].iter().all(|byte| *byte == 0));
            // A record of the same length ends where the old next one begins.
            let again = Bytes::from(vec![0xee; victim.bytes.len() - 11]);
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
        let sample: Sample = sample(PLAIN).await;
        assert!(sample.oracle.segments.len() >= 3);
        let disk = sample.disk(0, |_| {});
        let missing: PathBuf = segment(sample.oracle.segments[1].number);
        disk.remove(&missing).unwrap();
        assert!(matches!(
            open(&disk, &sample.options).await,
            Err(OpenError::Missing(file)) if missing.ends_with(&file)
        ));
    });
}
