//! What clients and nodes say to one another: in place of HTTP, with the same in it.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Origin, Stamp, Version};
use dunlin_message::{DecodeError, Message};
use dunlin_node::Quorum;
use dunlin_proto::Condition;

/// What a client wants.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Keyspace number.
    pub keyspace: u32,
    /// Answers needed, of how many replicas.
    pub quorum: Quorum,
    /// The client gives this attempt up then, in milliseconds since 1970 (`Dunlin-Deadline`).
    pub deadline_ms: Option<u64>,
    /// Deadlines of attempts given up before this one end here (`Dunlin-After`).
    pub after_ms: Option<u64>,
    /// The key; empty for a scan.
    pub key: Bytes,
    /// What to do.
    pub verb: Verb,
}

/// What to do with a key, or all of them.
#[derive(Debug, Clone)]
pub enum Verb {
    /// Read it.
    Get,
    /// Write it: on a condition, for so many milliseconds if not for ever, what.
    Put(Condition, Option<u64>, Bytes),
    /// Delete it.
    Delete,
    /// Read all keys.
    Scan,
    /// Write pairs, encoded as a body of them.
    Bulk(Bytes),
    /// What a capability answers over HTTP: the method and the target, and the body.
    Http(String, Bytes),
    /// What a capability answers without HTTP: a request.
    Direct(Bytes),
}

/// That of a client which says nothing of keys.
pub fn of_verb(verb: Verb) -> Ask {
    Ask {
        keyspace: 0,
        quorum: Quorum { ack: 1, from: 1 },
        deadline_ms: None,
        after_ms: None,
        key: Bytes::new(),
        verb,
    }
}

/// What a node says.
#[derive(Debug, Clone)]
pub enum Told {
    /// Written, under this version.
    Written(Stamp),
    /// The value and its version, or none.
    Found(Option<(Stamp, Bytes)>),
    /// All keys with a value.
    All(Vec<(Bytes, Bytes)>),
    /// A status of HTTP, and the body.
    Http(u16, Bytes),
    /// The answer without HTTP.
    Direct(Bytes),
    /// The condition does not hold.
    ConditionFailed,
    /// It cannot be done now, or not in time: why. It may yet have been written.
    Failed(String),
}

fn put_stamp(out: &mut BytesMut, stamp: Stamp) {
    out.put_u64_le(stamp.version.0);
    out.put_u64_le(stamp.origin.0);
}

fn get_stamp(body: &mut Bytes) -> Result<Stamp, DecodeError> {
    let version = Version(body.try_get_u64_le()?);
    Ok(Stamp::new(version, Origin(body.try_get_u64_le()?)))
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_slice(bytes);
}

fn get_bytes(body: &mut Bytes) -> Result<Bytes, DecodeError> {
    let length = body.try_get_u32_le()? as usize;
    if body.len() < length {
        return Err(DecodeError::new("bytes are cut short"));
    }
    Ok(body.split_to(length))
}

/// 0 for none: no time that is asked for is 0.
fn get_time(body: &mut Bytes) -> Result<Option<u64>, DecodeError> {
    let time = body.try_get_u64_le()?;
    Ok((time > 0).then_some(time))
}

