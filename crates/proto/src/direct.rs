//! What a client asks that speaks to a shard without HTTP between, and what it is answered. Of types of their own: what a
//! client sends is never read as a node's.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Version;
use dunlin_message::{DecodeError, Message};

use crate::ShardAddress;
use crate::wire::*;

/// The protocol that a connection goes on with, as `Upgrade` names it.
pub const DIRECT_PROTOCOL: &str = "dunlin/1";
/// The header that names the shard that serves a connection, as `NODE/SHARD`.
pub const DIRECT_SHARD: &str = "dunlin-shard";
/// Bytes of the longest request, or answer.
pub const DIRECT_FRAME_BYTES: usize = 24 << 20;

/// A key of a keyspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectKey {
    /// The keyspace's name: most keys of a request share one.
    pub keyspace: Arc<str>,
    /// The key.
    pub key: Bytes,
}

/// The name of a transaction, which its client chooses: whoever knows it may ask for its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectId {
    /// When it was chosen, in milliseconds since 1970.
    pub ms: u64,
    /// A random number.
    pub number: u128,
}

/// Keys of a keyspace that were scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectSpan {
    /// The keyspace's name.
    pub keyspace: String,
    /// The first key.
    pub start: Bytes,
    /// Behind the last; none for the end of the keyspace.
    pub end: Option<Bytes>,
}

/// A value with its version.
pub type DirectValue = Option<(Version, Bytes)>;

/// All that a transaction has read, and all that it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectCommit {
    /// The timestamp of its reads; none where it has read nothing.
    pub at: Option<Version>,
    /// Keys that it has read, with their versions; none for no value.
    pub reads: Vec<(DirectKey, Option<Version>)>,
    /// What it has scanned.
    pub scans: Vec<DirectSpan>,
    /// Keys with their new values; none deletes.
    pub writes: Vec<(DirectKey, Option<Bytes>)>,
    /// Its name.
    pub id: DirectId,
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectRequest {
    /// The values of keys at a timestamp; none for one that is given now. With `lock` it waits for the turn of the first
    /// key before, and `at` must be none.
    Read {
        /// The timestamp.
        at: Option<Version>,
        /// Whether it waits for its turn.
        lock: bool,
        /// The keys.
        keys: Vec<DirectKey>,
    },
    /// Keys of a keyspace in order, with their values.
    Page {
        /// The timestamp; none for one that is given now.
        at: Option<Version>,
        /// From which key on, and up to which.
        span: DirectSpan,
        /// So many keys at most.
        limit: u32,
    },
    /// Commits a transaction.
    Commit(DirectCommit),
    /// What became of a transaction whose commit was not answered: aborted unless it has committed.
    Outcome {
        /// Its name.
        id: DirectId,
        /// The key that it wrote first.
        first: DirectKey,
    },
    /// The transaction that has read at this timestamp gives its lock up.
    Unlock(Version),
}

/// What it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectResponse {
    /// Values in the order of the keys, and the timestamp they were read at.
    Values(Version, Vec<DirectValue>),
    /// Keys with versions and values, the timestamp they were read at, and where the next page begins.
    Page(Version, Vec<(Bytes, Version, Bytes)>, Option<Bytes>),
    /// The transaction has committed, at this timestamp.
    Committed(Version),
    /// It is done.
    Done,
    /// It is not done, and why: a status as over HTTP, and a line for people.
    Refused(u16, String),
}

/// Where a range is led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectLeader {
    /// Its keys.
    pub span: DirectSpan,
    /// The shard that leads.
    pub at: ShardAddress,
    /// How many shards its node has.
    pub shards: u16,
    /// Where its node serves HTTP, as `host:port`.
    pub http: String,
}

/// The answer, and where the first key of the request is led, if that is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectReply {
    /// The answer.
    pub response: DirectResponse,
    /// The shard that answers sooner the next time.
    pub leader: Option<DirectLeader>,
}

impl DirectLeader {
    fn put(&self, out: &mut BytesMut) {
        self.span.put(out);
        self.at.encode(out);
        out.put_u16_le(self.shards);
        put_bytes(out, self.http.as_bytes());
    }

    fn get(from: &mut Bytes) -> Result<DirectLeader, DecodeError> {
        Ok(DirectLeader {
            span: DirectSpan::get(from)?,
            at: ShardAddress::decode(from)?,
            shards: get_u16(from)?,
            http: get_text(from)?,
        })
    }
}

impl DirectKey {
    fn put(&self, out: &mut BytesMut) {
        put_bytes(out, self.keyspace.as_bytes());
        put_bytes(out, &self.key);
    }

    fn get(from: &mut Bytes) -> Result<DirectKey, DecodeError> {
        DirectKey::get_after(from, &mut None)
    }

