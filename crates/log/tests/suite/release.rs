//! Releasing and recycling segments.

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{CursorError, Log, OpenError, Options, disk::Disk, sim::SimDisk};
use std::time::Duration;

async fn fill(log: &Log, records: u64, sync: bool) {
    for number in 0..records {
        put(log, record(number), sync);
        if number % 10 == 0 {
            log.wait_written(log.last()).await.unwrap();
        }
    }
    log.wait_written(log.last()).await.unwrap();
}

#[test]
fn whole_segments_go_and_the_rest_stays() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &small()).await;
        fill(&log, 1000, true).await;
        let segments = log.segments();
        assert!(segments.len() > 3);
        for pair in segments.windows(2) {
            assert_eq!(pair[0].last_index + 1, pair[1].first_index);
        }
        // In the middle of the third: two go.
        log.release(segments[2].first_index + 1);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(log.first(), segments[2].first_index);
        let mut cursor = log.cursor(1);
        assert_eq!(
            cursor.next(100).await,
            Err(CursorError::TooOld { first: log.first() })
        );
        let names = disk.list(&dir()).unwrap();
        let kept = names.iter().filter(|name| name.ends_with(".log")).count();
        assert_eq!(kept, segments.len() - 2);
        // Everything below the end: the active one stays.
        log.release(u64::MAX);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(log.segments().len(), 1);
        let left = all(&log).await;
        log.close().await.unwrap();
        let (log, recovered) = start(&disk, &small()).await;
        assert_eq!(recovered.first_index, left[0].0);
        assert_eq!(all(&log).await, left);
    });
}

/// A recycled file is full of valid records of its earlier life.
#[test]
fn a_recycled_segment_never_shows_its_earlier_life() {
    simulate(async {
        for seed in 0..50 {
            let disk = SimDisk::new(seed);
            let (log, _) = start(&disk, &small()).await;
            fill(&log, 600, true).await;
            log.release(log.segments().last().unwrap().first_index);
            tokio::time::sleep(Duration::from_millis(100)).await;
            // The next segment is made of one of them. Its records have the lengths of the old
            // ones, so each new record ends where an old one begins.
            log.rotate(Bytes::from_static(b"preamble")).unwrap();
            let recycled = log.segments().last().unwrap().number;
            for number in 0..seed {
                put(&log, record(number), false);
                log.wait_written(log.last()).await.unwrap();
            }
            log.wait_written(log.last()).await.unwrap();
            let bytes = disk.contents(&segment(recycled)).unwrap();
            assert!(
                bytes[40_000..].iter().any(|byte| *byte != 0),
                "not recycled"
            );
            let records = all(&log).await;
            // Killed, not crashed: everything written is there, and nothing is torn.
            let (log, recovered) = open(&disk, &small()).await.unwrap();
            assert_eq!(recovered.torn, None);
            assert_eq!(all(&log).await, records);
            drop(log);
            // And after a power loss it is a prefix.
            disk.crash();
            let (log, _) = open(&disk, &small()).await.unwrap();
            let survived = all(&log).await;
            assert_eq!(survived, records[..survived.len()]);
        }
    });
}

#[test]
fn a_segment_stays_until_the_next_ones_beginning_is_synced() {
    simulate(async {
        for seed in 0..50 {
            let disk = SimDisk::new(seed);
            let (log, _) = start(&disk, &small()).await;
            fill(&log, 300, false).await;
            let before = log.synced();
            assert_eq!(before, 0, "nobody asked for a sync");
            log.release(u64::MAX);
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(log.segments().len(), 1, "release asked for one");
            let last = log.last();
            disk.crash();
            let (log, recovered) = start(&disk, &small()).await;
            assert_eq!(recovered.last_index, last);
            assert!(!log.should_rotate() || log.last() > 0);
        }
    });
}

/// Where older segments were released, the first one's beginning must have been synced.
#[test]
fn a_log_never_starts_over_when_its_only_segment_is_unreadable() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &small()).await;
        fill(&log, 300, true).await;
        log.release(u64::MAX);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let number = log.segments()[0].number;
        assert!(number > 1);
        let path = segment(number);
        let length = disk.contents(&path).unwrap().len() as u64;
        let file = disk.open(&path, false).unwrap();
        file.write_at(&vec![0; length as usize], 0).unwrap();
        let refused = open(&disk, &small()).await.err().unwrap();
        assert!(
            matches!(refused, OpenError::Damaged { offset: 0, .. }),
            "{refused}"
        );
    });
}

#[test]
fn without_recycling_files_are_removed() {
    simulate(async {
        let disk = SimDisk::new(1);
        let options = Options {
            recycle: false,
            spare_segments: 0,
            ..small()
        };
        let (log, _) = start(&disk, &options).await;
        fill(&log, 600, true).await;
        log.release(u64::MAX);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(disk.list(&dir()).unwrap().len(), 1);
    });
}

/// A cursor in a segment that goes away while it reads learns that the records are gone.
#[test]
fn a_cursor_overtaken_by_release_is_told() {
    simulate(async {
        let (log, _) = start(&SimDisk::new(1), &small()).await;
        fill(&log, 600, true).await;
        let mut cursor = log.cursor(1);
        cursor.next(2000).await.unwrap();
        log.release(u64::MAX);
        tokio::time::sleep(Duration::from_millis(100)).await;
        fill(&log, 300, true).await;
        assert!(matches!(
            cursor.next(2000).await,
            Err(CursorError::TooOld { .. })
        ));
    });
}
