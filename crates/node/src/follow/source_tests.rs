#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dunlin_log::sim::SimDisk;
use dunlin_log::{Options, Runner};
use tokio::time::timeout;

use super::*;

/// A log in simulated time; whatever is read from disk takes a while.
pub(crate) fn with_log<F: Future<Output = ()>>(tail_bytes: usize, test: impl FnOnce(Log) -> F) {
    let run = async move {
        let options = Options {
            tail_bytes,
            ..Options::default()
        };
        let runner = Runner::inline(|| Duration::from_millis(10));
        let disk = Arc::new(SimDisk::new(1));
        let opened = Log::open(disk, runner, Path::new("/log"), options).await;
        let (log, _) = opened.unwrap();
        let driven = log.clone();
        tokio::task::spawn_local(async move { driven.drive().await });
        // The first record is the first segment's preamble.
        log.rotate(Bytes::from(vec![1; 100])).unwrap();
        test(log).await;
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(tokio::task::LocalSet::new().run_until(run));
}

pub(crate) fn put(log: &Log, numbers: std::ops::Range<u8>) {
    for number in numbers {
        log.append(Bytes::from(vec![number; 100]), false).unwrap();
    }
}

fn numbers(records: Option<Records>) -> Vec<Index> {
    let records = records.expect("not the end");
    for (index, record) in &records {
        assert_eq!(u64::from(record[0]), *index);
    }
    records.into_iter().map(|(index, _)| index).collect()
}

#[test]
fn it_goes_to_its_end_and_no_further() {
    for tail_bytes in [0, 1 << 20] {
        with_log(tail_bytes, |log| async move {
            put(&log, 2..10);
            log.wait_written(9).await.unwrap();
            let mut source = Source::new(log.clone(), 2, Bound::UpTo(7));
            assert_eq!(numbers(source.next(250).await.unwrap()), [2, 3]);
            assert_eq!(numbers(source.next(10_000).await.unwrap()), [4, 5, 6, 7]);
            assert_eq!(source.position(), 8);
            assert_eq!(source.next(10_000).await.unwrap(), None);
            source.seek(6);
            assert_eq!(numbers(source.next(10_000).await.unwrap()), [6, 7]);
            let mut nothing = Source::new(log.clone(), 8, Bound::UpTo(7));
            assert_eq!(nothing.next(10_000).await.unwrap(), None);
        });
    }
}

#[test]
fn what_is_not_synced_is_not_shown_and_a_sync_is_asked_for() {
    with_log(1 << 20, |log| async move {
        put(&log, 2..4);
        let mut accepted = Source::new(log.clone(), 1, Bound::Accepted);
        assert_eq!(numbers(accepted.next(10_000).await.unwrap()), [1, 2, 3]);
        assert_eq!(log.progress().synced, 0);
        let mut synced = Source::new(log.clone(), 1, Bound::Synced);
        let read = synced.next(10_000).await.unwrap();
        assert!(numbers(read).len() as u64 <= log.progress().synced);
        // Nothing more: it waits.
        let last = synced.position();
        if last > 3 {
            let waits = timeout(Duration::from_secs(1), synced.next(10_000)).await;
            assert!(waits.is_err());
        }
        put(&log, 4..6);
        while synced.position() <= 5 {
            synced.next(10_000).await.unwrap();
            assert!(synced.position() <= log.progress().synced + 1);
        }
    });
}

#[test]
fn a_read_that_is_given_up_goes_on() {
    with_log(0, |log| async move {
        put(&log, 2..4);
        log.wait_written(3).await.unwrap();
        let mut source = Source::new(log.clone(), 1, Bound::Accepted).going_after();
        let mut read = Vec::new();
        for _ in 0..100 {
            match timeout(Duration::from_millis(1), source.next(100)).await {
                Ok(records) => read.extend(numbers(records.unwrap())),
                Err(_) => assert_eq!(source.position(), read.len() as Index + 1),
            }
        }
        assert_eq!(read, [1, 2, 3]);
        // One that waits and is sent elsewhere begins there.
        let waits = timeout(Duration::from_millis(1), source.next(100)).await;
        assert!(waits.is_err());
        source.seek(2);
        assert_eq!(numbers(source.next(100).await.unwrap()), [2]);
    });
}
