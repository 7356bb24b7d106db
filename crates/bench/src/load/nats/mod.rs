//! NATS' own protocol, for the rival: puts to and gets from a key-value bucket of JetStream.

use std::cell::Cell;

use serde::Deserialize;

use super::http::Verb;
use super::key::{Asked, Keys};
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

pub mod frame;

use frame::{Frame, Message};

/// What a connection says first.
pub const CONNECT: &str = "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"bench\",\"version\":\"1\",\
                           \"protocol\":1,\"headers\":true,\"no_responders\":true}\r\n";
/// The bucket.
pub const BUCKET: &str = "bench";
/// The stream that keeps it.
pub const STREAM: &str = "KV_bench";

/// One request of every chosen key.
#[derive(Debug, Clone)]
pub struct NatsWorkload {
    verb: Verb,
    keys: Keys,
    values: Values,
    run: u64,
    /// How many connections were greeted.
    greeted: Cell<u64>,
}

/// A connection and the answer it waits for.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The subjects on which it hears answers begin so.
    inbox: String,
    requests: u64,
    /// The subject of the one answer it waits for.
    reply: String,
    asked: Asked,
}

/// What a stream says of what was published to it.
#[derive(Deserialize)]
struct Acknowledgement<'a> {
    #[serde(default)]
    stream: &'a str,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: u16,
}

impl NatsWorkload {
    /// Requests for these keys. `run` is a number that no other workload of the same servers has, so that an answer
    /// to a request of before is never taken for one of its own.
    pub fn new(verb: Verb, keys: Keys, values: Values, run: u64) -> NatsWorkload {
        NatsWorkload {
            verb,
            keys,
            values,
            run,
            greeted: Cell::new(0),
        }
    }

    fn judge(&self, asked: &Asked, message: &Message) -> Verdict {
        if let Some(status) = message.status() {
            return Verdict::Status(status);
        }
        let is_expected = match self.verb {
            Verb::Put => return acknowledged(message.payload),
            // A value comes with headers; without, it is an error of JetStream's in JSON.
            Verb::Get => {
                message.headers.is_some()
                    && self
                        .values
                        .matches(&asked.key, asked.number, message.payload)
            }
        };
        if is_expected {
            Verdict::Expected
        } else {
            Verdict::WrongBody
        }
    }
}

fn acknowledged(payload: &[u8]) -> Verdict {
    match serde_json::from_slice(payload) {
        Ok(Acknowledgement {
            error: Some(refusal),
            ..
        }) => Verdict::Status(refusal.code),
        Ok(Acknowledgement {
            stream: STREAM,
            seq: 1..,
            duplicate: false,
            ..
        }) => Verdict::Expected,
        _ => Verdict::WrongBody,
    }
}

impl Protocol for NatsWorkload {
    type Exchange = Exchange;

    fn greeting(&self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        let connection = self.greeted.replace(self.greeted.get() + 1);
        exchange.inbox = format!("_INBOX.{}.{connection}.", self.run);
        exchange.reply.clear();
        let hello = format!("{CONNECT}SUB {}* 1\r\n", exchange.inbox);
        out.extend_from_slice(hello.as_bytes());
    }

    fn request(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) -> bool {
        let Some(asked) = self.keys.advance() else {
            return false;
        };
        exchange.asked = asked;
        exchange.requests += 1;
        exchange.reply = format!("{}{}", exchange.inbox, exchange.requests);
        let (prefix, length) = match self.verb {
            Verb::Put => ("", self.values.length()),
            Verb::Get => ("$JS.API.DIRECT.GET.KV_bench.", 0),
        };
        out.extend_from_slice(format!("PUB {prefix}$KV.{BUCKET}.").as_bytes());
        out.extend_from_slice(&asked.key);
        out.extend_from_slice(format!(" {} {length}\r\n", exchange.reply).as_bytes());
        if self.verb == Verb::Put {
            self.values.append(&asked.key, asked.number, out);
        }
        out.extend_from_slice(b"\r\n");
        true
    }

    fn response(
        &mut self,
        exchange: &mut Exchange,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let mut consumed = 0;
        while let Some((frame, length)) = Frame::read(&input[consumed..])? {
            consumed += length;
            match frame {
                Frame::Ping => out.extend_from_slice(b"PONG\r\n"),
                Frame::Said => {}
                Frame::Message(message) => {
                    if message.subject != exchange.reply.as_bytes() {
                        return Err(Malformed("an answer to another request"));
                    }
                    let verdict = self.judge(&exchange.asked, &message);
                    return Ok(Progress::Complete { consumed, verdict });
                }
            }
        }
        Ok(Progress::Incomplete { consumed })
    }
}

#[cfg(test)]
#[path = "nats_tests.rs"]
mod tests;