    /// One whose keyspace may have the name of the key before it.
    fn get_after(
        from: &mut Bytes,
        before: &mut Option<Arc<str>>,
    ) -> Result<DirectKey, DecodeError> {
        let name = get_bytes(from)?;
        let keyspace = match before {
            Some(before) if before.as_bytes() == &name[..] => before.clone(),
            _ => Arc::from(std::str::from_utf8(&name).map_err(malformed)?),
        };
        *before = Some(keyspace.clone());
        let key = get_bytes(from)?;
        Ok(DirectKey { keyspace, key })
    }

    fn weight(&self) -> usize {
        8 + self.keyspace.len() + self.key.len()
    }
}

impl DirectId {
    fn put(&self, out: &mut BytesMut) {
        out.put_u64_le(self.ms);
        out.put_u128_le(self.number);
    }

    fn get(from: &mut Bytes) -> Result<DirectId, DecodeError> {
        let ms = get_u64(from)?;
        let number = u128::from(get_u64(from)?) | u128::from(get_u64(from)?) << 64;
        Ok(DirectId { ms, number })
    }
}

impl DirectSpan {
    fn put(&self, out: &mut BytesMut) {
        put_bytes(out, self.keyspace.as_bytes());
        put_bytes(out, &self.start);
        put_option_bytes(out, self.end.as_deref());
    }

    fn get(from: &mut Bytes) -> Result<DirectSpan, DecodeError> {
        Ok(DirectSpan {
            keyspace: get_text(from)?,
            start: get_bytes(from)?,
            end: get_option_bytes(from)?,
        })
    }

    fn weight(&self) -> usize {
        16 + self.keyspace.len() + self.start.len() + self.end.as_ref().map_or(0, Bytes::len)
    }
}

fn get_text(from: &mut Bytes) -> Result<String, DecodeError> {
    String::from_utf8(get_bytes(from)?.into()).map_err(malformed)
}

fn put_version(out: &mut BytesMut, version: Option<Version>) {
    put_option_u64(out, version.map(|version| version.0));
}

fn get_version(from: &mut Bytes) -> Result<Option<Version>, DecodeError> {
    Ok(get_option_u64(from)?.map(Version))
}

fn put_all<T>(out: &mut BytesMut, all: &[T], put: impl Fn(&mut BytesMut, &T)) {
    out.put_u32_le(all.len() as u32);
    for one in all {
        put(out, one);
    }
}

fn get_all<T>(
    from: &mut Bytes,
    mut get: impl FnMut(&mut Bytes) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let count = get_u32(from)? as usize;
    // A count that lies reserves nothing.
    let mut all = Vec::with_capacity(count.min(from.len() / 4));
    for _ in 0..count {
        all.push(get(from)?);
    }
    Ok(all)
}

fn put_value(out: &mut BytesMut, value: &DirectValue) {
    put_version(out, value.as_ref().map(|(version, _)| *version));
    if let Some((_, value)) = value {
        put_bytes(out, value);
    }
}

fn get_value(from: &mut Bytes) -> Result<DirectValue, DecodeError> {
    match get_version(from)? {
        Some(version) => Ok(Some((version, get_bytes(from)?))),
        None => Ok(None),
    }
}

/// Nothing may follow.
fn end<T>(message: T, from: &Bytes) -> Result<T, DecodeError> {
    if from.is_empty() {
        Ok(message)
    } else {
        Err(malformed(format!("{} bytes too many", from.len())))
    }
}

impl DirectCommit {
    fn put(&self, out: &mut BytesMut) {
        put_version(out, self.at);
        put_all(out, &self.reads, |out, (key, version)| {
            key.put(out);
            put_version(out, *version);
        });
        put_all(out, &self.scans, |out, span| span.put(out));
        put_all(out, &self.writes, |out, (key, value)| {
            key.put(out);
            put_option_bytes(out, value.as_deref());
        });
        self.id.put(out);
    }

    fn get(from: &mut Bytes) -> Result<DirectCommit, DecodeError> {
        let mut name = None;
        Ok(DirectCommit {
            at: get_version(from)?,
            reads: get_all(from, |from| {
                Ok((DirectKey::get_after(from, &mut name)?, get_version(from)?))
            })?,
            scans: get_all(from, DirectSpan::get)?,
            writes: get_all(from, |from| {
                let key = DirectKey::get_after(from, &mut name)?;
                Ok((key, get_option_bytes(from)?))
            })?,
            id: DirectId::get(from)?,
        })
    }

    fn weight(&self) -> usize {
        let value = |value: &Option<Bytes>| value.as_ref().map_or(0, Bytes::len);
        let reads = self.reads.iter().map(|(key, _)| key.weight() + 9);
        let writes = self.writes.iter();
        let writes = writes.map(|(key, new)| key.weight() + 5 + value(new));
        let scans = self.scans.iter().map(DirectSpan::weight);
        64 + reads.sum::<usize>() + writes.sum::<usize>() + scans.sum::<usize>()
    }
}

