//! etcd's `Put` over gRPC, for the rival: as much of HTTP/2 as one request at a time needs, so
//! that the client costs as little as the one for HTTP/1.1.

use super::key::{Choice, KEY_LENGTH, KeySet};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

const FRAME_HEAD_LENGTH: usize = 9;
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

/// `Put` of every chosen key.
#[derive(Debug, Clone)]
pub struct EtcdPuts {
    keys: KeySet,
    choice: Choice,
    values: Values,
    headers: Vec<u8>,
}

/// A connection's streams.
#[derive(Debug, Default)]
pub struct Streams {
    current: u32,
    message_bytes: usize,
}

impl EtcdPuts {
    /// Puts the chosen keys.
    pub fn new(keys: KeySet, choice: Choice, values: Values) -> EtcdPuts {
        // HPACK without its dynamic table: indexed POST and http, the rest as literals.
        let mut headers = vec![0x83, 0x86];
        let mut literal = |prefix: &[u8], value: &str| {
            headers.extend_from_slice(prefix);
            headers.push(value.len() as u8);
            headers.extend_from_slice(value.as_bytes());
        };
        literal(&[0x04], "/etcdserverpb.KV/Put");
        literal(&[0x01], "bench");
        literal(&[0x0f, 0x10], "application/grpc");
        literal(&[0x00, 2, b't', b'e'], "trailers");
        EtcdPuts {
            keys,
            choice,
            values,
            headers,
        }
    }

    fn message(&self, number: u64, out: &mut Vec<u8>) {
        let key = self.keys.key(number);
        let start = out.len();
        out.extend_from_slice(&[0; 5]);
        out.extend_from_slice(&[0x0a, KEY_LENGTH as u8]);
        out.extend_from_slice(&key);
        out.push(0x12);
        varint(self.values.length() as u64, out);
        self.values.append(&key, number, out);
        let length = (out.len() - start - 5) as u32;
        out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    }
}

impl Protocol for EtcdPuts {
    type Exchange = Streams;

    fn greeting(&self, streams: &mut Streams, out: &mut Vec<u8>) {
        *streams = Streams::default();
        out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frame(SETTINGS, 0, 0, &[], out);
        // Room for every answer of a run: no window has to be refilled.
        let window = (i32::MAX as u32 - 65_535).to_be_bytes();
        frame(WINDOW_UPDATE, 0, 0, &window, out);
    }

    fn request(&mut self, streams: &mut Streams, out: &mut Vec<u8>) -> bool {
        let Some(number) = self.choice.advance() else {
            return false;
        };
        streams.current = if streams.current == 0 {
            1
        } else {
            streams.current + 2
        };
        streams.message_bytes = 0;
        frame(HEADERS, END_HEADERS, streams.current, &self.headers, out);
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_HEAD_LENGTH]);
        self.message(number, out);
        let length = out.len() - start - FRAME_HEAD_LENGTH;
        let head = frame_head(length, DATA, END_STREAM, streams.current);
        out[start..start + FRAME_HEAD_LENGTH].copy_from_slice(&head);
        true
    }

    fn response(
        &mut self,
        streams: &mut Streams,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let mut consumed = 0;
        while let Some((head, rest)) = input[consumed..].split_first_chunk::<FRAME_HEAD_LENGTH>() {
            let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *head;
            let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
            let Some(payload) = rest.get(..length) else {
                break;
            };
            consumed += FRAME_HEAD_LENGTH + length;
            let stream = u32::from_be_bytes([s0, s1, s2, s3]);
            match kind {
                SETTINGS if flags & ACK == 0 => frame(SETTINGS, ACK, 0, &[], out),
                PING if flags & ACK == 0 => frame(PING, ACK, 0, payload, out),
                GO_AWAY => return Err(Malformed("the server says GOAWAY")),
                RESET => return Err(Malformed("the server reset the stream")),
                DATA if stream == streams.current => streams.message_bytes += length,
                _ => {}
            }
            if matches!(kind, DATA | HEADERS)
                && flags & END_STREAM != 0
                && stream == streams.current
            {
                // A failed call has no message, only trailers.
                let verdict = if streams.message_bytes >= 5 {
                    Verdict::Expected
                } else {
                    Verdict::Status(500)
                };
                return Ok(Progress::Complete { consumed, verdict });
            }
        }
        Ok(Progress::Incomplete { consumed })
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

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
#[path = "etcd_tests.rs"]
mod tests;
