//! A real log, written as an input says, and what may then happen to its files.

use crate::{
    input::Input,
    reopen::{digest, directory, open, options, path, simulate},
};
use bytes::Bytes;
use dunlin_log::{Compression, Options, Padding, disk::Disk, sim::SimDisk};

/// A log's files, and the digests of its records; the first has index 1.
pub struct Written {
    /// Segment number and contents.
    pub files: Vec<(u64, Vec<u8>)>,
    /// One for each record.
    pub digests: Vec<u64>,
}

/// Records as the input says: what is in them, how long, which are synced, where segments begin.
pub fn write(input: &mut Input<'_>) -> Written {
    let options = Options {
        block_size_bytes: 4096 << (input.u8() % 2),
        padding: input.pick(&[Padding::Fragment, Padding::Pad]),
        compression: input.pick(&[Compression::None, Compression::Lz4, Compression::Zstd]),
        direct_io: input.u8() & 1 == 1,
        segment_bytes: 16 << 10,
        backlog_bytes: 1 << 20,
        ..options()
    };
    let close = input.u8() & 1 == 1;
    let count = input.u8() % 48;
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = open(&disk, &options).await.expect("not opened");
        let driven = log.clone();
        tokio::task::spawn_local(async move { driven.drive().await });
        let mut digests = Vec::new();
        for number in 0..count {
            if log.should_rotate() {
                let preamble = Bytes::from(vec![number; usize::from(number)]);
                digests.push(digest(&preamble));
                log.rotate(preamble).expect("no new segment");
            }
            let does = input.u8();
            let record = record(does >> 6, number, input);
            digests.push(digest(&record));
            let index = match does & 4 > 0 && does >> 6 == 3 {
                true => log.rotate(record),
                false => log.append(record, does & 1 > 0),
            };
            let index = index.expect("refused");
            if does & 2 > 0 {
                log.wait_written(index).await.expect("not written");
            }
        }
        match close {
            true => log.close().await.expect("not closed"),
            false => log.wait_written(log.last()).await.expect("not written"),
        }
        let files = log
            .segments()
            .iter()
            .map(|segment| segment.number)
            .map(|number| (number, disk.contents(&path(number)).expect("no file")))
            .collect();
        assert!(disk.list(directory()).is_ok());
        Written { files, digests }
    })
}

fn record(kind: u8, number: u8, input: &mut Input<'_>) -> Bytes {
    let mut state = u64::from(number) + 1;
    let mut noise = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    match kind {
        0 => vec![number; usize::from(input.u8())].into(),
        1 => vec![number; usize::from(input.u16() % 9000)].into(),
        _ => {
            let length = usize::from(input.u16() % 9000);
            (0..length).map(&mut noise).collect::<Vec<u8>>().into()
        }
    }
}

/// Most bits flipped in one run: up to three in a record, CRC-32C finds them whatever they are.
const FLIPS_MAX: u32 = 3;

/// Changes files as disks and power losses do. False when nothing was changed.
pub fn damage(files: &mut Vec<(u64, Vec<u8>)>, input: &mut Input<'_>) -> bool {
    let before = files.clone();
    let mut flips = 0;
    for _ in 0..16 {
        if input.is_empty() || files.is_empty() {
            break;
        }
        let (does, at) = (input.u8(), usize::from(input.u8()) % files.len());
        let (offset, length) = (usize::from(input.u16()), usize::from(input.u16()));
        let several = files.len() > 1;
        let other = files[(at + 1) % files.len()].1.clone();
        let bytes = &mut files[at].1;
        let offset = offset.min(bytes.len());
        let end = (offset + length).min(bytes.len());
        match does % 6 {
            0 if flips < FLIPS_MAX && offset < bytes.len() => {
                bytes[offset] ^= 1 << (length % 8);
                flips += 1;
            }
            1 => bytes.truncate(offset),
            2 => bytes[offset..end].fill(0),
            // What another segment has there, as a recycled file would.
            3 if several => {
                let end = end.min(other.len());
                if offset < end {
                    bytes[offset..end].copy_from_slice(&other[offset..end]);
                }
            }
            4 => bytes.resize(bytes.len() + length, 0),
            5 if several => {
                files.remove(at);
            }
            _ => {}
        }
    }
    *files != before
}
