//! Full disks, failed syncs and writes.

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{AppendError, CursorError, Lack, Options, sim::SimDisk};
use std::time::Duration;

/// Appends synced records until the log refuses; gives the index of the last accepted one.
async fn fill(log: &dunlin_log::Log) -> (u64, AppendError) {
    for number in 1..10_000 {
        if log.should_rotate()
            && let Err(error) = log.rotate(Bytes::from_static(b"preamble"))
        {
            // Whoever does not rotate meets the same refusal once the segment is really full.
            loop {
                match log.append(record(number), true) {
                    Ok(index) => log.wait_synced(index).await.unwrap(),
                    Err(again) => {
                        assert_eq!(again, error);
                        return (log.last(), error);
                    }
                }
            }
        }
        match log.append(record(number), true) {
            Ok(index) => log.wait_synced(index).await.unwrap(),
            Err(error) => return (log.last(), error),
        }
    }
    panic!("never full");
}

#[test]
fn a_full_disk_refuses_and_recovers_by_itself() {
    simulate(async {
        let disk = SimDisk::new(1);
        disk.set_capacity(Some(200 << 10));
        let (log, _) = start(&disk, &small()).await;
        let (last, error) = fill(&log).await;
        assert_eq!(error, AppendError::NoSpace);
        assert_eq!(log.progress().lack, Some(Lack::Space));
        assert_eq!(log.synced(), last, "all that was accepted is safe");
        assert!(log.stats().segment_bytes > 150 << 10, "the room was used");
        // Still full: it stays refused, and nothing breaks.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(log.rotate(Bytes::new()), Err(AppendError::NoSpace));
        // Room comes; nobody calls anything.
        disk.set_capacity(None);
        let seen = log.progress();
        let now = log.changed(&seen).await;
        assert_eq!(now.lack, None);
        let index = put(&log, record(1), true);
        log.wait_synced(index).await.unwrap();
        let before = all(&log).await;
        disk.crash();
        let (log, _) = start(&disk, &small()).await;
        assert_eq!(all(&log).await, before);
    });
}

#[test]
fn releasing_makes_room_at_once() {
    simulate(async {
        let disk = SimDisk::new(1);
        disk.set_capacity(Some(200 << 10));
        let (log, _) = start(&disk, &small()).await;
        let (last, _) = fill(&log).await;
        log.release(last);
        let seen = log.progress();
        let now = tokio::time::timeout(Duration::from_millis(10), log.changed(&seen)).await;
        assert_eq!(now.unwrap().lack, None);
        assert_eq!(log.segments().len(), 1);
        let index = put(&log, record(1), true);
        log.wait_synced(index).await.unwrap();
    });
}

#[test]
fn what_was_accepted_before_the_disk_was_found_full_is_kept_and_written_later() {
    simulate(async {
        let disk = SimDisk::new(1);
        let options = Options {
            spare_segments: 0,
            ..small()
        };
        let (log, _) = start(&disk, &options).await;
        let first = put(&log, record(1), true);
        log.wait_synced(first).await.unwrap();
        disk.set_capacity(Some(70 << 10));
        // Accepted in memory before anybody knows.
        log.rotate(Bytes::from_static(b"second")).unwrap();
        let last = log.append(record(2), true).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(log.append(record(3), true), Err(AppendError::NoSpace));
        assert_eq!(log.synced(), first);
        disk.set_capacity(None);
        log.wait_synced(last).await.unwrap();
        assert_eq!(log.append(record(3), true), Ok(last + 1));
        assert_eq!(log.segments().len(), 2);
    });
}

#[test]
fn without_descriptors_the_log_waits_and_goes_on_by_itself() {
    simulate(async {
        for spare_segments in [0, 1] {
            let disk = SimDisk::new(1);
            let options = Options {
                spare_segments,
                tail_bytes: 0,
                ..small()
            };
            let (log, _) = start(&disk, &options).await;
            let first = put(&log, record(1), true);
            log.wait_synced(first).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
            disk.run_out_of_descriptors(true);
            log.rotate(Bytes::from_static(b"second")).unwrap();
            let last = log.append(record(2), true).unwrap();
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(log.progress().lack, Some(Lack::Files));
            assert_eq!(log.append(record(3), true), Err(AppendError::NoFiles));
            assert_eq!(log.rotate(Bytes::new()), Err(AppendError::NoFiles));
            // Reading waits, too: it must not pass for a log that cannot be read.
            let mut cursor = log.cursor(1);
            let reading = tokio::time::timeout(Duration::from_secs(1), cursor.next(1 << 20));
            assert!(reading.await.is_err());
            disk.run_out_of_descriptors(false);
            log.wait_synced(last).await.unwrap();
            let mut now = log.progress();
            while now.lack.is_some() {
                now = log.changed(&now).await;
            }
            assert_eq!(log.append(record(3), true), Ok(last + 1));
            log.wait_synced(last + 1).await.unwrap();
            assert_eq!(cursor.next(1 << 20).await.unwrap().len() as u64, first);
            let before = all(&log).await;
            disk.crash();
            let (log, _) = start(&disk, &options).await;
            assert_eq!(all(&log).await, before);
        }
    });
}

