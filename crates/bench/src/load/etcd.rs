//! etcd's `Put` and `Range` of one key over gRPC, for the rival.

use super::grpc::{Method, Streams};
use super::key::{Asked, KEY_LENGTH, Keys};
use super::protobuf;
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::value::Values;

/// What is asked of each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EtcdRequest {
    /// Write its value.
    Put,
    /// Read it back as of now: the leader asks a majority whether it still leads.
    Linearizable,
    /// Read what the member that is asked has, which may be old.
    Serializable,
}

/// One request of every chosen key.
#[derive(Debug, Clone)]
pub struct EtcdWorkload {
    request: EtcdRequest,
    keys: Keys,
    values: Values,
    method: Method,
}

/// A connection and the key it waits for.
#[derive(Debug, Default)]
pub struct Exchange {
    streams: Streams,
    asked: Asked,
}

impl EtcdWorkload {
    /// Requests for these keys.
    pub fn new(request: EtcdRequest, keys: Keys, values: Values) -> EtcdWorkload {
        let method = match request {
            EtcdRequest::Put => "/etcdserverpb.KV/Put",
            EtcdRequest::Linearizable | EtcdRequest::Serializable => "/etcdserverpb.KV/Range",
        };
        EtcdWorkload {
            request,
            keys,
            values,
            method: Method::new(method),
        }
    }

    /// `PutRequest { key = 1, value = 2 }` or `RangeRequest { key = 1, serializable = 7 }`.
    fn message(&self, Asked { number, key }: &Asked, out: &mut Vec<u8>) {
        protobuf::put_bytes(1, KEY_LENGTH, out, |out| out.extend_from_slice(key));
        match self.request {
            EtcdRequest::Put => protobuf::put_bytes(2, self.values.length(), out, |out| {
                self.values.append(key, *number, out);
            }),
            EtcdRequest::Linearizable => {}
            EtcdRequest::Serializable => protobuf::put_true(7, out),
        }
    }

    fn judge(&self, asked: &Asked, message: Option<&[u8]>) -> Verdict {
        let Some(message) = message else {
            return Verdict::Status(500);
        };
        // `PutResponse { header = 1 }`, `RangeResponse { header = 1, kvs = 2 }`, `KeyValue { value = 5 }`.
        if protobuf::bytes(message, 1).is_none() {
            return Verdict::WrongBody;
        }
        if self.request == EtcdRequest::Put {
            return Verdict::Expected;
        }
        let Some(found) = protobuf::bytes(message, 2) else {
            return Verdict::Status(404);
        };
        let value = protobuf::bytes(found, 5).unwrap_or_default();
        match self.values.matches(&asked.key, asked.number, value) {
            true => Verdict::Expected,
            false => Verdict::WrongBody,
        }
    }
}

impl Protocol for EtcdWorkload {
    type Exchange = Exchange;

    fn greeting(&self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        exchange.streams.greet(out);
    }

    fn request(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) -> bool {
        let Some(asked) = self.keys.advance() else {
            return false;
        };
        exchange.asked = asked;
        self.method
            .call(&mut exchange.streams, out, |out| self.message(&asked, out));
        true
    }

    fn response(
        &mut self,
        exchange: &mut Exchange,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let (consumed, is_complete) = exchange.streams.receive(input, out)?;
        if !is_complete {
            return Ok(Progress::Incomplete { consumed });
        }
        let verdict = self.judge(&exchange.asked, exchange.streams.message());
        Ok(Progress::Complete { consumed, verdict })
    }
}

#[cfg(test)]
#[path = "etcd_tests.rs"]
mod tests;
