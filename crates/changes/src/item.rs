//! What a source gives at a time, and what it is asked. `docs/formats.md`, section 14.

use std::rc::Rc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Entry, Vector, Version};
use dunlin_log::Index;
use dunlin_node::Scope;
use dunlin_proto::Token;

use crate::change::{Change, bytes_of};
use crate::wire::{Malformed, get_bytes, get_flag, put_bytes};

/// What a source gives at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What there is.
    pub what: What,
    /// Where the source's partitions are gone on with, all of this having been told.
    pub token: Rc<Token>,
    /// The last record of the source's log.
    pub end: Index,
    /// Deletes up to this stamp may be forgotten there.
    pub forgotten: Version,
    /// All that was to be told has been, where there is an end.
    pub is_done: bool,
}

/// What there is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Nothing, for a while.
    Beat,
    /// Nothing, for this partition gets no further: of what comes next no majority is known to have it.
    Stands(u16),
    /// The log was put back to before the token. The last.
    PutBack,
    /// Stored records of a partition.
    Records {
        /// Which.
        partition: u16,
        /// What what is not named means, on the first page.
        begins: Option<Scope>,
        /// Ascending by key.
        records: Vec<Entry>,
        /// They are the last.
        ends: bool,
    },
    /// Changes, each origin's in its order.
    Entries(Vec<Rc<Change>>),
}

/// What another shard is asked to stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Open {
    pub keyspace: u32,
    pub partitions: Vec<u16>,
    /// Values are not wanted.
    pub keys_only: bool,
    pub prefix: Bytes,
    /// Where it goes on; what comes from now on where there is none.
    pub from: Option<Token>,
    /// What must have been told at its end, of each partition, where there is an end.
    pub until: Option<Vec<(u16, Vector)>>,
    /// It is read for many, from the end of the log on: it ends where anything else were to be told.
    pub is_tail: bool,
    /// Who follows, for people.
    pub who: String,
}

impl Open {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u32_le(self.keyspace);
        out.put_u8(self.keys_only.into());
        out.put_u8(self.is_tail.into());
        out.put_u16_le(self.partitions.len() as u16);
        self.partitions.iter().for_each(|p| out.put_u16_le(*p));
        put_bytes(&mut out, &self.prefix);
        let token = self.from.as_ref().map(Token::encode);
        put_bytes(&mut out, &token.unwrap_or_default());
        put_bytes(&mut out, self.who.as_bytes());
        out.put_u8(self.until.is_some().into());
        for (partition, vector) in self.until.iter().flatten() {
            out.put_u16_le(*partition);
            put_bytes(&mut out, &vector.encode());
        }
        out.freeze()
    }

    pub fn decode(mut body: Bytes) -> Result<Open, Malformed> {
        let keyspace = body.try_get_u32_le().map_err(|_| Malformed)?;
        let keys_only = get_flag(&mut body)?;
        let is_tail = get_flag(&mut body)?;
        let count = body.try_get_u16_le().map_err(|_| Malformed)?;
        let partitions = (0..count).map(|_| body.try_get_u16_le().map_err(|_| Malformed));
        let partitions = partitions.collect::<Result<_, _>>()?;
        let prefix = get_bytes(&mut body)?;
        let token = get_bytes(&mut body)?;
        let from = if token.is_empty() {
            None
        } else {
            Some(Token::decode(token).map_err(|_| Malformed)?)
        };
        let who = String::from_utf8_lossy(&get_bytes(&mut body)?).into_owned();
        let mut until = get_flag(&mut body)?.then(Vec::new);
        if let Some(until) = &mut until {
            while body.has_remaining() {
                let partition = body.try_get_u16_le().map_err(|_| Malformed)?;
                until.push((partition, get_vector(&mut body)?));
            }
        }
        Ok(Open {
            keyspace,
            partitions,
            keys_only,
            prefix,
            from,
            until,
            is_tail,
            who,
        })
    }
}

impl Item {
    /// Bytes of its keys and values.
    pub(crate) fn bytes(&self) -> usize {
        match &self.what {
            What::Beat | What::PutBack | What::Stands(_) => 0,
            What::Entries(changes) => changes.iter().map(|change| bytes_of(change)).sum(),
            What::Records { records, .. } => records.iter().map(bytes_of).sum(),
        }
    }

    /// How many changes there are.
    pub(crate) fn changes(&self) -> usize {
        match &self.what {
            What::Beat | What::PutBack | What::Stands(_) => 0,
            What::Entries(changes) => changes.len(),
            What::Records { records, .. } => records.len(),
        }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(self.is_done.into());
        put_bytes(&mut out, &self.token.encode());
        out.put_u64_le(self.end);
        out.put_u64_le(self.forgotten.0);
        match &self.what {
            What::Beat => out.put_u8(0),
            What::PutBack => out.put_u8(4),
            What::Stands(partition) => {
                out.put_u8(3);
                out.put_u16_le(*partition);
            }
            What::Entries(changes) => {
                out.put_u8(1);
                put_entries(&mut out, changes.iter().map(|change| &***change));
            }
            What::Records {
                partition,
                begins,
                records,
                ends,
            } => {
                out.put_u8(2);
                out.put_u16_le(*partition);
                out.put_u8(match begins {
                    None => 0,
                    Some(Scope::Delta) => 1,
                    Some(Scope::Complete) => 2,
                });
                out.put_u8((*ends).into());
                put_entries(&mut out, records.iter());
            }
        }
        out.freeze()
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Item, Malformed> {
        let is_done = get_flag(&mut body)?;
        let token = Token::decode(get_bytes(&mut body)?).map_err(|_| Malformed)?;
        let end = body.try_get_u64_le().map_err(|_| Malformed)?;
        let forgotten = Version(body.try_get_u64_le().map_err(|_| Malformed)?);
        let what = match body.try_get_u8().map_err(|_| Malformed)? {
            0 => What::Beat,
            1 => What::Entries(
                get_entries(&mut body)?
                    .into_iter()
                    .map(Change::new)
                    .collect(),
            ),
            2 => What::Records {
                partition: body.try_get_u16_le().map_err(|_| Malformed)?,
                begins: match body.try_get_u8().map_err(|_| Malformed)? {
                    0 => None,
                    1 => Some(Scope::Delta),
                    2 => Some(Scope::Complete),
                    _ => return Err(Malformed),
                },
                ends: get_flag(&mut body)?,
                records: get_entries(&mut body)?,
            },
            4 => What::PutBack,
            3 => What::Stands(body.try_get_u16_le().map_err(|_| Malformed)?),
            _ => return Err(Malformed),
        };
        Ok(Item {
            what,
            token: Rc::new(token),
            end,
            forgotten,
            is_done,
        })
    }
}

fn put_entries<'e>(out: &mut BytesMut, entries: impl Iterator<Item = &'e Entry>) {
    entries.for_each(|entry| put_bytes(out, &entry.encode()));
}

fn get_entries(body: &mut Bytes) -> Result<Vec<Entry>, Malformed> {
    let mut entries = Vec::new();
    while body.has_remaining() {
        entries.push(Entry::decode(get_bytes(body)?).map_err(|_| Malformed)?);
    }
    Ok(entries)
}

pub(crate) fn get_vector(body: &mut Bytes) -> Result<Vector, Malformed> {
    Vector::decode(&get_bytes(body)?).map_err(|_| Malformed)
}

#[cfg(test)]
#[path = "item_tests.rs"]
mod tests;
