//! Transactions that last over several requests: what they write is kept at the shard that began them until they commit.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::{Failure, Services};
use dunlin_proto::ShardAddress;
use dunlin_txn::{Answer, Outcome, Request, World};
use tokio::time::Instant;

use crate::body::{Found, Place, Write};
use crate::client::{Client, failure};
use crate::group::range_id;
use crate::limits::Limits;
use crate::one_shot::{Done, commit_shares, counted, done, keyspaces_of, shares_of, whereabouts};
use crate::plug::Part;

/// Transactions at a shard.
const OPEN_MAX: usize = 4_096;
/// Keys that a scan tells, if it is not said how many, and at most.
pub(crate) const SCANNED: usize = 1_000;
pub(crate) const SCANNED_MAX: usize = 10_000;
/// Bytes of keys and values that a scan tells.
const SCANNED_BYTES: usize = 8 << 20;

/// What a transaction is called: where it is kept, its timestamp, and what nobody guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TxnId {
    pub at: ShardAddress,
    pub txn: Version,
    pub secret: u32,
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ShardAddress { node, shard }, txn) = (self.at, self.txn);
        write!(f, "{node:x}-{shard:x}-{txn}-{:08x}", self.secret)
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
            secret: u32::from_str_radix(next(), 16)?,
        })
    }
}

/// What is done in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Get(Place),
    Put(Place, Option<Bytes>),
    Scan {
        keyspace: String,
        start: Bytes,
        end: Option<Bytes>,
        limit: usize,
    },
    Commit,
    Abort,
    Look,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// A value, with its version unless the transaction wrote it itself.
    Value(Option<(Option<Version>, Bytes)>),
    /// Keys in order.
    Rows(Vec<(Bytes, Option<Version>, Bytes)>),
    /// It is kept until the commit.
    Kept,
    /// The transaction has committed, at its timestamp.
    Committed,
    /// Others were in the way, and it is aborted.
    Conflict,
    /// It is aborted.
    Aborted,
    /// It is open, and has written so many keys.
    Open(usize),
    /// It is committing.
    Committing,
    /// The node that keeps it cannot be reached. Never told by another.
    Away,
    /// There is none of this name here: it has ended, or was not used for too long.
    Gone,
    /// It cannot be done; a status of HTTP, and why.
    Refused(u16, String),
}

/// One that is open.
struct Buffer {
    /// In the order in which keys were first written.
    writes: Vec<Write>,
    bytes: usize,
    begun: Instant,
    used: Instant,
    is_committing: bool,
}

/// Those that are open at a shard.
#[derive(Default)]
pub(crate) struct Open(RefCell<BTreeMap<TxnId, Buffer>>, Cell<u64>);

impl Open {
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Those that were forgotten since the start.
    pub fn expired(&self) -> u64 {
        self.1.get()
    }

    /// Forgets those that were not used, or last too long.
    pub fn expire(&self, limits: &Limits) {
        let lasts = |buffer: &Buffer| {
            let is_used = buffer.used.elapsed() < limits.idle;
            buffer.is_committing || is_used && buffer.begun.elapsed() < limits.time
        };
        let before = self.count();
        self.0.borrow_mut().retain(|_, buffer| lasts(buffer));
        self.1.set(self.1.get() + (before - self.count()) as u64);
    }
}

fn refused(status: u16, why: impl Into<String>) -> Told {
    Told::Refused(status, why.into())
}

/// Begins one here.
///
/// # Errors
/// When there is no timestamp, or there are too many.
pub(crate) async fn begin(services: &Rc<Services>, secret: u32) -> Result<TxnId, Failure> {
    let part = services.find::<Part>().ok_or(Failure::Busy)?;
    if part.open.count() >= OPEN_MAX {
        return Err(Failure::Busy);
    }
    let txn = Client::new(services).timestamp(Version(0)).await;
    let id = TxnId {
        at: services.shard().address(),
        txn: txn.map_err(|instead| failure("_oracle", instead))?,
        secret,
    };
    let now = Instant::now();
    let buffer = Buffer {
        writes: Vec::new(),
        bytes: 0,
        begun: now,
        used: now,
        is_committing: false,
    };
    part.open.0.borrow_mut().insert(id, buffer);
    Ok(id)
}

