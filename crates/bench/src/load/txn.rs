//! Transactions of two keys, as JSON in one request: both are written where neither has a value, or one is read and the
//! other written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::http::Whole;
use super::key::{Asked, KEY_LENGTH, Keys};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

/// The letter of each second key.
pub const SECOND_TAG: u8 = b'q';

/// The second key that is written with one.
pub fn second(key: &[u8; KEY_LENGTH]) -> [u8; KEY_LENGTH] {
    let mut second = *key;
    second[0] = SECOND_TAG;
    second
}

/// Transactions over HTTP/1.1.
#[derive(Debug, Clone)]
pub struct TxnWorkload {
    keyspace: &'static str,
    keys: Keys,
    values: Values,
    has_reads: bool,
}

impl TxnWorkload {
    /// One for each of these keys.
    pub fn new(keyspace: &'static str, keys: Keys, values: Values) -> TxnWorkload {
        TxnWorkload {
            keyspace,
            keys,
            values,
            has_reads: false,
        }
    }

    /// The same, but the first key is read, and the second written whatever it has.
    pub fn of_reads(self) -> TxnWorkload {
        let has_reads = true;
        TxnWorkload { has_reads, ..self }
    }

    fn read_body(&self, next: &Asked) -> String {
        let (keyspace, key) = (self.keyspace, second(&next.key));
        let mut value = Vec::new();
        self.values.append(&key, next.number, &mut value);
        let [first, second] = [next.key, key].map(|key| String::from_utf8_lossy(&key).into_owned());
        let value = STANDARD.encode(&value);
        format!(
            r#"{{"reads":[{{"keyspace":"{keyspace}","key":"{first}"}}],"writes":[{{"keyspace":"{keyspace}","key":"{second}","value_base64":"{value}"}}]}}"#
        )
    }

    fn body(&self, asked: &Asked) -> String {
        if self.has_reads {
            return self.read_body(asked);
        }
        let mut value = Vec::new();
        let keyspace = self.keyspace;
        let (mut checks, mut writes) = (Vec::new(), Vec::new());
        for key in [asked.key, second(&asked.key)] {
            value.clear();
            self.values.append(&key, asked.number, &mut value);
            let (key, value) = (String::from_utf8_lossy(&key), STANDARD.encode(&value));
            checks.push(format!(
                r#"{{"keyspace":"{keyspace}","key":"{key}","exists":false}}"#
            ));
            writes.push(format!(
                r#"{{"keyspace":"{keyspace}","key":"{key}","value_base64":"{value}"}}"#
            ));
        }
        format!(
            r#"{{"checks":[{}],"writes":[{}]}}"#,
            checks.join(","),
            writes.join(",")
        )
    }
}

impl Protocol for TxnWorkload {
    type Exchange = Asked;

    fn request(&mut self, asked: &mut Asked, out: &mut Vec<u8>) -> bool {
        let Some(next) = self.keys.advance() else {
            return false;
        };
        *asked = next;
        let body = self.body(asked);
        let head = format!(
            "POST /v1/txn HTTP/1.1\r\nHost: bench\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(body.as_bytes());
        true
    }

    fn response(
        &mut self,
        _asked: &mut Asked,
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let Some(whole) = Whole::read(input)? else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let verdict = match whole.status {
            200 => Verdict::Expected,
            status => Verdict::Status(status),
        };
        let consumed = whole.consumed;
        Ok(Progress::Complete { consumed, verdict })
    }
}

#[cfg(test)]
#[path = "txn_tests.rs"]
mod tests;
