//! Streams: calls whose answer is a sequence of items, beside all other calls (decision 44).
//!
//! Who reads grants credit in bytes, and who writes never has more than that under way: an answer that
//! is not read costs its window, and nobody else waits for it. Items travel in parts of a quantum at most,
//! in turns with other streams, and behind every call that is ready.
//!
//! | file | what it holds |
//! |---|---|
//! | `window` | credit, on the side that grants it (pure) |
//! | `writing` | the streams that one connection writes (pure but for wakers) |
//! | `reading` | the streams that it reads (the same) |
//! | `sink`, `items` | what services and callers have of a stream |
//! | `near` | streams inside one process |
pub(crate) mod items;
pub(crate) mod near;
pub(crate) mod reading;
pub(crate) mod sink;
pub(crate) mod window;
pub(crate) mod writing;

use crate::error::CallError;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The most that a stream has of a connection before others have their turn, in bytes.
pub const QUANTUM_BYTES: usize = 32 << 10;
/// What a part of an item costs of the credit beside its bytes: it is kept somewhere.
pub(crate) const PART_COST_BYTES: usize = 32;
/// Smaller parts than this are sent only of what is smaller itself.
pub(crate) const PART_BYTES_MIN: usize = 512;
/// The smallest window there is. Twice what is not worth a part, so that a stream never stands still.
pub const WINDOW_BYTES_MIN: usize = 4 << 10;
/// The largest.
pub const WINDOW_BYTES_MAX: usize = 1 << 30;
/// The largest request that opens a stream.
pub(crate) const OPENING_BYTES_MAX: usize = 1 << 20;

/// How a stream ended: all was sent, or why not.
pub(crate) type Ending = Result<(), CallError>;

/// Something that a peer of this protocol does not do. The connection ends.
pub(crate) type Breach = &'static str;

/// Writes the body of an end.
pub(crate) fn put_ending(out: &mut BytesMut, ending: &Ending) {
    if let Err(CallError::Refused { code, text }) = ending {
        out.put_u16_le(*code);
        out.put_slice(text.as_bytes());
    }
}

/// Reads it.
pub(crate) fn get_ending(body: &Bytes) -> Ending {
    if !body.has_remaining() {
        Ok(())
    } else {
        Err(crate::service::refusal_from(body))
    }
}
