//! Redis' own protocol, for the rival.

use super::key::{Choice, KeySet};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

/// `SET` of every chosen key.
#[derive(Debug, Clone)]
pub struct RedisSets {
    keys: KeySet,
    choice: Choice,
    values: Values,
}

impl RedisSets {
    /// Sets the chosen keys.
    pub fn new(keys: KeySet, choice: Choice, values: Values) -> RedisSets {
        RedisSets {
            keys,
            choice,
            values,
        }
    }
}

impl Protocol for RedisSets {
    type Exchange = ();

    fn request(&mut self, _exchange: &mut (), out: &mut Vec<u8>) -> bool {
        let Some(number) = self.choice.advance() else {
            return false;
        };
        let key = self.keys.key(number);
        out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$16\r\n");
        out.extend_from_slice(&key);
        out.extend_from_slice(format!("\r\n${}\r\n", self.values.length()).as_bytes());
        self.values.append(&key, number, out);
        out.extend_from_slice(b"\r\n");
        true
    }

    fn response(
        &mut self,
        _exchange: &mut (),
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let verdict = match &input[..=end] {
            b"+OK\r\n" => Verdict::Expected,
            [b'-', ..] => Verdict::Status(500),
            _ => return Err(Malformed("neither +OK nor an error")),
        };
        Ok(Progress::Complete {
            consumed: end + 1,
            verdict,
        })
    }
}

#[cfg(test)]
#[path = "redis_tests.rs"]
mod tests;
