//! What goes back to a client.

use std::sync::Arc;

use bytes::Bytes;
use dunlin_entry::Stamp;
use futures_util::stream::LocalBoxStream;
use http_body_util::{Either, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::doors::{Doors, Held, NoRoom};
use crate::limits::COUNTED_BYTES;
use crate::quorum::Failure;

/// A stream of chunks that may break off.
pub type Chunks = LocalBoxStream<'static, Result<Frame<Bytes>, Failure>>;
/// Bytes at hand, or a stream of them.
pub type Body = Either<Full<Bytes>, StreamBody<Chunks>>;
/// A response on its way.
pub type Reply = Response<Body>;

/// Header with the version of the value read or written.
pub(super) static VERSION_HEADER: HeaderName = HeaderName::from_static("dunlin-version");
/// Header with the time at which a value is gone, in milliseconds since 1970.
static EXPIRES_HEADER: HeaderName = HeaderName::from_static("dunlin-expires");

pub(super) fn bytes(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(body.into())));
    *reply.status_mut() = status;
    reply
}

/// A value that counts against the memory for answers until it has been written to the client.
pub(crate) fn counted(doors: &Arc<Doors>, value: Bytes) -> Result<Bytes, NoRoom> {
    if value.len() <= COUNTED_BYTES {
        return Ok(value);
    }
    let mut held = doors.account();
    held.grow(value.len())?;
    Ok(Bytes::from_owner(Counted { value, _held: held }))
}

struct Counted {
    value: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}

/// A status alone.
pub fn empty(status: StatusCode) -> Reply {
    bytes(status, Bytes::new())
}

pub(super) fn text(status: StatusCode, line: impl Into<String>) -> Reply {
    typed(bytes(status, line.into()), "text/plain; charset=utf-8")
}

/// A value and its version, as `GET` of a key answers it.
pub fn value(value: Bytes, version: Option<Stamp>) -> Reply {
    let reply = typed(bytes(StatusCode::OK, value), "application/octet-stream");
    match version {
        Some(stamp) => with_version(reply, stamp),
        None => reply,
    }
}

/// A text that is JSON.
pub fn json_text(text: String) -> Reply {
    typed(bytes(StatusCode::OK, text), "application/json")
}

/// A value as JSON.
pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(body) => typed(bytes(status, body), "application/json"),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

pub(super) fn stream(content_type: &'static str, chunks: Chunks) -> Reply {
    typed(
        Response::new(Either::Right(StreamBody::new(chunks))),
        content_type,
    )
}

pub(super) fn typed(mut reply: Reply, content_type: &'static str) -> Reply {
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

/// Adds the time at which the value is gone, in milliseconds since 1970, where it has one.
pub(super) fn with_expiry(mut reply: Reply, expires_ms: Option<u64>) -> Reply {
    if let Some(expires_ms) = expires_ms {
        let value = HeaderValue::from(expires_ms);
        reply.headers_mut().insert(&EXPIRES_HEADER, value);
    }
    reply
}

/// Adds the version, also as an `ETag`.
pub(super) fn with_version(mut reply: Reply, stamp: Stamp) -> Reply {
    let mut quoted = [b'"'; Stamp::TEXT_BYTES + 2];
    quoted[1..=Stamp::TEXT_BYTES].copy_from_slice(&stamp.to_text());
    let etag = Bytes::copy_from_slice(&quoted);
    let version = etag.slice(1..=Stamp::TEXT_BYTES);
    if let Ok(value) = HeaderValue::from_maybe_shared(version) {
        reply.headers_mut().insert(&VERSION_HEADER, value);
    }
    if let Ok(value) = HeaderValue::from_maybe_shared(etag) {
        reply.headers_mut().insert(ETAG, value);
    }
    reply
}
