//! Compressed batches: real ones, ones whose head lies, and bytes that are none, split in any way.
//! A batch whose head is honest is read; nothing takes more memory than the largest batch may.
#![no_main]

use dunlin_fuzz::{
    input::Input,
    memory::{BATCH_BYTES, PLAIN_BYTES, limited},
    physical,
    reopen::{agree, digest},
    segment,
};
use libfuzzer_sys::fuzz_target;

const BLOCK_SIZE: usize = 4096;
/// Most bytes of several records together, with their lengths.
const RAW_BYTES_MAX: usize = 256 << 10;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let codec = input.pick(&[1_u8, 2]);
    let lies = input.u8();
    let fragment = 1 + usize::from(input.u16() % 4000);
    let (count, raw, records) = records(&mut input, lies & 8 > 0);
    let mut payload = vec![codec];
    payload.extend(count.to_le_bytes());
    payload.extend((raw.len() as u32).to_le_bytes());
    if lies & 1 > 0 {
        payload.extend(input.rest());
    } else {
        payload.extend(match codec {
            1 => lz4_flex::block::compress(&raw),
            _ => zstd::bulk::compress(&raw, 1).expect("not compressed"),
        });
    }
    // What the first bytes say instead.
    if lies & 2 > 0 {
        payload[1..5].copy_from_slice(&input.u32().to_le_bytes());
    }
    if lies & 4 > 0 {
        payload[5..9].copy_from_slice(&input.u32().to_le_bytes());
    }
    if lies & 16 > 0 {
        payload[0] = input.u8();
    }
    if lies & 32 > 0 {
        payload.truncate(usize::from(input.u16()));
    }
    if lies & 64 > 0 {
        payload.extend(input.rest());
    }
    let honest = lies & !8 == 0 && count > 0 && (count == 1 || raw.len() <= RAW_BYTES_MAX);
    let file = file(&payload, fragment);
    let held = limited(PLAIN_BYTES + BATCH_BYTES, || agree(&[(1, file)]));
    let held = held.expect("nothing vouches for anything");
    let whole: Vec<u64> = [&b"preamble"[..]]
        .into_iter()
        .chain(records.iter().map(Vec::as_slice))
        .chain([&b"behind"[..]])
        .map(digest)
        .collect();
    match honest {
        true => assert!(held.digests == whole, "an honest batch is not read"),
        // Cut before the batch; or what it holds is what it says.
        false => assert!(held.digests.first() == whole.first()),
    }
});

/// Records, and as they are before compression. One alone may be of megabytes.
fn records(input: &mut Input<'_>, large: bool) -> (u32, Vec<u8>, Vec<Vec<u8>>) {
    let count = match large {
        true => 1,
        false => input.u8() % 40,
    };
    let (mut raw, mut records) = (Vec::new(), Vec::new());
    for number in 0..count {
        let length = match large {
            true => usize::from(input.u16()) << 6,
            false => usize::from(input.u16() % 10_000),
        };
        let record = vec![number; length];
        raw.extend((length as u32).to_le_bytes());
        raw.extend(&record);
        records.push(record);
    }
    (count.into(), raw, records)
}

/// A segment: header, preamble, the batch in pieces no larger than `fragment`, one more record.
fn file(payload: &[u8], fragment: usize) -> Vec<u8> {
    let mut out = Vec::new();
    segment::begin(&mut out, 1, BLOCK_SIZE as u32);
    physical::append(&mut out, 5, 1, b"preamble");
    let mut rest = payload;
    let mut first = true;
    loop {
        skip_tail(&mut out, 11);
        let room = BLOCK_SIZE - out.len() % BLOCK_SIZE - 11;
        let (piece, after) = rest.split_at(rest.len().min(room).min(fragment));
        let code = match (first, after.is_empty()) {
            (true, true) => 200,
            (true, false) => 201,
            (false, false) => 202,
            (false, true) => 203,
        };
        physical::append(&mut out, code, 1, piece);
        (rest, first) = (after, false);
        if rest.is_empty() {
            break;
        }
    }
    skip_tail(&mut out, 11 + 6);
    physical::append(&mut out, 5, 1, b"behind");
    out
}

/// Begins a new block when fewer than `needed` bytes are left of this one.
fn skip_tail(out: &mut Vec<u8>, needed: usize) {
    let left = BLOCK_SIZE - out.len() % BLOCK_SIZE;
    if left < needed {
        if left >= 11 {
            physical::append(out, physical::PAD, 1, b"");
        }
        out.resize(out.len().next_multiple_of(BLOCK_SIZE), 0);
    }
}
