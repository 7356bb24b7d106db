//! Compressed batches: what they save, where they stop, and what becomes of them when bytes change.

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{
    Compression, Index, Log, OpenError, Options, Padding, check, disk::Disk, sim::SimDisk,
};
use std::collections::BTreeSet;

const BOTH: [Compression; 2] = [Compression::Lz4, Compression::Zstd];

fn compressed(compression: Compression) -> Options {
    Options {
        compression,
        ..small()
    }
}

fn noise(length: usize, seed: u64) -> Bytes {
    use rand::{RngCore, SeedableRng, rngs::StdRng};
    let mut bytes = vec![0; length];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    Bytes::from(bytes)
}

/// Appends groups of `size` records; returns the last index of each group, preambles alone too.
async fn groups(log: &Log, count: u64, size: u64, sync: bool) -> BTreeSet<Index> {
    let mut ends = BTreeSet::new();
    for group in 0..count {
        if log.should_rotate() {
            ends.insert(log.rotate(Bytes::from_static(b"preamble")).unwrap());
        }
        for number in 0..size {
            log.append(text(group * size + number), sync).unwrap();
        }
        log.wait_written(log.last()).await.unwrap();
        ends.insert(log.last());
    }
    ends
}

#[test]
fn what_is_saved_is_counted_alike_everywhere() {
    simulate(async {
        for compression in BOTH {
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &compressed(compression)).await;
            groups(&log, 50, 40, false).await;
            let stats = log.stats();
            let payload: u64 = all(&log).await.iter().map(|(_, r)| r.len() as u64).sum();
            assert_eq!(stats.batches, 50, "each group is one");
            let preambles = log.segments().len() as u64 * 8;
            assert_eq!(stats.batch_raw_bytes, payload - preambles);
            assert!(stats.batch_compressed_bytes * 4 < stats.batch_raw_bytes);
            let on_disk: u64 = log.segments().iter().map(|segment| segment.bytes).sum();
            assert_eq!(stats.bytes, on_disk);
            assert!(on_disk < stats.batch_compressed_bytes + 5000, "{on_disk}");
            log.close().await.unwrap();
            let report = check(&disk, &dir()).unwrap();
            let sum = |field: fn(&dunlin_log::SegmentReport) -> u64| {
                report.segments.iter().map(field).sum::<u64>()
            };
            assert_eq!(sum(|s| s.batches), stats.batches);
            assert_eq!(sum(|s| s.batched_records), 50 * 40);
            assert_eq!(sum(|s| s.batch_raw_bytes), stats.batch_raw_bytes);
            assert_eq!(
                sum(|s| s.batch_compressed_bytes),
                stats.batch_compressed_bytes
            );
            assert_eq!(sum(|s| s.payload_bytes), payload);
        }
    });
}

/// Segments hold more records, and none outgrows what was reserved for it.
#[test]
fn segments_are_filled_with_what_is_really_written() {
    simulate(async {
        for compression in BOTH {
            let options = compressed(compression);
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &options).await;
            groups(&log, 2000, 20, false).await;
            let segments = log.segments();
            assert!(segments.len() > 2);
            let (_, full) = segments.split_last().unwrap();
            for segment in full {
                assert!(
                    segment.bytes > options.segment_bytes * 3 / 4,
                    "{}",
                    segment.bytes
                );
                assert!(segment.bytes <= options.segment_bytes);
            }
        }
    });
}

#[test]
fn what_does_not_compress_is_written_as_it_is() {
    simulate(async {
        for compression in BOTH {
            let (plain, disk) = (SimDisk::new(1), SimDisk::new(1));
            for (disk, options) in [(&plain, small()), (&disk, compressed(compression))] {
                let (log, _) = start(disk, &options).await;
                for number in 0..40 {
                    put(&log, noise(900, number), false);
                    log.wait_written(log.last()).await.unwrap();
                }
                assert_eq!(log.stats().batches, 0);
                log.close().await.unwrap();
            }
            // But for the headers, which say what was tried.
            let (mut a, mut b) = (
                plain.contents(&segment(1)).unwrap(),
                disk.contents(&segment(1)).unwrap(),
            );
            a[..51].fill(0);
            b[..51].fill(0);
            assert!(a == b);
        }
    });
}

