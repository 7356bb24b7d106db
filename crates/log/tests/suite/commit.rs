//! Appending, group commit, sync, reading back.

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{AppendError, CursorError, Options, Tail, sim::SimDisk};
use std::time::Duration;

#[test]
fn an_empty_log_wants_a_preamble_first() {
    simulate(async {
        let (log, recovered) = start(&SimDisk::new(1), &small()).await;
        assert_eq!((recovered.first_index, recovered.last_index), (1, 0));
        assert!(log.should_rotate());
        assert_eq!(log.append(record(1), true), Err(AppendError::NoSegment));
        assert_eq!(log.rotate(Bytes::from_static(b"first")), Ok(1));
        assert!(!log.should_rotate());
        assert_eq!(log.append(record(2), true), Ok(2));
        log.wait_synced(2).await.unwrap();
        assert_eq!(log.segments()[0].preamble, "first");
    });
}

#[test]
fn what_was_written_is_read_after_reopening() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &small()).await;
        let mut wanted = Vec::new();
        for number in 1..=500 {
            if log.should_rotate() {
                let index = log.rotate(Bytes::from_static(b"preamble")).unwrap();
                wanted.push((index, Bytes::from_static(b"preamble")));
            }
            wanted.push((log.append(record(number), false).unwrap(), record(number)));
            if number % 7 == 0 {
                tokio::time::sleep(Duration::from_micros(50)).await;
            }
        }
        assert!(log.segments().len() > 2);
        assert_eq!(all(&log).await, wanted, "tail and disk");
        log.close().await.unwrap();
        let (log, recovered) = start(&disk, &small()).await;
        assert_eq!(recovered.torn, None);
        assert_eq!(recovered.last_index, wanted.len() as u64);
        assert_eq!(all(&log).await, wanted, "disk only");
        // And it goes on where it stopped.
        let next = put(&log, record(501), true);
        log.wait_synced(next).await.unwrap();
        log.close().await.unwrap();
        let (log, _) = start(&disk, &small()).await;
        assert_eq!(all(&log).await.last().unwrap(), &(next, record(501)));
    });
}

#[test]
fn one_sync_serves_all_that_gathered() {
    simulate(async {
        let (log, _) = start(&SimDisk::new(1), &Options::default()).await;
        put(&log, record(1), true);
        tokio::task::yield_now().await;
        for number in 2..1000 {
            put(&log, record(number), true);
        }
        log.wait_synced(log.last()).await.unwrap();
        let stats = log.stats();
        assert_eq!(stats.records, 1000);
        assert_eq!(stats.records_synced, 1000);
        assert!(stats.syncs <= 3, "{stats:?}");
        assert_eq!(
            stats.sync_latency_us_buckets.iter().sum::<u64>(),
            stats.syncs
        );
        assert_eq!(stats.pending_bytes, 0);
    });
}

#[test]
fn without_sync_records_are_written_and_synced_on_request() {
    simulate(async {
        let (log, _) = start(&SimDisk::new(1), &small()).await;
        let index = put(&log, record(1), false);
        log.wait_written(index).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(log.synced(), 0);
        let seen = log.progress();
        log.request_sync();
        let now = log.changed(&seen).await;
        assert_eq!(now.synced, index);
        // A request with nothing to sync is no work and is not kept.
        log.request_sync();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let index = put(&log, record(2), false);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!((log.written(), log.synced()), (index, index - 1));
    });
}

#[test]
fn cursors_see_records_at_once_and_wait_for_more() {
    simulate(async {
        let (log, _) = open(&SimDisk::new(1), &small()).await.unwrap();
        let mut cursor = log.cursor(1);
        assert_eq!(cursor.try_next(100), Tail::Empty);
        put(&log, record(1), true);
        let Tail::Batch(batch) = cursor.try_next(1 << 20) else {
            panic!("not driven, yet in memory");
        };
        assert_eq!(batch[1], (2, record(1)));
        assert_eq!(log.written(), 0);
        let waiting = tokio::task::spawn_local(async move {
            let batch = cursor.next(1).await.unwrap();
            (cursor.position(), batch)
        });
        tokio::task::yield_now().await;
        put(&log, record(2), true);
        put(&log, record(3), true);
        // One byte is less than any record: one record all the same.
        assert_eq!(waiting.await.unwrap(), (4, vec![(3, record(2))]));
    });
}

#[test]
fn a_cursor_behind_the_tail_reads_from_disk() {
    simulate(async {
        let (log, _) = start(&SimDisk::new(1), &small()).await;
        for number in 1..=300 {
            put(&log, record(number), false);
        }
        log.wait_written(log.last()).await.unwrap();
        assert!(log.stats().tail_bytes <= small().tail_bytes);
        let mut cursor = log.cursor(1);
        assert_eq!(cursor.try_next(100), Tail::NeedsDisk);
        let everything = all(&log).await;
        for from in [1, 2, 17, 150, 299] {
            cursor.seek(from);
            let batch = cursor.next(2000).await.unwrap();
            assert_eq!(batch[..], everything[from as usize - 1..][..batch.len()]);
            assert!(batch.len() == 1 || batch.iter().map(|(_, r)| r.len()).sum::<usize>() <= 2000);
        }
    });
}

#[test]
fn records_larger_than_a_segment_are_allowed() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &small()).await;
        let large = Bytes::from(vec![7; 300_000]);
        let index = put(&log, large.clone(), true);
        let after = put(&log, record(1), true);
        log.wait_synced(after).await.unwrap();
        log.close().await.unwrap();
        let (log, _) = start(&disk, &small()).await;
        assert_eq!(read(&log, index, index).await[0], (index, large));
        assert_eq!(read(&log, after, after).await[0], (after, record(1)));
    });
}

#[test]
fn too_much_waiting_is_refused_until_it_is_written() {
    simulate(async {
        let (log, _) = open(&SimDisk::new(1), &small()).await.unwrap();
        let large = Bytes::from(vec![1; 50_000]);
        log.rotate(Bytes::new()).unwrap();
        let refused = (0..100).find_map(|_| log.append(large.clone(), false).err());
        assert_eq!(refused, Some(AppendError::Backlog));
        let last = log.last();
        drive(&log);
        log.wait_written(last).await.unwrap();
        assert_eq!(log.append(large, false), Ok(last + 1));
    });
}

#[test]
fn a_closed_log_accepts_nothing_and_wakes_its_cursors() {
    simulate(async {
        let (log, _) = start(&SimDisk::new(1), &small()).await;
        let last = put(&log, record(1), false);
        let mut cursor = log.cursor(last + 1);
        let waiting = tokio::task::spawn_local(async move { cursor.next(10).await });
        tokio::task::yield_now().await;
        log.close().await.unwrap();
        assert_eq!(log.synced(), last);
        assert_eq!(log.append(record(2), true), Err(AppendError::Closed));
        assert!(matches!(
            waiting.await.unwrap(),
            Err(CursorError::Failed(_))
        ));
    });
}
