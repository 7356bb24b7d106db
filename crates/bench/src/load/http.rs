//! The store's own requests: `PUT` and `GET` of one key.

use super::key::{Asked, Choice, KEY_LENGTH, KeySet};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::response;
use super::value::Values;

/// What is asked of each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// Write the key's value; 201 expected.
    Put,
    /// Read it back; 200 with exactly that value expected.
    Get,
}

impl Verb {
    /// The HTTP method.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Put => "PUT",
            Verb::Get => "GET",
        }
    }
}

/// On how many copies a key is kept, and how many must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Copies {
    /// Answers needed.
    pub ack: u8,
    /// Copies kept.
    pub from: u8,
}

/// The keyspace that keeps one copy: how many there are does not depend on what a request asks for.
pub const ONE_COPY_KEYSPACE: &str = "one-copy";

/// Each key on one node: the paper's `0 RF`.
pub const ONE_COPY: Copies = Copies { ack: 1, from: 1 };
/// Each key on three nodes, two must answer: the paper's `3 RF`.
pub const THREE_COPIES: Copies = Copies { ack: 2, from: 3 };
/// Each key on three nodes, one must answer.
pub const ANY_COPY: Copies = Copies { ack: 1, from: 3 };

/// The head of requests that differ in their keys alone.
#[derive(Debug, Clone)]
pub struct Head {
    prefix: Vec<u8>,
    suffix: Vec<u8>,
}

impl Head {
    /// Of requests with the given acknowledgement; a `PUT` carries `value_bytes`.
    pub fn new(verb: Verb, copies: Copies, value_bytes: usize) -> Head {
        let length = match verb {
            Verb::Put => format!("Content-Length: {value_bytes}\r\n"),
            Verb::Get => String::new(),
        };
        let (path, mark) = match copies.from {
            1 => (format!("/v1/keyspaces/{ONE_COPY_KEYSPACE}/keys/"), '?'),
            _ => ("/v0/entity?id=".to_owned(), '&'),
        };
        let suffix = format!(
            "{mark}ack={}&from={} HTTP/1.1\r\nHost: bench\r\n{length}\r\n",
            copies.ack, copies.from
        );
        Head {
            prefix: format!("{} {path}", verb.name()).into_bytes(),
            suffix: suffix.into_bytes(),
        }
    }

    /// Of requests for keys of a keyspace, without any say in how many replicas answer; a `PUT` may ask that there be
    /// no value.
    pub fn of_keyspace(verb: Verb, keyspace: &str, if_absent: bool, value_bytes: usize) -> Head {
        let mut headers = match verb {
            Verb::Put => format!("Content-Length: {value_bytes}\r\n"),
            Verb::Get => String::new(),
        };
        if if_absent {
            headers.push_str("If-None-Match: *\r\n");
        }
        Head {
            prefix: format!("{} /v1/keyspaces/{keyspace}/keys/", verb.name()).into_bytes(),
            suffix: format!(" HTTP/1.1\r\nHost: bench\r\n{headers}\r\n").into_bytes(),
        }
    }

    /// Appends the head for a key.
    pub fn append(&self, key: &[u8; KEY_LENGTH], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(key);
        out.extend_from_slice(&self.suffix);
    }
}

/// A whole response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<'a> {
    /// Bytes of it all.
    pub consumed: usize,
    /// Status code.
    pub status: u16,
    /// Its body.
    pub body: &'a [u8],
}

impl<'a> Whole<'a> {
    /// The response at the front of `input`; `None` until it is complete.
    ///
    /// # Errors
    /// [`Malformed`] when it is none, or the last on its connection.
    pub fn read(input: &'a [u8]) -> Result<Option<Whole<'a>>, Malformed> {
        let Some(head) = response::parse(input)? else {
            return Ok(None);
        };
        let consumed = head.head_length.saturating_add(head.body_length);
        let Some(body) = input.get(head.head_length..consumed) else {
            return Ok(None);
        };
        if head.close {
            return Err(Malformed("the server closes a keep-alive connection"));
        }
        Ok(Some(Whole {
            consumed,
            status: head.status,
            body,
        }))
    }
}

/// A workload over HTTP/1.1.
#[derive(Debug, Clone)]
pub struct HttpWorkload {
    verb: Verb,
    keys: KeySet,
    choice: Choice,
    values: Values,
    head: Head,
}

impl HttpWorkload {
    /// Requests for `choice` of `keys` with the given acknowledgement.
    pub fn new(verb: Verb, copies: Copies, keys: KeySet, choice: Choice, values: Values) -> Self {
        let head = Head::new(verb, copies, values.length());
        HttpWorkload::with_head(verb, head, keys, choice, values)
    }

    /// The same with another head.
    pub fn with_head(verb: Verb, head: Head, keys: KeySet, choice: Choice, values: Values) -> Self {
        HttpWorkload {
            verb,
            keys,
            choice,
            head,
            values,
        }
    }

    /// Where the choice of keys stands.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl Protocol for HttpWorkload {
    type Exchange = Asked;

    fn request(&mut self, asked: &mut Asked, out: &mut Vec<u8>) -> bool {
        let Some(number) = self.choice.advance() else {
            return false;
        };
        asked.number = number;
        asked.key = self.keys.key(number);
        self.head.append(&asked.key, out);
        if self.verb == Verb::Put {
            self.values.append(&asked.key, number, out);
        }
        true
    }

    fn response(
        &mut self,
        asked: &mut Asked,
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let Some(whole) = Whole::read(input)? else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let verdict = match (self.verb, whole.status) {
            (Verb::Put, 201) => Verdict::Expected,
            (Verb::Get, 200) if self.values.matches(&asked.key, asked.number, whole.body) => {
                Verdict::Expected
            }
            (Verb::Get, 200) => Verdict::WrongBody,
            (_, status) => Verdict::Status(status),
        };
        let consumed = whole.consumed;
        Ok(Progress::Complete { consumed, verdict })
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
