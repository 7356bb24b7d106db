//! Files that Dunlin wrote.

use super::tools::{dump_wal, encode, read};
use dunlin_log::block::Form;
use std::fs;

/// A write batch of `count` puts, as RocksDB lays it out.
pub fn batch(sequence: u64, entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
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

#[test]
fn ldb_reads_what_the_encoder_writes() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("000003.log");
    let mut sequence = 1;
    let mut payloads = Vec::new();
    let mut wanted = Vec::new();
    for record in 0..200usize {
        let entries: Vec<(Vec<u8>, Vec<u8>)> = (0..record % 4 + 1)
            .map(|at| {
                let key = format!("key {record} {at}").into_bytes();
                (key, vec![b'a' + (record % 26) as u8; record * 37 % 9000])
            })
            .collect();
        payloads.push(batch(sequence, &entries));
        wanted.push((sequence, entries));
        sequence += record as u64 % 4 + 1;
    }
    for form in [Form::Legacy, Form::Recyclable(3)] {
        fs::write(&file, encode(&payloads, form)).unwrap();
        let (lines, complaints) = dump_wal(&file);
        assert_eq!(complaints, "", "{form:?}");
        assert_eq!(lines.len(), wanted.len());
        let ours = read(&file);
        for ((line, record), (sequence, entries)) in lines.iter().zip(&ours.records).zip(&wanted) {
            assert_eq!((line.sequence, line.count), (*sequence, entries.len() as u32));
            assert_eq!(line.offset, record.offset);
            println!("{}", &line.operations[..60]);
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn ldb_and_a_segment() {
    use dunlin_log::{Log, Options, Runner, disk::RealDisk};
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("log");
    let payloads: Vec<Vec<u8>> = (0..300)
        .map(|at: usize| batch(at as u64 + 1, &[(format!("key{at}").into_bytes(), vec![b'v'; at * 13])]))
        .collect();
    tokio::task::LocalSet::new()
        .run_until(async {
            let runner = Runner::thread("log").unwrap();
            let (log, _) = Log::open(std::sync::Arc::new(RealDisk), runner, &directory, Options::default())
                .await
                .unwrap();
            log.rotate(batch(0, &[]).into()).unwrap();
            let driven = log.clone();
            let driving = tokio::task::spawn_local(async move { driven.drive().await });
            for (at, payload) in payloads.iter().enumerate() {
                log.append(payload.clone().into(), true).unwrap();
                if at % 100 == 99 {
                    log.durable(log.last_index()).await.unwrap();
                }
            }
            log.close().await.unwrap();
            driving.await.unwrap();
        })
        .await;
    let file = home.path().join("000001.log");
    fs::copy(directory.join("00000000000000000001.log"), &file).unwrap();
    let (lines, complaints) = dump_wal(&file);
    println!("{} lines, complaints {complaints}, {:?}", lines.len(), read(&file).stat);
    println!("{:?}", &lines[..3]);
    panic!();
}
