//! gRPC calls with one message each way: as much of HTTP/2 as one at a time needs, so that the client costs as little
//! as the one for HTTP/1.1.

use super::protocol::Malformed;

const FRAME_HEAD_LENGTH: usize = 9;
/// Whether it is compressed, and its length.
const MESSAGE_HEAD_LENGTH: usize = 5;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// What is called.
#[derive(Debug, Clone)]
pub struct Method {
    headers: Vec<u8>,
}

/// A connection's streams, one after the other.
#[derive(Debug, Default)]
pub struct Streams {
    current: u32,
    is_answered: bool,
    data: Vec<u8>,
}

impl Method {
    /// `path` as in `/package.Service/Method`.
    pub fn new(path: &str) -> Method {
        // HPACK without its dynamic table: indexed POST and http, the rest as literals.
        let mut headers = vec![0x83, 0x86];
        let mut literal = |prefix: &[u8], value: &str| {
            headers.extend_from_slice(prefix);
            headers.push(value.len() as u8);
            headers.extend_from_slice(value.as_bytes());
        };
        literal(&[0x04], path);
        literal(&[0x01], "bench");
        literal(&[0x0f, 0x10], "application/grpc");
        literal(&[0x00, 2, b't', b'e'], "trailers");
        Method { headers }
    }

    /// Appends a call on the next stream.
    pub fn call(
        &self,
        streams: &mut Streams,
        out: &mut Vec<u8>,
        message: impl FnOnce(&mut Vec<u8>),
    ) {
        streams.current = match streams.current {
            0 => 1,
            last => last + 2,
        };
        streams.is_answered = false;
        streams.data.clear();
        frame(HEADERS, END_HEADERS, streams.current, &self.headers, out);
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_HEAD_LENGTH + MESSAGE_HEAD_LENGTH]);
        message(out);
        let length = out.len() - start - FRAME_HEAD_LENGTH;
        let head = frame_head(length, DATA, END_STREAM, streams.current);
        out[start..start + FRAME_HEAD_LENGTH].copy_from_slice(&head);
        let end = start + FRAME_HEAD_LENGTH + MESSAGE_HEAD_LENGTH;
        let length = (length - MESSAGE_HEAD_LENGTH) as u32;
        out[end - 4..end].copy_from_slice(&length.to_be_bytes());
    }
}

impl Streams {
    /// Begins a connection.
    pub fn greet(&mut self, out: &mut Vec<u8>) {
        *self = Streams::default();
        out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frame(SETTINGS, 0, 0, &[], out);
        // Room for every answer of a run: no window has to be refilled.
        let window = (i32::MAX as u32 - 65_535).to_be_bytes();
        frame(WINDOW_UPDATE, 0, 0, &window, out);
    }

    /// Takes what came in, and answers what HTTP/2 itself asks; how many bytes are done with, and whether the call has
    /// been answered.
    ///
    /// # Errors
    /// [`Malformed`] when the server ends the stream or the connection.
    pub fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, bool), Malformed> {
        let mut consumed = 0;
        while let Some((head, rest)) = input[consumed..].split_first_chunk::<FRAME_HEAD_LENGTH>() {
            let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *head;
            let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
            let Some(payload) = rest.get(..length) else {
                break;
            };
            consumed += FRAME_HEAD_LENGTH + length;
            let is_current = u32::from_be_bytes([s0, s1, s2, s3]) == self.current;
            match kind {
                SETTINGS if flags & ACK == 0 => frame(SETTINGS, ACK, 0, &[], out),
                PING if flags & ACK == 0 => frame(PING, ACK, 0, payload, out),
                GO_AWAY => return Err(Malformed("the server says GOAWAY")),
                // A server that has answered before it saw the request's end resets the stream afterwards, which
                // changes nothing.
                RESET if is_current && !self.is_answered => {
                    return Err(Malformed("the server reset the stream"));
                }
                DATA if is_current => self.data.extend_from_slice(payload),
                _ => {}
            }
            if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 && is_current {
                self.is_answered = true;
                return Ok((consumed, true));
            }
        }
        Ok((consumed, false))
    }

    /// The message of the answer; `None` when the call failed: then there are only trailers.
    pub fn message(&self) -> Option<&[u8]> {
        let ([0, length @ ..], message) = self.data.split_first_chunk::<MESSAGE_HEAD_LENGTH>()?
        else {
            return None;
        };
        (u32::from_be_bytes(*length) as usize == message.len()).then_some(message)
    }
}

fn frame_head(length: usize, kind: u8, flags: u8, stream: u32) -> [u8; FRAME_HEAD_LENGTH] {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    [l0, l1, l2, kind, flags, s0, s1, s2, s3]
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&frame_head(payload.len(), kind, flags, stream));
    out.extend_from_slice(payload);
}

#[cfg(test)]
#[path = "grpc_tests.rs"]
mod tests;