/// Does a step of one that is kept here.
pub(crate) async fn step(services: &Rc<Services>, id: TxnId, step: Step) -> Told {
    let Some(part) = services.find::<Part>() else {
        return Told::Gone;
    };
    part.open.expire(&part.limits);
    let told = {
        let mut open = part.open.0.borrow_mut();
        let Some(buffer) = open.get_mut(&id) else {
            return Told::Gone;
        };
        if buffer.is_committing {
            return Told::Committing;
        }
        buffer.used = Instant::now();
        match &step {
            Step::Get(place) => buffer
                .find(place)
                .map(|write| Told::Value(write.value.clone().map(|value| (None, value)))),
            Step::Put(place, value) => Some(buffer.put(&part.limits, place, value.as_ref())),
            Step::Look => Some(Told::Open(buffer.writes.len())),
            Step::Abort => {
                open.remove(&id);
                Some(Told::Aborted)
            }
            Step::Commit => {
                buffer.is_committing = true;
                None
            }
            Step::Scan { .. } => None,
        }
    };
    if let Some(told) = told {
        return told;
    }
    let done = match step {
        Step::Get(place) => get(services, id.txn, place).await,
        Step::Scan {
            keyspace,
            start,
            end,
            limit,
        } => scan(services, &part, id, (keyspace, start, end), limit).await,
        _ => end(services, &part, id).await,
    };
    done.unwrap_or_else(|failure| of_failure(&failure))
}

/// A failure as it travels to the node that was asked.
pub(crate) fn of_failure(failure: &Failure) -> Told {
    let status = match failure {
        Failure::UnknownKeyspace => 404,
        Failure::FateUnknown => 504,
        _ => 503,
    };
    refused(status, failure.to_string())
}

impl Buffer {
    fn find(&self, place: &Place) -> Option<&Write> {
        self.writes.iter().find(|write| write.place == *place)
    }

    fn put(&mut self, limits: &Limits, place: &Place, value: Option<&Bytes>) -> Told {
        let write = Write {
            place: place.clone(),
            value: value.cloned(),
        };
        let before = self.find(place).map(Write::size);
        let bytes = self.bytes - before.unwrap_or(0) + write.size();
        let keys = self.writes.len() + usize::from(before.is_none());
        if let Err(line) = limits.admit(keys, bytes) {
            return refused(413, line);
        }
        self.bytes = bytes;
        match self.writes.iter_mut().find(|write| write.place == *place) {
            Some(known) => *known = write,
            None => self.writes.push(write),
        }
        Told::Kept
    }
}

async fn get(services: &Rc<Services>, txn: Version, place: Place) -> Result<Told, Failure> {
    let keyspaces = keyspaces_of(services, [&*place.keyspace])?;
    let (_, index) = whereabouts(&keyspaces, &place)?;
    let keyspace = keyspaces
        .get(&place.keyspace)
        .ok_or(Failure::UnknownKeyspace)?;
    let client = Client::new(services);
    let found = client
        .read_keys(keyspace, index, Some(txn), vec![place.key])
        .await?;
    let found: Found = found.into_iter().flatten().next();
    Ok(Told::Value(
        found.map(|(version, value)| (Some(version), value)),
    ))
}

