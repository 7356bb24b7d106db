//! Messages between a view and its engine, each behind its length. `docs/formats.md`, section 16.

use std::io::{self, Read, Write};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_changes::wire::{Malformed, get_bytes, get_flag, put_bytes};

use crate::engine::ScriptError;
use crate::map::{Document, Emitted};

/// Longer messages are refused: something else than an engine writes.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// What an engine is given to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Be the map function of this source.
    Map(Bytes),
    /// Be the reduce function of this source.
    Reduce(Bytes),
    /// Call the map function with each document.
    Documents(Vec<OwnDocument>),
    /// Call the reduce function: keys and values, or `null` and what it returned before.
    Fold {
        keys: Bytes,
        values: Bytes,
        is_again: bool,
    },
}

/// A document that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnDocument {
    id: Bytes,
    value: Bytes,
    version: Bytes,
    expiry_ms: Option<u64>,
}

impl OwnDocument {
    /// The same, borrowed.
    pub fn borrow(&self) -> Document<'_> {
        Document {
            id: &self.id,
            value: &self.value,
            version: String::from_utf8_lossy(&self.version).into_owned(),
            expiry_ms: self.expiry_ms,
        }
    }
}

/// A source for an engine.
pub(crate) fn of_source(is_map: bool, source: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(source.len() + 5);
    out.put_u8(if is_map { 1 } else { 2 });
    put_bytes(&mut out, source.as_bytes());
    out.freeze()
}

/// Documents for a map function.
pub(crate) fn of_documents(documents: &[Document<'_>]) -> Bytes {
    let bytes = |document: &Document<'_>| document.id.len() + document.value.len() + 64;
    let mut out = BytesMut::with_capacity(5 + documents.iter().map(bytes).sum::<usize>());
    out.put_u8(3);
    out.put_u32_le(documents.len() as u32);
    for document in documents {
        put_bytes(&mut out, document.id);
        put_bytes(&mut out, document.value);
        put_bytes(&mut out, document.version.as_bytes());
        out.put_u8(document.expiry_ms.is_some().into());
        out.put_u64_le(document.expiry_ms.unwrap_or(0));
    }
    out.freeze()
}

/// Values for a reduce function.
pub(crate) fn of_fold(keys: &str, values: &str, is_again: bool) -> Bytes {
    let mut out = BytesMut::with_capacity(keys.len() + values.len() + 16);
    out.put_u8(4);
    put_bytes(&mut out, keys.as_bytes());
    put_bytes(&mut out, values.as_bytes());
    out.put_u8(is_again.into());
    out.freeze()
}

impl Request {
    pub fn decode(mut body: Bytes) -> Result<Request, Malformed> {
        let body = &mut body;
        match body.try_get_u8() {
            Ok(1) => Ok(Request::Map(get_bytes(body)?)),
            Ok(2) => Ok(Request::Reduce(get_bytes(body)?)),
            Ok(3) => {
                let count = body.try_get_u32_le().map_err(|_| Malformed)?;
                let document = |_| {
                    let (id, value) = (get_bytes(body)?, get_bytes(body)?);
                    let version = get_bytes(body)?;
                    let has_expiry = get_flag(body)?;
                    let expiry_ms = body.try_get_u64_le().map_err(|_| Malformed)?;
                    Ok(OwnDocument {
                        id,
                        value,
                        version,
                        expiry_ms: has_expiry.then_some(expiry_ms),
                    })
                };
                Ok(Request::Documents(
                    (0..count).map(document).collect::<Result<_, _>>()?,
                ))
            }
            Ok(4) => Ok(Request::Fold {
                keys: get_bytes(body)?,
                values: get_bytes(body)?,
                is_again: get_flag(body)?,
            }),
            _ => Err(Malformed),
        }
    }
}

/// Writes the outcome of one call: whether it failed, then the error or the value.
pub(crate) fn put_result<T>(
    out: &mut BytesMut,
    result: Result<T, ScriptError>,
    put: impl FnOnce(&mut BytesMut, T),
) {
    out.put_u8(result.is_err().into());
    match result {
        Ok(value) => put(out, value),
        Err(error) => {
            out.put_u32_le(error.line.unwrap_or(0));
            put_bytes(out, error.message.as_bytes());
        }
    }
}

/// Reads the outcome of one call.
pub(crate) fn get_result<T>(
    body: &mut Bytes,
    get: impl FnOnce(&mut Bytes) -> Result<T, Malformed>,
) -> Result<Result<T, ScriptError>, Malformed> {
    if !get_flag(body)? {
        return Ok(Ok(get(body)?));
    }
    let line = body.try_get_u32_le().map_err(|_| Malformed)?;
    let message = String::from_utf8_lossy(&get_bytes(body)?).into_owned();
    Ok(Err(ScriptError {
        line: (line > 0).then_some(line),
        message,
    }))
}

/// Writes rows of one document.
pub(crate) fn put_rows(out: &mut BytesMut, rows: Vec<Emitted>) {
    out.put_u16_le(rows.len() as u16);
    for row in rows {
        put_bytes(out, &row.key);
        put_bytes(out, row.value.as_bytes());
    }
}

/// Reads rows of one document.
pub(crate) fn get_rows(body: &mut Bytes) -> Result<Vec<Emitted>, Malformed> {
    let count = body.try_get_u16_le().map_err(|_| Malformed)?;
    let row = |_| {
        let key = get_bytes(body)?.to_vec();
        let value = get_bytes(body)?;
        let value = std::str::from_utf8(&value).map_err(|_| Malformed)?.into();
        Ok(Emitted { key, value })
    };
    (0..count).map(row).collect()
}

/// Writes a message behind its length.
pub(crate) fn write(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    to.write_all(&(body.len() as u32).to_le_bytes())?;
    to.write_all(body)?;
    to.flush()
}

/// Reads a message; none where the other side has ended.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Bytes>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(body.into()))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