#[test]
fn segments_released_without_descriptors_go_once_there_are_some() {
    simulate(async {
        for recycle in [true, false] {
            let disk = SimDisk::new(1);
            let options = Options { recycle, ..small() };
            let (log, _) = start(&disk, &options).await;
            for number in 0..4 {
                let index = put(&log, record(number), true);
                log.wait_synced(index).await.unwrap();
                log.rotate(Bytes::from_static(b"next")).unwrap();
            }
            let last = put(&log, record(9), true);
            log.wait_synced(last).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
            let used = disk.used_bytes();
            disk.run_out_of_descriptors(true);
            log.release(last);
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(log.failure(), None);
            disk.run_out_of_descriptors(false);
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(log.progress().lack, None);
            assert!(disk.used_bytes() < used, "{} of {used}", disk.used_bytes());
            let index = put(&log, record(10), true);
            log.wait_synced(index).await.unwrap();
            let before = all(&log).await;
            disk.crash();
            let (log, _) = start(&disk, &options).await;
            assert_eq!(all(&log).await, before);
        }
    });
}

#[test]
fn closing_on_a_full_disk_says_so() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(
            &disk,
            &Options {
                spare_segments: 0,
                ..small()
            },
        )
        .await;
        let first = put(&log, record(1), true);
        log.wait_synced(first).await.unwrap();
        disk.set_capacity(Some(70 << 10));
        log.rotate(Bytes::new()).unwrap();
        assert!(log.close().await.is_err());
    });
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_or_accepted() {
    simulate(async {
        for after in 0..4 {
            let disk = SimDisk::new(after);
            let (log, _) = start(&disk, &small()).await;
            let safe = put(&log, record(1), true);
            log.wait_synced(safe).await.unwrap();
            // Let the spare segment be made first.
            tokio::time::sleep(Duration::from_millis(10)).await;
            disk.fail_sync(0);
            let lost = put(&log, record(2), true);
            let failure = log.wait_synced(lost).await.unwrap_err();
            assert!(
                failure.to_string().contains("simulated sync failure"),
                "{failure}"
            );
            assert_eq!(log.progress().failed, Some(failure.clone()));
            assert_eq!(
                log.append(record(3), false),
                Err(AppendError::Failed(failure.clone()))
            );
            assert_eq!(
                log.rotate(Bytes::new()),
                Err(AppendError::Failed(failure.clone()))
            );
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(log.synced(), safe);
            let mut cursor = log.cursor(lost + 1);
            assert_eq!(
                cursor.next(1).await,
                Err(CursorError::Failed(failure.clone()))
            );
            assert_eq!(log.close().await, Err(failure));
            // Reopened without a power loss, the record is there, and now really durable: a cache
            // that shows what the failed sync lost does not deceive.
            let (log, recovered) = start(&disk, &small()).await;
            assert_eq!(recovered.last_index, lost);
            let records = all(&log).await;
            disk.crash();
            let (log, _) = start(&disk, &small()).await;
            assert_eq!(all(&log).await, records);
        }
    });
}

#[test]
fn after_a_failed_write_nothing_is_acknowledged() {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = start(&disk, &small()).await;
        let safe = put(&log, record(1), true);
        log.wait_synced(safe).await.unwrap();
        disk.fail_write(0);
        let lost = put(&log, record(2), false);
        assert!(log.wait_written(lost).await.is_err());
        assert_eq!(log.written(), safe);
    });
}

#[test]
fn a_commit_loop_dropped_in_a_write_stops_the_log() {
    simulate(async {
        let (log, _) = open(&SimDisk::new(1), &small()).await.unwrap();
        let driving = drive(&log);
        let index = put(&log, record(1), true);
        tokio::task::yield_now().await;
        driving.abort();
        assert!(log.wait_synced(index).await.is_err());
        assert!(matches!(
            log.append(record(2), true),
            Err(AppendError::Failed(_))
        ));
    });
}
