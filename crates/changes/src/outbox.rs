//! The lines on their way to a client, in pieces: a large value is encoded as the client takes it, from the one that
//! all streams share.

use std::collections::VecDeque;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};

/// Bytes that go out at a time, roughly.
pub(crate) const PIECE_BYTES: usize = 32 << 10;
/// Larger values are encoded in pieces.
pub(crate) const LARGE_BYTES: usize = 32 << 10;

/// Text as JSON grows six times at most.
const TEXT_STEP: usize = PIECE_BYTES / 6;
/// Base64 makes four characters of three bytes.
const BASE64_STEP: usize = PIECE_BYTES / 4 * 3;

/// A large value, of which the rest is still to be encoded.
#[derive(Debug)]
struct Large {
    rest: Bytes,
    is_text: bool,
}

#[derive(Debug)]
enum Section {
    Plain(BytesMut),
    Large(Large),
}

/// Sections, in order, and after them the lines that are written next.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    parts: VecDeque<Section>,
    last: BytesMut,
}

impl Outbox {
    /// Where the next bytes go.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.last
    }

    /// A value, as the inside of a JSON string: text, or base64.
    pub fn large(&mut self, value: &Bytes, is_text: bool) {
        let before = std::mem::take(&mut self.last);
        self.parts.push_back(Section::Plain(before));
        let rest = value.clone();
        self.parts
            .push_back(Section::Large(Large { rest, is_text }));
    }

    /// Nothing is left to be sent.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.last.is_empty()
    }

    /// Whether a large value is to be encoded.
    pub fn is_large(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Whether enough is there to be sent at once.
    pub fn is_full(&self) -> bool {
        !self.parts.is_empty() || self.last.len() >= PIECE_BYTES
    }

    /// The next piece; empty when there is none.
    pub fn take(&mut self) -> Bytes {
        let mut piece = BytesMut::new();
        while piece.len() < PIECE_BYTES {
            match self.parts.front_mut() {
                None => {
                    take(&mut piece, &mut self.last);
                    break;
                }
                Some(Section::Plain(plain)) => {
                    take(&mut piece, plain);
                    if plain.is_empty() {
                        self.parts.pop_front();
                    }
                }
                Some(Section::Large(large)) => {
                    large.encode(&mut piece);
                    if large.rest.is_empty() {
                        self.parts.pop_front();
                    }
                }
            }
        }
        piece.freeze()
    }
}

/// Moves as much as goes into the piece; without a copy where it is all there is.
fn take(piece: &mut BytesMut, from: &mut BytesMut) {
    let room = PIECE_BYTES.saturating_sub(piece.len()).min(from.len());
    if piece.is_empty() && room == from.len() {
        *piece = std::mem::take(from);
    } else {
        piece.extend_from_slice(&from.split_to(room));
    }
}

impl Large {
    fn encode(&mut self, out: &mut BytesMut) {
        let step = if self.is_text { TEXT_STEP } else { BASE64_STEP };
        let bytes = self.rest.split_to(step.min(self.rest.len()));
        if self.is_text {
            escape(out, &bytes);
        } else {
            out.put_slice(STANDARD.encode(bytes).as_bytes());
        }
    }
}

/// The inside of a JSON string.
pub(crate) fn escape(out: &mut BytesMut, mut rest: &[u8]) {
    while let Some(at) = rest
        .iter()
        .position(|b| *b < 0x20 || *b == b'"' || *b == b'\\')
    {
        out.put_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.put_slice(&[b'\\', byte]),
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\t' => out.put_slice(b"\\t"),
            byte => {
                let hex = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
                out.put_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.put_slice(rest);
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
