//! Real files, a real I/O thread.

use crate::common::{all, drive, put, record};
use bytes::Bytes;
use dunlin_log::{
    Log, Options, Runner, check,
    disk::{Disk, RealDisk},
};
use std::sync::Arc;

fn run<T>(test: impl std::future::Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(tokio::task::LocalSet::new().run_until(test))
}

#[test]
fn a_log_on_real_files() {
    run(async {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/b/log");
        let options = Options {
            segment_bytes: 256 << 10,
            tail_bytes: 32 << 10,
            ..Options::default()
        };
        let mut wanted = Vec::new();
        for round in 0..4 {
            let runner = Runner::thread("log-test").unwrap();
            let (log, recovered) = Log::open(Arc::new(RealDisk), runner, &dir, options.clone())
                .await
                .unwrap();
            assert_eq!(recovered.last_index, wanted.len() as u64);
            assert_eq!(recovered.torn, None);
            let driving = drive(&log);
            for number in 0..500 {
                if log.should_rotate() {
                    let index = log.rotate(Bytes::from_static(b"preamble")).unwrap();
                    wanted.push((index, Bytes::from_static(b"preamble")));
                }
                let record = record(round * 1000 + number);
                wanted.push((
                    log.append(record.clone(), number % 20 == 0).unwrap(),
                    record,
                ));
                if number % 50 == 0 {
                    log.wait_synced(log.last()).await.unwrap();
                }
            }
            let mut cursor = log.cursor(1);
            while cursor.position() <= log.last() {
                for (index, record) in cursor.next(5000).await.unwrap() {
                    assert_eq!(wanted[index as usize - 1], (index, record));
                }
            }
            if round % 2 == 0 {
                log.close().await.unwrap();
                driving.await.unwrap();
            } else {
                // As after a kill: nothing is closed.
                log.wait_written(log.last()).await.unwrap();
                driving.abort();
            }
        }
        assert!(!check(&RealDisk, &dir).unwrap().is_damaged());
        let file = dir.join(format!("{:020}.log", 1));
        assert!(
            std::fs::metadata(file).unwrap().len() >= 256 << 10,
            "preallocated"
        );
    });
}

#[test]
fn segments_are_recycled_on_real_files() {
    run(async {
        let home = tempfile::tempdir().unwrap();
        let options = Options {
            segment_bytes: 128 << 10,
            ..Options::default()
        };
        let runner = Runner::thread("log-test").unwrap();
        let (log, _) = Log::open(Arc::new(RealDisk), runner, home.path(), options)
            .await
            .unwrap();
        drive(&log);
        for number in 0..3000 {
            let index = put(&log, record(number), number % 100 == 0);
            if number % 100 == 0 {
                log.wait_synced(index).await.unwrap();
                log.release(index);
            }
        }
        log.close().await.unwrap();
        let names: Vec<_> = std::fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(names.len() <= 5, "{names:?}");
        let records = all(&log).await;
        let runner = Runner::thread("log-test").unwrap();
        let (log, _) = Log::open(Arc::new(RealDisk), runner, home.path(), Options::default())
            .await
            .unwrap();
        assert_eq!(all(&log).await, records);
    });
}

#[test]
fn a_job_that_panics_is_gone_and_the_next_one_runs() {
    run(async {
        let runner = Runner::thread("log-test").unwrap();
        let gone: Result<(), _> = runner.run(|| panic!("on purpose")).await;
        assert!(gone.is_err());
        assert_eq!(runner.run(|| 7).await, Ok(7));
        assert_eq!(runner.run_read(|| 8).await, Ok(8));
    });
}

#[test]
fn a_file_is_read_into_memory_new_and_old() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("file");
    let contents: Vec<u8> = (0..10_000_u32).map(|at| (at % 251) as u8).collect();
    RealDisk
        .open(&path, true)
        .unwrap()
        .write_at(&contents, 0)
        .unwrap();
    let buffered = RealDisk.open(&path, false).unwrap();
    let direct = RealDisk.open_direct(&path).unwrap();
    for file in direct.iter().chain([&buffered]) {
        let mut buffer = Vec::new();
        // Also less than it held, more than there is, and nothing.
        for (offset, count) in [
            (1, 9000),
            (0, 10),
            (9000, 5000),
            (3, 4096),
            (10_000, 1),
            (0, 0),
        ] {
            file.read_into(&mut buffer, count, offset as u64).unwrap();
            let end = (offset + count).min(contents.len());
            assert!(buffer == contents[offset..end], "{count} at {offset}");
        }
    }
}

#[test]
fn the_directory_that_a_name_of_one_part_is_in_is_synced() {
    let parent = std::path::Path::new("name").parent().unwrap();
    RealDisk.sync_dir(parent).unwrap();
}