impl Message for DirectRequest {
    fn encode(&self, out: &mut BytesMut) {
        match self {
            DirectRequest::Read { at, lock, keys } => {
                out.put_u8(1);
                put_version(out, *at);
                out.put_u8(u8::from(*lock));
                put_all(out, keys, |out, key| key.put(out));
            }
            DirectRequest::Page { at, span, limit } => {
                out.put_u8(2);
                put_version(out, *at);
                span.put(out);
                out.put_u32_le(*limit);
            }
            DirectRequest::Commit(commit) => {
                out.put_u8(3);
                commit.put(out);
            }
            DirectRequest::Outcome { id, first } => {
                out.put_u8(4);
                id.put(out);
                first.put(out);
            }
            DirectRequest::Unlock(at) => {
                out.put_u8(5);
                out.put_u64_le(at.0);
            }
        }
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let (from, mut name) = (&mut body, None);
        let request = match get_u8(from)? {
            1 => DirectRequest::Read {
                at: get_version(from)?,
                lock: get_u8(from)? != 0,
                keys: get_all(from, |from| DirectKey::get_after(from, &mut name))?,
            },
            2 => DirectRequest::Page {
                at: get_version(from)?,
                span: DirectSpan::get(from)?,
                limit: get_u32(from)?,
            },
            3 => DirectRequest::Commit(DirectCommit::get(from)?),
            4 => DirectRequest::Outcome {
                id: DirectId::get(from)?,
                first: DirectKey::get(from)?,
            },
            5 => DirectRequest::Unlock(Version(get_u64(from)?)),
            kind => return Err(malformed(format!("there is no request {kind}"))),
        };
        end(request, from)
    }

    fn weight(&self) -> usize {
        match self {
            DirectRequest::Read { keys, .. } => {
                32 + keys.iter().map(DirectKey::weight).sum::<usize>()
            }
            DirectRequest::Page { span, .. } => 32 + span.weight(),
            DirectRequest::Commit(commit) => commit.weight(),
            DirectRequest::Outcome { first, .. } => 64 + first.weight(),
            DirectRequest::Unlock(_) => 16,
        }
    }
}

impl Message for DirectReply {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(u8::from(self.leader.is_some()));
        if let Some(leader) = &self.leader {
            leader.put(out);
        }
        self.response.put(out);
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let from = &mut body;
        let leader = match get_u8(from)? {
            0 => None,
            _ => Some(DirectLeader::get(from)?),
        };
        let response = DirectResponse::get(from)?;
        end(DirectReply { response, leader }, from)
    }

    fn weight(&self) -> usize {
        let of_leader = |leader: &DirectLeader| 16 + leader.span.weight() + leader.http.len();
        1 + self.leader.as_ref().map_or(0, of_leader) + self.response.weight()
    }
}

impl DirectResponse {
    fn put(&self, out: &mut BytesMut) {
        match self {
            DirectResponse::Values(at, values) => {
                out.put_u8(1);
                out.put_u64_le(at.0);
                put_all(out, values, put_value);
            }
            DirectResponse::Page(at, rows, next) => {
                out.put_u8(2);
                out.put_u64_le(at.0);
                put_all(out, rows, |out, (key, version, value)| {
                    put_bytes(out, key);
                    out.put_u64_le(version.0);
                    put_bytes(out, value);
                });
                put_option_bytes(out, next.as_deref());
            }
            DirectResponse::Committed(at) => {
                out.put_u8(3);
                out.put_u64_le(at.0);
            }
            DirectResponse::Done => out.put_u8(4),
            DirectResponse::Refused(status, line) => {
                out.put_u8(5);
                out.put_u16_le(*status);
                put_bytes(out, line.as_bytes());
            }
        }
    }

    fn get(from: &mut Bytes) -> Result<DirectResponse, DecodeError> {
        Ok(match get_u8(from)? {
            1 => DirectResponse::Values(Version(get_u64(from)?), get_all(from, get_value)?),
            2 => DirectResponse::Page(
                Version(get_u64(from)?),
                get_all(from, |from| {
                    Ok((get_bytes(from)?, Version(get_u64(from)?), get_bytes(from)?))
                })?,
                get_option_bytes(from)?,
            ),
            3 => DirectResponse::Committed(Version(get_u64(from)?)),
            4 => DirectResponse::Done,
            5 => DirectResponse::Refused(get_u16(from)?, get_text(from)?),
            kind => return Err(malformed(format!("there is no answer {kind}"))),
        })
    }

    /// Bytes of it, about.
    pub fn weight(&self) -> usize {
        let of_value =
            |value: &DirectValue| 13 + value.as_ref().map_or(0, |(_, value)| value.len());
        match self {
            DirectResponse::Values(_, values) => 16 + values.iter().map(of_value).sum::<usize>(),
            DirectResponse::Page(_, rows, _) => {
                let rows = rows.iter();
                32 + rows
                    .map(|(key, _, value)| 16 + key.len() + value.len())
                    .sum::<usize>()
            }
            DirectResponse::Committed(_) | DirectResponse::Done => 16,
            DirectResponse::Refused(_, line) => 8 + line.len(),
        }
    }
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
