//! Any bytes as what comes over a wire: a message, an introduction, an entry, a body of pairs, a direct client's request. They are
//! read in memory that follows their own length, whatever counts they claim, and what was read is
//! written so that it is read the same.
#![no_main]

use bytes::{Bytes, BytesMut};
use dunlin_entry::{Entry, EntryView};
use dunlin_fuzz::{input::Input, memory::limited};
use dunlin_message::Message;
use dunlin_proto::{
    DirectReply, DirectRequest, Introduction, Request, Response,
    pairs::{CHECKSUM_BYTES, CheckedPairs, Pairs},
};
use libfuzzer_sys::fuzz_target;

/// More than any input of 64 KiB may take: its records in memory, each of them as small as can be.
const MEMORY_BYTES: usize = 4 << 20;
const NODE: &str = "n1";
const KEY_BYTES: usize = 256;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let kind = input.u8();
    let body = Bytes::copy_from_slice(input.rest());
    limited(MEMORY_BYTES, || match kind % 7 {
        0 => message::<Request>(body),
        1 => message::<Response>(body),
        2 => introduction(body),
        3 => entry(body),
        4 => pairs(body),
        5 => message::<DirectRequest>(body),
        _ => message::<DirectReply>(body),
    });
});

fn message<M: Message>(body: Bytes) {
    let Ok(read) = M::decode(body) else { return };
    let written = encoded(&read);
    let Ok(again) = M::decode(written.clone()) else {
        panic!("what was written is not read");
    };
    assert_eq!(encoded(&again), written);
    assert!(read.weight() >= again.weight());
}

fn encoded(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out);
    out.freeze()
}

fn introduction(body: Bytes) {
    if let Some(said) = Introduction::decode(body.clone(), NODE) {
        assert_eq!(said.encode(NODE), body);
    }
}

fn entry(body: Bytes) {
    let Ok(read) = Entry::decode(body.clone()) else {
        assert!(EntryView::new(&body).is_err());
        return;
    };
    let written = read.encode();
    assert_eq!(
        (written.len(), read.encoded_len()),
        (body.len(), body.len())
    );
    assert_eq!(Entry::decode(written), Ok(read));
}

fn pairs(body: Bytes) {
    // The checksum is put right.
    let encoded = body.slice(..body.len().saturating_sub(CHECKSUM_BYTES));
    let sealed = [&encoded[..], &crc32c::crc32c(&encoded).to_le_bytes()].concat();
    let Ok(read) = CheckedPairs::check(sealed.clone().into(), KEY_BYTES) else {
        return;
    };
    let (count, bytes) = (read.pairs, read.bytes);
    let mut gathered = Pairs::default();
    for (key, value) in read {
        assert!(key.len() <= KEY_BYTES);
        assert!(gathered.push(&key, &value).is_ok());
    }
    let again = gathered.seal();
    assert_eq!((again.pairs(), again.bytes()), (count, bytes));
    assert_eq!(again.body()[..], sealed[..]);
}
