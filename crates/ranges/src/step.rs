//! Steps of a transaction that lasts over several requests, and their replies. Pure.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_proto::ShardAddress;
use dunlin_txn::Id;

use crate::body::Place;

/// The line of an id that no transaction has.
pub(crate) const NO_ID: &str = "this is no id of a transaction: POST /v1/txn/begin gives one";
/// Keys that a scan returns, if it is not said how many, and at most.
pub(crate) const SCANNED: usize = 1_000;
pub(crate) const SCANNED_MAX: usize = 10_000;

/// The id of a transaction: where it is kept, its timestamp, and a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TxnId {
    pub at: ShardAddress,
    pub txn: Version,
    pub secret: u64,
}

impl TxnId {
    /// The name of its only attempt to commit. The secret is a part of it: nothing is found without it.
    pub fn name(&self) -> Id {
        Id {
            ms: self.txn.millis(),
            name: self.to_string().into(),
            body: 0,
        }
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ShardAddress { node, shard }, txn) = (self.at, self.txn);
        write!(f, "{node:x}-{shard:x}-{txn}-{:016x}", self.secret)
    }
}

impl FromStr for TxnId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<TxnId, Self::Err> {
        let mut parts = text.splitn(4, '-');
        let mut next = || parts.next().unwrap_or_default();
        Ok(TxnId {
            at: ShardAddress {
                node: u16::from_str_radix(next(), 16)?,
                shard: u16::from_str_radix(next(), 16)?,
            },
            txn: Version(u64::from_str_radix(next(), 16)?),
            secret: u64::from_str_radix(next(), 16)?,
        })
    }
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Get(Place),
    /// Reads a key when it is this transaction's turn.
    Lock(Place),
    Put(Place, Option<Bytes>),
    Scan {
        keyspace: String,
        start: Bytes,
        end: Option<Bytes>,
        limit: usize,
    },
    /// Its asker may write these keyspaces.
    Commit(Vec<String>),
    Abort,
    Look,
}

/// The writes of an open transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// How many keys.
    pub writes: usize,
    /// The key that it wrote first: the range of that one holds its record.
    pub first: Option<Place>,
}

/// The reply to a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepReply {
    /// A value, with its version unless the transaction wrote it itself.
    Value(Option<(Option<Version>, Bytes)>),
    /// Keys in order.
    Rows(Vec<(Bytes, Option<Version>, Bytes)>),
    /// It is kept until the commit.
    Kept(Written),
    /// The transaction has committed, at this timestamp.
    Committed(Version),
    /// Others were in the way, and it is aborted.
    Conflict,
    /// It is aborted.
    Aborted,
    /// It is open.
    Open(Written),
    /// It is committing.
    Committing,
    /// There is no shard of the number in its id. Never said by another.
    NoShard,
    /// The node that keeps it cannot be reached. Never sent by another.
    Away,
    /// No attempt to commit it is known by the key that is said to be its first.
    NotKnown,
    /// There is none of this name here: it has ended, or was not used for too long.
    Gone,
    /// It cannot be done; a status of HTTP, and why.
    Refused(u16, String),
}

/// A refusal with a status of HTTP.
pub(crate) fn refused(status: u16, why: impl Into<String>) -> StepReply {
    StepReply::Refused(status, why.into())
}
