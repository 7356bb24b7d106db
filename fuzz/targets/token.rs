//! Any bytes as a token, their checksum put right: what is read is written so that it is read the same.
#![no_main]

use dunlin_fuzz::memory::limited;
use dunlin_proto::Token;
use libfuzzer_sys::fuzz_target;

/// All partitions that there can be, in a tree and in lists, beside the text.
const MEMORY_BYTES: usize = 8 << 20;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fuzz_target!(|data: &[u8]| {
    limited(MEMORY_BYTES, || {
        if let Ok(text) = std::str::from_utf8(data) {
            again(text);
        }
        for form in [1, 2] {
            let body = [&[form][..], data].concat();
            let sealed = [&body[..], &crc32c::crc32c(&body).to_le_bytes()].concat();
            again(&text_of(&sealed));
        }
    });
});

fn again(text: &str) {
    let Ok(token) = text.parse::<Token>() else {
        return;
    };
    let written = token.to_string();
    assert_eq!(written.parse(), Ok(token));
}

fn text_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=three.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]));
        }
    }
    text
}
