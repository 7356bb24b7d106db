//! Redis' streams, for the rival: `XADD` of every chosen key with its value.

use super::key::{Asked, Keys};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

/// The stream.
pub const NAME: &str = "bench";

/// Adds one entry a key.
#[derive(Debug, Clone)]
pub struct StreamWorkload {
    keys: Keys,
    values: Values,
    added: u64,
}

impl StreamWorkload {
    /// Of these keys.
    pub fn new(keys: Keys, values: Values) -> StreamWorkload {
        StreamWorkload {
            keys,
            values,
            added: 0,
        }
    }

    /// Entries asked for.
    pub fn added(&self) -> u64 {
        self.added
    }
}

impl Protocol for StreamWorkload {
    type Exchange = Asked;

    fn request(&mut self, asked: &mut Asked, out: &mut Vec<u8>) -> bool {
        let Some(next) = self.keys.advance() else {
            return false;
        };
        *asked = next;
        self.added += 1;
        let head = format!(
            "*5\r\n$4\r\nXADD\r\n${}\r\n{NAME}\r\n$1\r\n*\r\n$16\r\n",
            NAME.len()
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(&next.key);
        out.extend_from_slice(format!("\r\n${}\r\n", self.values.length()).as_bytes());
        self.values.append(&next.key, next.number, out);
        out.extend_from_slice(b"\r\n");
        true
    }

    fn response(
        &mut self,
        _: &mut Asked,
        input: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let mut lines = input.split_inclusive(|&byte| byte == b'\n');
        let whole =
            |line: Option<&[u8]>| line.filter(|line| line.ends_with(b"\n")).map(<[u8]>::len);
        let Some(head) = whole(lines.next()) else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let complete = |consumed, verdict| Ok(Progress::Complete { consumed, verdict });
        match input.first() {
            Some(b'-') => complete(head, Verdict::Status(500)),
            // Its id.
            Some(b'$') => match whole(lines.next()) {
                Some(id) => complete(head + id, Verdict::Expected),
                None => Ok(Progress::Incomplete { consumed: 0 }),
            },
            _ => Err(Malformed("neither an id nor an error")),
        }
    }
}

#[cfg(test)]
#[path = "redis_stream_tests.rs"]
mod tests;