#[test]
fn records_of_every_size_come_back() {
    simulate(async {
        for compression in BOTH {
            let options = Options {
                segment_bytes: 4 << 20,
                backlog_bytes: 64 << 20,
                ..compressed(compression)
            };
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &options).await;
            let mut wanted = Vec::new();
            put(&log, Bytes::new(), false);
            for length in [0, 1, 262_136, 262_140, 262_144, 300_000, 5 << 20, 0] {
                for record in [Bytes::from(vec![7; length]), noise(length, 3), text(1)] {
                    wanted.push((put(&log, record.clone(), false), record));
                }
            }
            log.wait_written(log.last()).await.unwrap();
            assert!(log.stats().batches >= 4);
            log.close().await.unwrap();
            let (log, recovered) = start(&disk, &options).await;
            assert_eq!(recovered.torn, None);
            let records = all(&log).await;
            for (index, record) in wanted {
                assert!(records[index as usize - 1] == (index, record), "{index}");
            }
        }
    });
}

#[test]
fn a_cursor_stops_and_goes_on_within_a_batch() {
    simulate(async {
        for compression in BOTH {
            let options = Options {
                tail_bytes: 0,
                ..compressed(compression)
            };
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &options).await;
            groups(&log, 5, 30, false).await;
            let (log, _) = start(&disk, &options).await;
            let records = all(&log).await;
            assert_eq!(records.len(), 151);
            for max_bytes in [0, 1, 100, 1000] {
                let mut cursor = log.cursor(1);
                let mut read = Vec::new();
                while cursor.position() <= log.last() {
                    let batch = cursor.next(max_bytes).await.unwrap();
                    let bytes: usize = batch.iter().map(|(_, record)| record.len()).sum();
                    assert!(batch.len() == 1 || bytes <= max_bytes);
                    read.extend(batch);
                }
                assert!(read == records);
            }
            for from in 1..=log.last() {
                let read = read(&log, from, log.last()).await;
                assert!(read == records[from as usize - 1..]);
            }
            // Backwards, too: the place is not that of another record.
            let mut cursor = log.cursor(1);
            for index in (1..=log.last()).rev() {
                cursor.seek(index);
                assert_eq!(
                    cursor.next(1).await.unwrap(),
                    [records[index as usize - 1].clone()]
                );
            }
        }
    });
}

/// Every byte of a compressed log is flipped and the log cut there: what is left ends with a whole
/// batch, and what was synced is there or refused.
#[test]
fn a_batch_is_whole_or_not_there() {
    simulate(async {
        for (compression, padding, sync) in [
            (Compression::Lz4, Padding::Fragment, false),
            (Compression::Zstd, Padding::Pad, false),
            (Compression::Zstd, Padding::Fragment, true),
        ] {
            let options = Options {
                padding,
                segment_bytes: 8 << 10,
                spare_segments: 0,
                ..compressed(compression)
            };
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &options).await;
            let mut ends = groups(&log, 60, 5, sync).await;
            if sync {
                log.wait_synced(log.last()).await.unwrap();
            }
            ends.insert(0);
            let records = all(&log).await;
            let segments = log.segments();
            assert!(segments.len() > 1 && log.stats().batches > 50);
            let files: Vec<Vec<u8>> = segments
                .iter()
                .map(|info| disk.contents(&segment(info.number)).unwrap())
                .collect();
            let mut refused = 0;
            for (at, info) in segments.iter().enumerate() {
                for offset in (0..info.bytes as usize).step_by(3) {
                    for cut in [false, true] {
                        let copy = SimDisk::new(1);
                        for (other, bytes) in segments.iter().zip(&files) {
                            let mut bytes = bytes.clone();
                            if other.number == info.number && cut {
                                bytes.truncate(offset);
                            } else if other.number == info.number {
                                bytes[offset] ^= 1 << (offset % 8);
                            }
                            let file = copy.open(&segment(other.number), true).unwrap();
                            file.write_at(&bytes, 0).unwrap();
                        }
                        let case = format!("{compression} segment {at} offset {offset} {cut}");
                        match open(&copy, &options).await {
                            Ok((log, _)) => {
                                assert!(ends.contains(&log.last()), "{case}: {}", log.last());
                                assert!(log.last() + 1 >= info.first_index, "{case}");
                                assert!(
                                    all(&log).await == records[..log.last() as usize],
                                    "{case}"
                                );
                                // Of what was synced all but what no mark tells of yet.
                                assert!(!sync || at + 1 == segments.len(), "{case}");
                            }
                            Err(OpenError::Damaged { file, .. }) => {
                                assert!(sync, "{case}");
                                assert!(segment(info.number).ends_with(file), "{case}");
                                refused += 1;
                            }
                            Err(error) => panic!("{case}: {error}"),
                        }
                    }
                }
            }
            assert_eq!(refused > 1000, sync, "{refused}");
        }
    });
}