/// Keys in order, with what the transaction has written itself.
async fn scan(
    services: &Rc<Services>,
    part: &Part,
    id: TxnId,
    (name, mut start, end): (String, Bytes, Option<Bytes>),
    limit: usize,
) -> Result<Told, Failure> {
    let keyspace = services.transactional_named(&name);
    let keyspace = keyspace.ok_or(Failure::UnknownKeyspace)?;
    let is_within =
        |key: &Bytes, from: &Bytes, to: Option<&Bytes>| key >= from && to.is_none_or(|to| key < to);
    let mut own: BTreeMap<Bytes, Option<Bytes>> = match part.open.0.borrow().get(&id) {
        Some(buffer) => (buffer.writes.iter())
            .filter(|write| write.place.keyspace == name)
            .filter(|write| is_within(&write.place.key, &start, end.as_ref()))
            .map(|write| (write.place.key.clone(), write.value.clone()))
            .collect(),
        None => return Ok(Told::Gone),
    };
    let client = Client::new(services);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    loop {
        let bounds = (start.clone(), end.clone());
        let asked = client.read_page(&keyspace, Some(id.txn), bounds, limit - rows.len());
        let (page, next) = asked.await?;
        let mut merged: BTreeMap<Bytes, (Option<Version>, Option<Bytes>)> = page
            .into_iter()
            .map(|(key, version, value)| (key, (Some(version), Some(value))))
            .collect();
        let later = match &next {
            Some(next) => own.split_off(next),
            None => BTreeMap::new(),
        };
        merged.extend(own.into_iter().map(|(key, value)| (key, (None, value))));
        own = later;
        for (key, (version, value)) in merged {
            let Some(value) = value else { continue };
            if rows.len() == limit {
                return Ok(Told::Rows(rows));
            }
            bytes += key.len() + value.len();
            if bytes > SCANNED_BYTES {
                let why = format!(
                    "this tells more than {SCANNED_BYTES} bytes: ask for fewer keys with limit"
                );
                return Ok(refused(413, why));
            }
            rows.push((key, version, value));
        }
        match next {
            Some(next) if rows.len() < limit => start = next,
            _ => return Ok(Told::Rows(rows)),
        }
    }
}

/// Commits what it has written.
async fn end(services: &Rc<Services>, part: &Part, id: TxnId) -> Result<Told, Failure> {
    let writes = match part.open.0.borrow().get(&id) {
        Some(buffer) => buffer.writes.clone(),
        None => return Ok(Told::Gone),
    };
    // Dropped when it has ended, however that is.
    let _ended = Ended(part, id);
    let names = writes.iter().map(|write| &*write.place.keyspace);
    let keyspaces = keyspaces_of(services, names)?;
    let shares = shares_of(&keyspaces, &writes, &[])?.shares;
    let outcome = commit_shares(services, id.txn, &shares, None).await;
    counted(services, &outcome);
    match outcome {
        Outcome::Committed => {
            services.observe(id.txn);
            Ok(Told::Committed)
        }
        other => match done("", other)? {
            Done::Conflict => Ok(Told::Conflict),
            _ => Err(Failure::FateUnknown),
        },
    }
}

struct Ended<'a>(&'a Part, TxnId);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.open.0.borrow_mut().remove(&self.1);
    }
}

/// What became of one that is not kept anywhere any more, by the key that it wrote first. It is aborted if it has not
/// committed.
pub(crate) async fn find(services: &Rc<Services>, id: TxnId, first: &Place) -> Told {
    let keyspaces = keyspaces_of(services, [&*first.keyspace]);
    let place = keyspaces.and_then(|keyspaces| whereabouts(&keyspaces, first));
    let (keyspace, index) = match place {
        Ok(place) => place,
        Err(failure) => return of_failure(&failure),
    };
    let asked = Request::Push {
        txn: id.txn,
        aborts: true,
    };
    match Client::new(services)
        .ask(range_id(keyspace, index), asked)
        .await
    {
        Ok(Answer::Committed) => Told::Committed,
        Ok(Answer::Aborted) => Told::Aborted,
        Ok(Answer::Forgotten) => Told::Gone,
        Ok(answer) => of_failure(&failure(&first.keyspace, answer)),
        Err(_) => of_failure(&Failure::FateUnknown),
    }
}

#[cfg(test)]
#[path = "interactive_tests.rs"]
mod tests;
