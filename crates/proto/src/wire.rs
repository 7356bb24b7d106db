//! The few shapes messages are made of.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Origin, Replaces, Stamp, Vector, Version};
use dunlin_message::DecodeError;

pub(crate) fn malformed(reason: impl ToString) -> DecodeError {
    DecodeError::new(reason.to_string())
}

pub(crate) fn get_u8(from: &mut Bytes) -> Result<u8, DecodeError> {
    from.try_get_u8().map_err(malformed)
}

pub(crate) fn get_u16(from: &mut Bytes) -> Result<u16, DecodeError> {
    from.try_get_u16_le().map_err(malformed)
}

pub(crate) fn get_u32(from: &mut Bytes) -> Result<u32, DecodeError> {
    from.try_get_u32_le().map_err(malformed)
}

pub(crate) fn get_u64(from: &mut Bytes) -> Result<u64, DecodeError> {
    from.try_get_u64_le().map_err(malformed)
}

pub(crate) fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_slice(bytes);
}

pub(crate) fn get_bytes(from: &mut Bytes) -> Result<Bytes, DecodeError> {
    let length = get_u32(from)? as usize;
    if length > from.len() {
        return Err(malformed(format!(
            "{length} bytes announced, {} left",
            from.len()
        )));
    }
    Ok(from.split_to(length))
}

pub(crate) fn put_list(out: &mut BytesMut, list: &[Bytes]) {
    out.put_u32_le(list.len() as u32);
    for bytes in list {
        put_bytes(out, bytes);
    }
}

pub(crate) fn get_list(from: &mut Bytes) -> Result<Vec<Bytes>, DecodeError> {
    let count = get_u32(from)? as usize;
    // Each element takes four bytes at least, so a lying count cannot reserve memory.
    let mut list = Vec::with_capacity(count.min(from.len() / 4));
    for _ in 0..count {
        list.push(get_bytes(from)?);
    }
    Ok(list)
}

pub(crate) fn put_option_u64(out: &mut BytesMut, value: Option<u64>) {
    out.put_u8(value.is_some().into());
    if let Some(value) = value {
        out.put_u64_le(value);
    }
}

pub(crate) fn get_option_u64(from: &mut Bytes) -> Result<Option<u64>, DecodeError> {
    Ok(match get_u8(from)? {
        0 => None,
        _ => Some(get_u64(from)?),
    })
}

pub(crate) fn put_option_bytes(out: &mut BytesMut, value: Option<&[u8]>) {
    out.put_u8(value.is_some().into());
    if let Some(value) = value {
        put_bytes(out, value);
    }
}

pub(crate) fn get_option_bytes(from: &mut Bytes) -> Result<Option<Bytes>, DecodeError> {
    Ok(match get_u8(from)? {
        0 => None,
        _ => Some(get_bytes(from)?),
    })
}

pub(crate) fn put_stamp(out: &mut BytesMut, stamp: Stamp) {
    out.put_u64_le(stamp.version.0);
    out.put_u64_le(stamp.origin.0);
}

pub(crate) fn get_stamp(from: &mut Bytes) -> Result<Stamp, DecodeError> {
    Ok(Stamp {
        version: Version(get_u64(from)?),
        origin: Origin(get_u64(from)?),
    })
}

/// `0`, or `1` or `2` (a mend) and the stamp that is replaced.
pub(crate) fn put_replaces(out: &mut BytesMut, replaces: Option<Replaces>) {
    let Some(Replaces { stamp, is_mend }) = replaces else {
        return out.put_u8(0);
    };
    out.put_u8(if is_mend { 2 } else { 1 });
    put_stamp(out, stamp);
}

pub(crate) fn get_replaces(from: &mut Bytes) -> Result<Option<Replaces>, DecodeError> {
    let is_mend = match get_u8(from)? {
        0 => return Ok(None),
        1 => false,
        2 => true,
        kind => return Err(malformed(format!("unknown kind of replacing {kind}"))),
    };
    Ok(Some(Replaces {
        stamp: get_stamp(from)?,
        is_mend,
    }))
}

pub(crate) fn put_vector(out: &mut BytesMut, vector: &Vector) {
    put_bytes(out, &vector.encode());
}

pub(crate) fn get_vector(from: &mut Bytes) -> Result<Vector, DecodeError> {
    let bytes = get_bytes(from)?;
    Vector::decode(&bytes).map_err(malformed)
}
