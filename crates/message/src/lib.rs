//! What travels: anything that can write itself into a buffer and read itself back.
//!
//! A crate of its own, so that `crates/rpc`, which carries messages, knows none of them, and
//! `crates/proto`, which has them, knows neither sockets nor an event loop.
#![deny(unsafe_code)]

use bytes::{Bytes, BytesMut};
use std::borrow::Cow;

/// A request or a response.
pub trait Message: Sized + Send + 'static {
    /// Appends the body to `out`. Must only append, and must not call whoever sends it.
    fn encode(&self, out: &mut BytesMut);

    /// Reads a body back. Slices of `body` share the connection's read buffer (64 KiB and more):
    /// copy what is kept for long, or a few bytes hold the whole buffer.
    fn decode(body: Bytes) -> Result<Self, DecodeError>;

    /// About how many bytes this message holds; what queues are bounded by.
    fn weight(&self) -> usize;
}

/// The peer's body is not a message of the expected type: it runs another version, or is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message cannot be decoded: {0}")]
pub struct DecodeError(Cow<'static, str>);

impl DecodeError {
    /// An error that names what is wrong with the body.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self(what.into())
    }
}

impl From<bytes::TryGetError> for DecodeError {
    fn from(short: bytes::TryGetError) -> Self {
        Self(short.to_string().into())
    }
}

/// An opaque body, taken as it is.
impl Message for Bytes {
    fn encode(&self, out: &mut BytesMut) {
        out.extend_from_slice(self);
    }

    fn decode(body: Bytes) -> Result<Self, DecodeError> {
        Ok(body)
    }

    fn weight(&self) -> usize {
        self.len()
    }
}
