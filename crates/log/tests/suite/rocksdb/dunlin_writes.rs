//! Files that Dunlin wrote. The payloads are write batches put together here, byte by byte.

use super::tools::{Read, dump_wal, encode_with, hex, read};
use dunlin_log::{
    Log, Options, Padding, Runner,
    block::Form,
    disk::RealDisk,
    inspect::{Own, Verdict},
};
use std::{fs, path::Path, sync::Arc};

/// Keys and values of one batch.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A write batch of puts, as RocksDB lays it out.
fn batch(sequence: u64, entries: &Entries) -> Vec<u8> {
    let mut bytes = sequence.to_le_bytes().to_vec();
    bytes.extend((entries.len() as u32).to_le_bytes());
    for (key, value) in entries {
        bytes.push(1);
        for part in [key, value] {
            let mut length = part.len();
            while length >= 128 {
                bytes.push(length as u8 | 128);
                length >>= 7;
            }
            bytes.push(length as u8);
            bytes.extend(part);
        }
    }
    bytes
}

/// Batches of one to four puts, from nothing to more than a block.
fn batches() -> Vec<(u64, Entries)> {
    let mut sequence = 1;
    let mut batches = Vec::new();
    for at in 0..250usize {
        let entries: Entries = (0..at % 4 + 1)
            .map(|part| {
                let key = format!("key {at} {part}").into_bytes();
                (key, vec![b'a' + (at % 26) as u8; at * 37 % 9000])
            })
            .collect();
        let count = entries.len() as u64;
        batches.push((sequence, entries));
        sequence += count;
    }
    batches
}

/// Fails unless `ldb` shows every batch with its keys and values; gives back its complaints, and
/// what Dunlin reads.
fn assert_read_by_ldb(file: &Path, wanted: &[(u64, Entries)]) -> (String, Read) {
    let (lines, complaints) = dump_wal(file);
    assert_eq!(lines.len(), wanted.len(), "{complaints}");
    let ours = read(file);
    assert_eq!(ours.stat.verdict(), Verdict::Whole);
    for ((line, record), (sequence, entries)) in lines.iter().zip(&ours.records).zip(wanted) {
        assert_eq!(line.sequence, *sequence);
        assert_eq!(line.count as usize, entries.len());
        assert_eq!(line.bytes, record.payload_bytes);
        assert!(
            line.is_at(record.offset),
            "{} {}",
            line.offset,
            record.offset
        );
        let puts: Vec<String> = entries
            .iter()
            .map(|(key, value)| format!("PUT(0) : {} : {}", hex(key), hex(value)))
            .collect();
        assert_eq!(line.operations, puts.join(" "));
    }
    (complaints, ours)
}

#[test]
fn ldb_reads_what_the_encoder_writes() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("000003.log");
    let batches = batches();
    let payloads: Vec<Vec<u8>> = batches
        .iter()
        .map(|(sequence, entries)| batch(*sequence, entries))
        .collect();
    for form in [Form::Legacy, Form::Recyclable(3)] {
        for padding in [Padding::Fragment, Padding::Pad] {
            fs::write(&file, encode_with(&payloads, form, padding)).unwrap();
            let (complaints, ours) = assert_read_by_ldb(&file, &batches);
            // Legacy padding is zeros only; a pad record is a type that 7.8 does not know.
            assert_eq!(complaints.lines().count() as u64, ours.stat.own_records);
            let pads = padding == Padding::Pad && form != Form::Legacy;
            assert_eq!(ours.stat.own_records > 0, pads);
            assert_eq!(ours.stat.padded_bytes > 0, padding == Padding::Pad);
        }
    }
}

/// 7.8 predates the "safe to ignore" bit: it names each of Dunlin's own records on standard error,
/// skips it, and shows every logical record.
#[test]
fn ldb_reads_a_segment_of_the_real_log() {
    for padding in [Padding::Fragment, Padding::Pad] {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("log");
        let mut batches = batches();
        batches.insert(0, (0, Vec::new()));
        write(&directory, padding, &batches);
        // RocksDB takes the log number from a name of its own form.
        let file = home.path().join("000001.log");
        fs::copy(directory.join("00000000000000000001.log"), &file).unwrap();
        let (complaints, ours) = assert_read_by_ldb(&file, &batches);
        assert_eq!(complaints.lines().count() as u64, ours.stat.own_records);
        assert!(ours.stat.own_records >= 3, "header and marks");
        for line in complaints.lines() {
            assert!(line.contains("unknown record type"), "{line}");
        }
        let header = |own: &Own| matches!(own, Own::Header(Ok(header)) if header.number == 1);
        assert!(ours.own.iter().any(header));
    }
}

/// The first batch is the preamble of the first segment; every hundredth waits for a sync.
fn write(directory: &Path, padding: Padding, batches: &[(u64, Entries)]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let options = Options {
        padding,
        ..Options::default()
    };
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let runner = Runner::thread("log").unwrap();
        let (log, _) = Log::open(Arc::new(RealDisk), runner, directory, options)
            .await
            .unwrap();
        let driven = log.clone();
        let driving = tokio::task::spawn_local(async move { driven.drive().await });
        for (at, (sequence, entries)) in batches.iter().enumerate() {
            let payload = batch(*sequence, entries).into();
            match at {
                0 => log.rotate(payload).unwrap(),
                _ => log.append(payload, true).unwrap(),
            };
            if at % 100 == 99 {
                log.wait_synced(log.last()).await.unwrap();
            }
        }
        log.close().await.unwrap();
        driving.await.unwrap();
    });
}
