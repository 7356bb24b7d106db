//! Bytes between the shards of capabilities: what messages are made of.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed bytes from another shard")]
pub struct Malformed;

/// Puts bytes behind their length.
pub fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_slice(bytes);
}

/// Reads bytes behind their length.
///
/// # Errors
/// When there are fewer.
pub fn get_bytes(body: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = body.try_get_u32_le().map_err(|_| Malformed)? as usize;
    if length <= body.len() {
        Ok(body.split_to(length))
    } else {
        Err(Malformed)
    }
}

/// Reads yes or no.
///
/// # Errors
/// When it is neither.
pub fn get_flag(body: &mut Bytes) -> Result<bool, Malformed> {
    match body.try_get_u8() {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        _ => Err(Malformed),
    }
}