impl Message for Ask {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u8(self.quorum.ack);
        out.put_u8(self.quorum.from);
        out.put_u64_le(self.deadline_ms.unwrap_or(0));
        out.put_u64_le(self.after_ms.unwrap_or(0));
        put_bytes(out, &self.key);
        match &self.verb {
            Verb::Get => out.put_u8(0),
            Verb::Put(condition, expires_in_ms, value) => {
                out.put_u8(1);
                out.put_u64_le(expires_in_ms.unwrap_or(0));
                match condition {
                    Condition::None => out.put_u8(0),
                    Condition::Absent => out.put_u8(1),
                    Condition::Present => out.put_u8(2),
                    Condition::Is(stamp) => {
                        out.put_u8(3);
                        put_stamp(out, *stamp);
                    }
                }
                put_bytes(out, value);
            }
            Verb::Delete => out.put_u8(2),
            Verb::Scan => out.put_u8(3),
            Verb::Bulk(pairs) => {
                out.put_u8(4);
                put_bytes(out, pairs);
            }
            Verb::Http(line, body) => {
                out.put_u8(5);
                put_bytes(out, line.as_bytes());
                put_bytes(out, body);
            }
            Verb::Direct(request) => {
                out.put_u8(6);
                put_bytes(out, request);
            }
        }
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(Ask {
            keyspace: body.try_get_u32_le()?,
            quorum: Quorum {
                ack: body.try_get_u8()?,
                from: body.try_get_u8()?,
            },
            deadline_ms: get_time(body)?,
            after_ms: get_time(body)?,
            key: get_bytes(body)?,
            verb: match body.try_get_u8()? {
                0 => Verb::Get,
                1 => {
                    let expires_in_ms = get_time(body)?;
                    let condition = match body.try_get_u8()? {
                        0 => Condition::None,
                        1 => Condition::Absent,
                        2 => Condition::Present,
                        _ => Condition::Is(get_stamp(body)?),
                    };
                    Verb::Put(condition, expires_in_ms, get_bytes(body)?)
                }
                2 => Verb::Delete,
                4 => Verb::Bulk(get_bytes(body)?),
                6 => Verb::Direct(get_bytes(body)?),
                5 => {
                    let line = get_bytes(body)?;
                    Verb::Http(
                        String::from_utf8_lossy(&line).into_owned(),
                        get_bytes(body)?,
                    )
                }
                _ => Verb::Scan,
            },
        })
    }

    fn weight(&self) -> usize {
        64 + match &self.verb {
            Verb::Put(_, _, value) => value.len(),
            Verb::Bulk(pairs) => pairs.len(),
            Verb::Http(_, body) | Verb::Direct(body) => body.len(),
            _ => 0,
        }
    }
}

impl Message for Told {
    fn encode(&self, out: &mut BytesMut) {
        match self {
            Told::Written(stamp) => {
                out.put_u8(0);
                put_stamp(out, *stamp);
            }
            Told::Found(None) => out.put_u8(1),
            Told::Found(Some((stamp, value))) => {
                out.put_u8(2);
                put_stamp(out, *stamp);
                put_bytes(out, value);
            }
            Told::All(pairs) => {
                out.put_u8(3);
                for (key, value) in pairs {
                    put_bytes(out, key);
                    put_bytes(out, value);
                }
            }
            Told::ConditionFailed => out.put_u8(4),
            Told::Http(status, body) => {
                out.put_u8(6);
                out.put_u16_le(*status);
                put_bytes(out, body);
            }
            Told::Direct(reply) => {
                out.put_u8(7);
                put_bytes(out, reply);
            }
            Told::Failed(text) => {
                out.put_u8(5);
                out.put_slice(text.as_bytes());
            }
        }
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match body.try_get_u8()? {
            0 => Told::Written(get_stamp(body)?),
            1 => Told::Found(None),
            2 => {
                let stamp = get_stamp(body)?;
                Told::Found(Some((stamp, get_bytes(body)?)))
            }
            3 => {
                let mut pairs = Vec::new();
                while !body.is_empty() {
                    pairs.push((get_bytes(body)?, get_bytes(body)?));
                }
                Told::All(pairs)
            }
            4 => Told::ConditionFailed,
            7 => Told::Direct(get_bytes(body)?),
            6 => Told::Http(body.try_get_u16_le()?, get_bytes(body)?),
            _ => Told::Failed(String::from_utf8_lossy(body).into_owned()),
        })
    }

    fn weight(&self) -> usize {
        64 + match self {
            Told::Found(Some((_, value))) => value.len(),
            Told::All(pairs) => pairs.iter().map(|(k, v)| k.len() + v.len()).sum(),
            Told::Direct(reply) => reply.len(),
            _ => 0,
        }
    }
}
