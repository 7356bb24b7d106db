//! What the tests of this crate share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use dunlin_log::{Index, Log, OpenError, Options, Padding, Recovered, Runner, sim::SimDisk};
use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Runs a test on a shard's kind of event loop, with simulated time.
pub fn simulate<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(tokio::task::LocalSet::new().run_until(test))
}

pub fn dir() -> PathBuf {
    PathBuf::from("/log")
}

pub fn segment(number: u64) -> PathBuf {
    dir().join(format!("{number:020}.log"))
}

/// Small enough that every limit is met.
pub fn small() -> Options {
    Options {
        block_size_bytes: 4096,
        padding: Padding::Fragment,
        segment_bytes: 64 << 10,
        tail_bytes: 4 << 10,
        backlog_bytes: 1 << 20,
        spare_segments: 1,
        recycle: true,
        ..Options::default()
    }
}

pub async fn open(disk: &SimDisk, options: &Options) -> Result<(Log, Recovered), OpenError> {
    let runner = Runner::inline(|| Duration::from_micros(100));
    Log::open(Arc::new(disk.clone()), runner, &dir(), options.clone()).await
}

/// Opens a log and drives it.
pub async fn start(disk: &SimDisk, options: &Options) -> (Log, Recovered) {
    let (log, recovered) = open(disk, options).await.unwrap();
    drive(&log);
    (log, recovered)
}

pub fn drive(log: &Log) -> tokio::task::JoinHandle<()> {
    let log = log.clone();
    tokio::task::spawn_local(async move { log.drive().await })
}

/// Appends a record, beginning a segment when it is time.
pub fn put(log: &Log, record: impl Into<Bytes>, sync: bool) -> Index {
    if log.should_rotate() {
        log.rotate(Bytes::from_static(b"preamble")).unwrap();
    }
    log.append(record.into(), sync).unwrap()
}

/// All records, read from a fresh open of the directory.
pub async fn all(log: &Log) -> Vec<(Index, Bytes)> {
    read(log, log.first(), log.last()).await
}

/// Records `from..=to`.
pub async fn read(log: &Log, from: Index, to: Index) -> Vec<(Index, Bytes)> {
    let mut cursor = log.cursor(from);
    let mut records = Vec::new();
    while cursor.position() <= to {
        records.extend(cursor.next(10_000).await.unwrap());
    }
    records
}

/// A record that tells its number, of a length that varies with it.
pub fn record(number: u64) -> Bytes {
    let length = (number.wrapping_mul(2_654_435_761) % 700) as usize;
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + length, (number % 251) as u8);
    Bytes::from(bytes)
}

/// A record that tells its number and compresses well.
pub fn text(number: u64) -> Bytes {
    let words = format!("a dunlin flock turns as one bird {number} ");
    Bytes::from(words.repeat(1 + (number % 7) as usize))
}

pub fn path(name: &str) -> PathBuf {
    Path::new("/log").join(name)
}
