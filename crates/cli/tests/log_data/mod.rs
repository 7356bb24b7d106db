//! Logs for the tests of `dunlin log`.

// Each test binary compiles its own copy and uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use dunlin_log::block::{Encoder, Form};
use dunlin_log::disk::RealDisk;
use dunlin_log::{Log, Options, Padding, Runner};

/// A data directory with the log of one shard: a preamble and `records` records, all synced.
pub fn data_with_log(records: usize) -> (tempfile::TempDir, PathBuf) {
    let payloads = (0..records).map(|number| Bytes::from(format!("record {number:06}")));
    data_with(payloads.collect())
}

/// The same with these records.
pub fn data_with(payloads: Vec<Bytes>) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("dunlin.lock"), "").unwrap();
    let directory = home.path().join("shard-0/log");
    write_segment(&directory, Options::default(), payloads);
    (home, directory)
}

/// Begins a segment in a log's directory: a preamble and these records, all synced.
pub fn write_segment(directory: &Path, options: Options, payloads: Vec<Bytes>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let runner = Runner::thread("log-test").unwrap();
        let (log, _) = Log::open(Arc::new(RealDisk), runner, directory, options)
            .await
            .unwrap();
        log.rotate(Bytes::from_static(b"preamble")).unwrap();
        for payload in payloads {
            log.append(payload, true).unwrap();
        }
        let driven = log.clone();
        let driving = tokio::task::spawn_local(async move { driven.drive().await });
        log.close().await.unwrap();
        driving.await.unwrap();
    });
}

/// A log as RocksDB writes it, and where each record ends: write batches of one put and one
/// delete, the value growing by a byte a record.
pub fn rocksdb_log(records: u64, block_size_bytes: u32) -> (Vec<u8>, Vec<usize>) {
    let mut encoder = Encoder::new(block_size_bytes, Padding::Fragment, Form::Legacy, 0);
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for record in 0..records {
        let mut batch = (2 * record + 1).to_le_bytes().to_vec();
        batch.extend(2u32.to_le_bytes());
        batch.extend(format!("\x01\x08key{record:05}").bytes());
        // A length of two bytes.
        batch.extend([(record % 128) as u8 | 128, (record / 128) as u8]);
        batch.extend(vec![b'v'; record as usize]);
        batch.extend(b"\x00\x04gone");
        encoder.record(&batch, &mut bytes);
        ends.push(bytes.len());
    }
    (bytes, ends)
}
