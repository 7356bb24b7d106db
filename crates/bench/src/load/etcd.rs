//! etcd's `Put` and `Range` of one key over gRPC, for the rival.

use super::grpc::{Method, Streams};
use super::key::{Asked, KEY_LENGTH, Keys};
use super::protobuf;
use super::protocol::{Malformed, Progress, Protocol, Verdict};
use super::txn::second;
use super::value::Values;

/// What is asked of each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EtcdRequest {
    /// Write its value.
    Put,
    /// Write its value if it has none.
    PutIfAbsent,
    /// The same with two keys, both or none.
    PutBothIfAbsent,
    /// Read one and write another, as one.
    GetAndPut,
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
            EtcdRequest::PutIfAbsent | EtcdRequest::PutBothIfAbsent | EtcdRequest::GetAndPut => {
                "/etcdserverpb.KV/Txn"
            }
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
    fn message(&self, asked: &Asked, out: &mut Vec<u8>) {
        match self.request {
            EtcdRequest::PutIfAbsent => self.transaction(&[*asked], out),
            EtcdRequest::PutBothIfAbsent => {
                let key = second(&asked.key);
                self.transaction(&[*asked, Asked { key, ..*asked }], out);
            }
            EtcdRequest::GetAndPut => {
                let key = second(&asked.key);
                let mut get = Vec::new();
                protobuf::put_bytes(1, KEY_LENGTH, &mut get, |out| {
                    out.extend_from_slice(&asked.key);
                });
                operation(1, &get, out);
                let mut put = Vec::new();
                self.of_key(&Asked { key, ..*asked }, &mut put);
                operation(2, &put, out);
            }
            _ => self.of_key(asked, out),
        }
    }

    /// `TxnRequest { compare = 1 { target = 2 (CREATE), key = 3 }, success = 2 { request_put = 2 } }`: compared with 0,
    /// which stands for itself.
    fn transaction(&self, all: &[Asked], out: &mut Vec<u8>) {
        for Asked { key, .. } in all {
            let mut compare = Vec::new();
            protobuf::put_true(2, &mut compare);
            protobuf::put_bytes(3, KEY_LENGTH, &mut compare, |out| {
                out.extend_from_slice(key)
            });
            protobuf::put_bytes(1, compare.len(), out, |out| out.extend_from_slice(&compare));
        }
        for asked in all {
            let mut put = Vec::new();
            self.of_key(asked, &mut put);
            operation(2, &put, out);
        }
    }

    fn of_key(&self, Asked { number, key }: &Asked, out: &mut Vec<u8>) {
        protobuf::put_bytes(1, KEY_LENGTH, out, |out| out.extend_from_slice(key));
        match self.request {
            EtcdRequest::Put
            | EtcdRequest::PutIfAbsent
            | EtcdRequest::PutBothIfAbsent
            | EtcdRequest::GetAndPut => {
                protobuf::put_bytes(2, self.values.length(), out, |out| {
                    self.values.append(key, *number, out);
                });
            }
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
        match self.request {
            EtcdRequest::Put => return Verdict::Expected,
            // `TxnResponse { responses = 3 }`: one for each operation that was done.
            EtcdRequest::PutIfAbsent | EtcdRequest::PutBothIfAbsent | EtcdRequest::GetAndPut => {
                return match protobuf::bytes(message, 3) {
                    Some(_) => Verdict::Expected,
                    None => Verdict::Status(412),
                };
            }
            EtcdRequest::Linearizable | EtcdRequest::Serializable => {}
        }
        let Some(found) = protobuf::bytes(message, 2) else {
            return Verdict::Status(404);
        };
        let value = protobuf::bytes(found, 5).unwrap_or_default();
        if self.values.matches(&asked.key, asked.number, value) {
            Verdict::Expected
        } else {
            Verdict::WrongBody
        }
    }
}

/// `TxnRequest { success = 2 { request_range = 1 or request_put = 2 } }`.
fn operation(kind: u8, request: &[u8], out: &mut Vec<u8>) {
    let mut operation = Vec::new();
    protobuf::put_bytes(kind, request.len(), &mut operation, |out| {
        out.extend_from_slice(request);
    });
    protobuf::put_bytes(2, operation.len(), out, |out| {
        out.extend_from_slice(&operation);
    });
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
