//! Cursors that read segments: while those grow, with what was read kept or dropped, and into
//! damage.

use crate::common::{put, record, segment, simulate, small, start, text};
use bytes::Bytes;
use dunlin_log::{
    Compression, Cursor, CursorError, Index, Log, Options, Padding,
    block::{Encoder, Form},
    disk::Disk,
    sim::SimDisk,
};

/// Nothing is read from memory.
fn from_disk() -> Options {
    Options {
        tail_bytes: 0,
        ..small()
    }
}

async fn written(log: &Log) {
    log.wait_written(log.last()).await.unwrap();
}

async fn up_to(cursor: &mut Cursor, last: Index, max_bytes: usize) -> Vec<(Index, Bytes)> {
    let mut read = Vec::new();
    while cursor.position() <= last {
        let batch = cursor.next(max_bytes).await.unwrap();
        let bytes: usize = batch.iter().map(|(_, record)| record.len()).sum();
        assert!(!batch.is_empty() && (batch.len() == 1 || bytes <= max_bytes));
        read.extend(batch);
    }
    read
}

/// What was handed out is not written over by what is read next, and where the segment ended at
/// one time it goes on later.
#[test]
fn a_cursor_follows_segments_that_grow() {
    let mut cases = Vec::new();
    for block_size_bytes in [4 << 10, 64 << 10] {
        for padding in [Padding::Fragment, Padding::Pad] {
            for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
                cases.push(Options {
                    block_size_bytes,
                    padding,
                    compression,
                    segment_bytes: 256 << 10,
                    ..from_disk()
                });
            }
        }
    }
    for options in cases {
        simulate(async {
            let (log, _) = start(&SimDisk::new(1), &options).await;
            let (mut wanted, mut kept) = (Vec::new(), Vec::new());
            let (mut slow, mut quick) = (log.cursor(1), log.cursor(1));
            for number in 0..1500_u64 {
                if number == 700 {
                    log.rotate(Bytes::from_static(b"preamble")).unwrap();
                }
                let bytes = if number.is_multiple_of(3) {
                    record(number)
                } else {
                    text(number)
                };
                let index = put(&log, bytes.clone(), number.is_multiple_of(50));
                if index > wanted.len() as Index + 1 {
                    wanted.push((index - 1, Bytes::from_static(b"preamble")));
                }
                wanted.push((index, bytes));
                if number.is_multiple_of(17) {
                    written(&log).await;
                    // One keeps all it is given and stays behind, one lets go and keeps up.
                    let behind = slow.position() + 10;
                    kept.extend(up_to(&mut slow, behind.min(log.last()), 700).await);
                    let position = quick.position();
                    let read = up_to(&mut quick, log.last(), 5000).await;
                    assert!(read == wanted[position as usize - 1..]);
                }
            }
            written(&log).await;
            kept.extend(up_to(&mut slow, log.last(), 100_000).await);
            assert!(kept == wanted);
            assert!(log.segments().len() > 1);
        });
    }
}

/// Reads into damage: what is whole, then the same refusal however often it is asked.
async fn stops_at(log: &Log, max_bytes: usize, wanted: &[(Index, Bytes)], at: u64) {
    let mut cursor = log.cursor(1);
    let mut read = Vec::new();
    for _ in 0..1000 {
        match cursor.next(max_bytes).await {
            Ok(batch) => read.extend(batch),
            Err(CursorError::Damaged { offset, .. }) => {
                assert_eq!(offset, at);
                assert!(read == wanted[..read.len()]);
                assert_eq!(cursor.position(), read.len() as Index + 1);
                for _ in 0..2 {
                    let again = cursor.next(max_bytes).await;
                    assert!(
                        matches!(again, Err(CursorError::Damaged { offset, .. }) if offset == at)
                    );
                }
                return;
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("it never met the damage");
}

#[test]
fn damage_stays_in_the_way() {
    simulate(async {
        for max_bytes in [1, 3000, 1 << 20] {
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &from_disk()).await;
            for number in 0..60 {
                put(&log, vec![number; 500], false);
            }
            written(&log).await;
            let wanted = crate::common::all(&log).await;
            let physical = |index: usize| 51 + 19 + 511 * index as u64;
            disk.flip(&segment(1), physical(3) + 100, 1).unwrap();
            stops_at(&log, max_bytes, &wanted, physical(3)).await;
        }
    });
}

/// The end of a split record gives place to a whole record: a valid one, but not what was begun.
#[test]
fn a_record_without_its_end_is_not_passed_over() {
    simulate(async {
        for max_bytes in [1, 3000, 1 << 20] {
            let disk = SimDisk::new(1);
            let (log, _) = start(&disk, &from_disk()).await;
            for number in 0..60 {
                put(&log, vec![number; 500], false);
            }
            written(&log).await;
            let wanted = crate::common::all(&log).await;
            let bytes = disk.contents(&segment(1)).unwrap();
            let length = u16::from_le_bytes([bytes[4096 + 4], bytes[4096 + 5]]);
            assert_eq!(bytes[4096 + 6], 8, "the end of a record");
            let mut whole = Vec::new();
            Encoder::new(4096, Padding::Fragment, Form::Recyclable(1), 0)
                .record(&vec![9; usize::from(length)], &mut whole);
            let file = disk.open(&segment(1), false).unwrap();
            file.write_at(&whole, 4096).unwrap();
            stops_at(&log, max_bytes, &wanted, 4096).await;
        }
    });
}

/// What one has read, another that is near is given without reading it: damage that came between is not met.
#[test]
fn what_two_read_at_a_time_is_read_once() {
    simulate(async {
        let disk = SimDisk::new(1);
        let options = Options {
            compression: Compression::Lz4,
            ..from_disk()
        };
        let (log, _) = start(&disk, &options).await;
        for number in 0..60 {
            put(&log, text(number), false);
        }
        written(&log).await;
        let wanted = crate::common::all(&log).await;
        let (mut first, mut second) = (log.cursor(1), log.cursor(1).going_after());
        let begun = second.next(1).await.unwrap();
        let read = up_to(&mut first, log.last(), 1 << 20).await;
        assert!(read == wanted);
        let size = disk.contents(&segment(1)).unwrap().len() as u64;
        for offset in (64..size).step_by(50) {
            disk.flip(&segment(1), offset, 1).unwrap();
        }
        let rest = up_to(&mut second, log.last(), 3000).await;
        assert!([begun, rest].concat() == wanted);
        // Nothing is kept for one alone.
        drop(first);
        let mut alone = second;
        alone.seek(1);
        assert!(alone.next(1).await.is_err());
    });
}
