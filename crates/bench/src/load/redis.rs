//! Redis' own protocol, for the rival.

use super::http::Verb;
use super::key::{Asked, Keys};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

/// `SET` or `GET` of every chosen key.
#[derive(Debug, Clone)]
pub struct RedisWorkload {
    verb: Verb,
    keys: Keys,
    values: Values,
}

impl RedisWorkload {
    /// Requests for these keys.
    pub fn new(verb: Verb, keys: Keys, values: Values) -> RedisWorkload {
        RedisWorkload { verb, keys, values }
    }

    fn judge(&self, asked: &Asked, value: &[u8]) -> Verdict {
        if self.values.matches(&asked.key, asked.number, value) {
            Verdict::Expected
        } else {
            Verdict::WrongBody
        }
    }
}

impl Protocol for RedisWorkload {
    type Exchange = Asked;

    fn request(&mut self, asked: &mut Asked, out: &mut Vec<u8>) -> bool {
        let Some(next) = self.keys.advance() else {
            return false;
        };
        *asked = next;
        match self.verb {
            Verb::Put => {
                out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$16\r\n");
                out.extend_from_slice(&next.key);
                out.extend_from_slice(format!("\r\n${}\r\n", self.values.length()).as_bytes());
                self.values.append(&next.key, next.number, out);
            }
            Verb::Get => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n$16\r\n");
                out.extend_from_slice(&next.key);
            }
        }
        out.extend_from_slice(b"\r\n");
        true
    }

    fn response(
        &mut self,
        asked: &mut Asked,
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let (line, rest) = input.split_at(end + 1);
        let complete = |length, verdict| {
            let consumed = line.len() + length;
            Ok(Progress::Complete { consumed, verdict })
        };
        match (self.verb, line) {
            (_, [b'-', ..]) => complete(0, Verdict::Status(500)),
            (Verb::Put, b"+OK\r\n") => complete(0, Verdict::Expected),
            (Verb::Get, b"$-1\r\n") => complete(0, Verdict::Status(404)),
            (Verb::Get, [b'$', length @ .., b'\r', b'\n']) => {
                let length = std::str::from_utf8(length)
                    .ok()
                    .and_then(|n| n.parse().ok());
                let length: usize = length.ok_or(Malformed("no length after $"))?;
                match rest.split_at_checked(length) {
                    Some((value, [b'\r', b'\n', ..])) => {
                        complete(length + 2, self.judge(asked, value))
                    }
                    Some((_, [] | [b'\r'])) | None => Ok(Progress::Incomplete { consumed: 0 }),
                    Some(_) => Err(Malformed("a value that does not end where it must")),
                }
            }
            _ => Err(Malformed("neither the answer nor an error")),
        }
    }
}

#[cfg(test)]
#[path = "redis_tests.rs"]
mod tests;
