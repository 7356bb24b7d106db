//! The pure encoder and decoder: any bytes at any offset; and any records, which come back.
#![no_main]

use dunlin_fuzz::{
    input::Input,
    memory::limited,
    physical::{Owner, seal},
};
use dunlin_log::{
    Padding,
    block::{
        Decoded, Encoder, Expect, FRAGMENT_MAX, Form, Kind, LEGACY_HEADER, RECYCLABLE_HEADER,
        decode,
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    match input.u8() % 3 {
        0 => any_bytes(input.rest().to_vec(), false),
        1 => any_bytes(input.rest().to_vec(), true),
        _ => any_records(&mut input),
    }
});

fn any_bytes(mut bytes: Vec<u8>, sealed: bool) {
    if sealed {
        let length = bytes.len().max(1);
        seal(&mut bytes, length, Owner::Dunlin);
    }
    let number = bytes
        .get(LEGACY_HEADER..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |number| u32::from_le_bytes(*number));
    for expect in [Expect::Any, Expect::Number(number)] {
        for at in 0..=bytes.len() + 1 {
            let decoded = limited(0, || decode(&bytes, at, expect));
            if let Decoded::Record { payload, .. } = decoded {
                assert!(payload.start >= at + LEGACY_HEADER && payload.end <= bytes.len());
                assert!(payload.start <= payload.end);
                assert!(payload.len() <= FRAGMENT_MAX);
            }
        }
    }
}

fn any_records(input: &mut Input<'_>) {
    let block_size = match input.u8() {
        bits @ 0..=8 => 4096_u32 << bits,
        // Smaller than a log allows, so that little input fills many.
        size => 12 + u32::from(size),
    };
    let padding = input.pick(&[Padding::Fragment, Padding::Pad]);
    let (form, expect, header) = match input.u8() & 1 {
        0 => (Form::Legacy, Expect::Any, LEGACY_HEADER),
        _ => (Form::Recyclable(7), Expect::Number(7), RECYCLABLE_HEADER),
    };
    let mut wanted: Vec<Vec<u8>> = Vec::new();
    let mut total = 0;
    while !input.is_empty() && total < 1 << 21 {
        let length = match input.u8() {
            251 => usize::from(input.u16()),
            252 => FRAGMENT_MAX - 20 + usize::from(input.u8()),
            253 => block_size as usize - 20 + usize::from(input.u8() % 40),
            254 => 3 * block_size as usize + usize::from(input.u8()),
            length => usize::from(length),
        };
        let length = length.min(1 << 20);
        total += length;
        wanted.push(vec![wanted.len() as u8; length]);
    }
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(block_size, padding, form, 0);
    for record in &wanted {
        encoder.record(record, &mut bytes);
    }
    assert!(read(&bytes, block_size as usize, padding, expect, header) == wanted);
}

/// The records of blocks that hold nothing else.
fn read(
    bytes: &[u8],
    block_size: usize,
    padding: Padding,
    expect: Expect,
    header: usize,
) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut begun: Option<Vec<u8>> = None;
    for block in bytes.chunks(block_size) {
        let mut at = 0;
        loop {
            match decode(block, at, expect) {
                Decoded::Record { kind, payload } => {
                    let piece = &block[payload.clone()];
                    at = payload.end;
                    match kind {
                        Kind::Full => {
                            assert!(begun.is_none());
                            records.push(piece.to_vec());
                        }
                        Kind::First => {
                            assert!(begun.is_none());
                            assert!(
                                padding == Padding::Fragment || at > block_size - header || {
                                    // Only what no block holds is split.
                                    piece.len() == FRAGMENT_MAX
                                }
                            );
                            begun = Some(piece.to_vec());
                        }
                        Kind::Middle => begun.as_mut().expect("no beginning").extend(piece),
                        Kind::Last => {
                            let mut whole = begun.take().expect("no beginning");
                            whole.extend(piece);
                            records.push(whole);
                        }
                        Kind::Pad => break,
                        _ => panic!("{kind:?} was not written"),
                    }
                }
                Decoded::Tail => break,
                Decoded::Zero => {
                    assert!(block[at..].iter().all(|&byte| byte == 0));
                    break;
                }
                Decoded::Invalid(reason) => panic!("{reason}"),
            }
        }
    }
    assert!(begun.is_none());
    records
}
