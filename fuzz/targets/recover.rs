//! One to three files of any bytes: `check`, `open`, reading and `repair` agree, opening is
//! idempotent, and memory stays bounded.
#![no_main]

use dunlin_fuzz::{
    memory::{BATCH_BYTES, PLAIN_BYTES, limited},
    packed::unpack,
    reopen::agree,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let packed = unpack(data);
    let limit = match packed.batches {
        true => PLAIN_BYTES + BATCH_BYTES,
        false => PLAIN_BYTES,
    };
    limited(limit, || agree(&packed.files));
});