/// A recycled file is full of valid batches and records of its earlier life.
#[test]
fn a_recycled_segment_never_shows_its_earlier_batches() {
    simulate(async {
        for seed in 0..60 {
            let disk = SimDisk::new(seed);
            let options = Options {
                direct_io: seed % 3 == 0,
                padding: if seed % 2 == 0 {
                    Padding::Pad
                } else {
                    Padding::Fragment
                },
                ..compressed(BOTH[seed as usize % 2])
            };
            let (log, _) = start(&disk, &options).await;
            groups(&log, 300, 20, true).await;
            log.wait_synced(log.last()).await.unwrap();
            assert!(log.segments().len() > 1);
            log.release(log.segments().last().unwrap().first_index);
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            // The same groups again, so that new batches end where old ones began.
            log.rotate(Bytes::from_static(b"preamble")).unwrap();
            let recycled = log.segments().last().unwrap().number;
            groups(&log, seed, 20, false).await;
            log.wait_written(log.last()).await.unwrap();
            let bytes = disk.contents(&segment(recycled)).unwrap();
            assert!(
                bytes[60_000..].iter().any(|byte| *byte != 0),
                "not recycled"
            );
            let records = all(&log).await;
            let (log, recovered) = open(&disk, &options).await.unwrap();
            assert_eq!(recovered.torn, None);
            assert!(all(&log).await == records);
            drop(log);
            disk.crash();
            let (log, _) = open(&disk, &options).await.unwrap();
            let survived = all(&log).await;
            assert!(survived == records[..survived.len()]);
        }
    });
}

/// Groups that found no room are written once there is some, each record once.
#[test]
fn a_full_disk_loses_no_batch() {
    simulate(async {
        for (direct_io, compression) in [(false, BOTH[0]), (true, BOTH[1])] {
            let options = Options {
                direct_io,
                spare_segments: 0,
                ..compressed(compression)
            };
            let disk = SimDisk::new(1);
            disk.set_capacity(Some(150 << 10));
            let (log, _) = start(&disk, &options).await;
            let mut wanted = Vec::new();
            let mut refused = 0;
            for number in 0..3000u64 {
                if log.should_rotate() && log.rotate(Bytes::from_static(b"preamble")).is_ok() {
                    wanted.push(Bytes::from_static(b"preamble"));
                }
                let record = match number % 3 {
                    0 => noise(300, number),
                    _ => text(number),
                };
                if log.append(record.clone(), number % 50 == 0).is_ok() {
                    wanted.push(record);
                } else {
                    refused += 1;
                    disk.set_capacity((refused % 2 == 0).then_some(refused * (100 << 10)));
                }
                if number % 20 == 0 {
                    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
                }
            }
            assert!(refused > 0);
            disk.set_capacity(None);
            log.request_sync();
            log.wait_synced(log.last()).await.unwrap();
            assert!(log.stats().batches > 20);
            disk.crash();
            let (log, recovered) = start(&disk, &options).await;
            assert_eq!(recovered.torn, None);
            let read: Vec<Bytes> = all(&log)
                .await
                .into_iter()
                .map(|(_, record)| record)
                .collect();
            assert!(read == wanted);
        }
    });
}
