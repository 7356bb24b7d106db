//! Why a call, an accept or a connection ended.
use crate::frame::FrameError;
use bytes::Bytes;
use dunlin_secret::{Door, Refusal};
use std::io;
use std::time::Duration;

/// Codes of refusals that this crate itself gives. Services use codes below [`refusal::RESERVED`].
pub mod refusal {
    /// The first code kept for this crate.
    pub const RESERVED: u16 = 0xff00;
    /// The service dropped the call without an answer.
    pub const DROPPED: u16 = 0xff01;
    /// The request's body could not be decoded.
    pub const UNDECODABLE: u16 = 0xff02;
    /// The response was larger than a frame may be.
    pub const TOO_LARGE: u16 = 0xff03;
    /// The service does not answer this with a stream: call.
    pub const NO_STREAM: u16 = 0xff04;
    /// The peer has as many streams open as it may.
    pub const TOO_MANY_STREAMS: u16 = 0xff05;
}

/// Why a call has no response. Only `Overloaded` and `TooLarge`, and a call made while
/// disconnected, say that the request was never sent; after the others it may have been executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No answer in time. Ask another replica; the request may still be executed.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The connection is down or broke before the answer. Reconnecting goes on by itself.
    #[error("not connected")]
    Disconnected,
    /// Too much is already queued for this peer; the request was not sent. Slow down.
    #[error("too much is queued for this peer")]
    Overloaded,
    /// The peer answered that it will not do this.
    #[error("refused ({code}): {text}")]
    Refused {
        /// A code of the service, or one of [`refusal`].
        code: u16,
        /// One line for people.
        text: String,
    },
    /// The answer could not be decoded: the peer speaks another version.
    #[error("bad answer: {0}")]
    Protocol(String),
    /// The encoded request is larger than a frame may be and was not sent. Split it.
    #[error("request of {bytes} bytes is over the limit of {bytes_max}")]
    TooLarge {
        /// The size of the encoded request.
        bytes: usize,
        /// The largest that is sent.
        bytes_max: usize,
    },
}

/// Why the opening of a connection failed. The stream is of no further use.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The stream failed or ended.
    #[error("connection failed while opening: {0}")]
    Io(#[from] io::Error),
    /// The peer does not speak this protocol, or bytes were damaged.
    #[error("not a Dunlin connection: {0}")]
    NotDunlin(&'static str),
    /// The peer speaks another version of the protocol.
    #[error("the peer speaks protocol {0} and this build {ours}: run the same build on all nodes", ours = crate::hello::PROTOCOL)]
    Protocol(u16),
    /// The peer does not serve what the hello named.
    #[error("peer does not serve what the hello asks for")]
    NotServed,
    /// The peer says that another has taken this one's place. What it says besides is for whoever
    /// made the hello.
    #[error("another has taken the place of this one")]
    Superseded(Bytes),
    /// The peer took too long.
    #[error("connection was not opened in time")]
    Timeout,
    /// Here: it gave way to newer ones before it had said who it is.
    #[error("too many connections were opening at once")]
    Crowded,
    /// The two do not share a secret, or only one of them has one.
    #[error("{}", .1.line(*.0))]
    Secret(Door, Refusal),
}

/// Why a live connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The connection was never opened.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The stream failed.
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    /// The peer closed the stream.
    #[error("connection closed by the peer")]
    Closed,
    /// This side closed the stream, to open another.
    #[error("connection given up for another")]
    GivenUp,
    /// The peer sent bytes that are not a frame, or damaged ones.
    #[error("bad frame: {0}")]
    Frame(#[from] FrameError),
    /// Nothing was heard from the peer for too long.
    #[error("peer silent for {0:?}")]
    Silent(Duration),
    /// The peer took none of the bytes offered to it for too long.
    #[error("peer took no bytes for {0:?}")]
    Stalled(Duration),
}
