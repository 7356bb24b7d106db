//! Transactions that last over several requests: what they write is kept at the shard that began them until they commit.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::{Failure, Services};
use dunlin_txn::{
    Answer, Command, Id, Outcome, Reads, Refusal, Request, Share, Unheard, Way, World,
    commit_later, refresh,
};
use tokio::time::Instant;

use crate::body::{Found, Place};
use crate::client::Client;
use crate::group::range_id;
use crate::keyspaces::{keyspaces_of, whereabouts};
use crate::locked::Locked;
use crate::one_shot::{commit_shares, finalize_behind, shares_of};
use crate::open::Buffer;
use crate::outcome::{Done, done, failure};
use crate::plug::{Part, counted, limits};
use crate::read_set::ReadSet;
use crate::step::{NO_ID, Step, StepReply, TxnId, refused};

/// Bytes of keys and values that a scan tells.
const SCANNED_BYTES: usize = 8 << 20;

/// The line of one that waits for a lock until its time is over.
const NO_LOCK: &str = "others hold the lock of this key, or its leader cannot be reached: nothing was read; try again";

/// Begins one here, for a client that may have one more.
///
/// # Errors
/// When there is no timestamp, or there are too many.
pub(crate) async fn begin(services: &Rc<Services>, client: String) -> Result<TxnId, Failure> {
    let part = services.find::<Part>().ok_or(Failure::Busy)?;
    part.open.admit(&client)?;
    let txn = Client::new(services).timestamp(Version(0)).await;
    let txn = txn.map_err(|instead| failure("_oracle", instead))?;
    // Others may have started meanwhile.
    part.open.admit(&client)?;
    let secret = part.secret(services);
    part.open.insert((txn, secret), client, services.memory());
    Ok(TxnId {
        at: services.shard().address(),
        txn,
        secret,
    })
}

/// Does a step of one that is kept here.
pub(crate) async fn step(client: &Client, id: TxnId, step: Step) -> StepReply {
    let Ok(services) = client.services() else {
        return StepReply::Gone;
    };
    let Some(part) = services.find::<Part>() else {
        return StepReply::Gone;
    };
    part.open.expire(&part.limits);
    let at_once = part.open.with(id.txn, id.secret, |buffer| {
        if buffer.is_committing {
            return Some(StepReply::Committing);
        }
        buffer.used = Instant::now();
        at_once(&part, services.memory_bytes_max(), buffer, &step)
    });
    match at_once {
        None => return StepReply::Gone,
        Some(Some(reply)) => {
            if reply == StepReply::Aborted {
                part.open.remove(id.txn);
            }
            return reply;
        }
        Some(None) => {}
    }
    let done = match step {
        Step::Get(place) => get(client, &part, id, place).await,
        Step::Lock(place) => locked(client, &part, id, place).await,
        Step::Scan {
            keyspace,
            start,
            end,
            limit,
        } => scan(client, &part, id, (keyspace, start, end), limit).await,
        _ => end(client, &part, id).await,
    };
    done.unwrap_or_else(|failure| of_failure(&failure))
}

/// The reply to a step that needs nothing but the buffer; none where it needs ranges.
fn at_once(
    part: &Part,
    memory_bytes: usize,
    buffer: &mut Buffer,
    step: &Step,
) -> Option<StepReply> {
    match step {
        Step::Get(place) => own(buffer, place),
        Step::Lock(place) => own(buffer, place).or_else(|| refused_lock(buffer, place)),
        Step::Put(place, value) => {
            let write = (place, value.as_ref());
            Some((part.open).put(buffer, &part.limits, write, memory_bytes))
        }
        Step::Look => Some(StepReply::Open(buffer.written())),
        Step::Abort => Some(StepReply::Aborted),
        Step::Commit(may_write) => {
            let mut names = buffer.writes.iter().map(|write| &write.place.keyspace);
            let may = |name: &Arc<str>| may_write.iter().any(|may| **may == **name);
            if let Some(name) = names.find(|name| !may(name)) {
                let line = format!(
                    "this user may not write keyspace {name} now: nothing happened, and the transaction is still open"
                );
                return Some(refused(403, line));
            }
            buffer.is_committing = true;
            None
        }
        Step::Scan { .. } => None,
    }
}

/// A value that the transaction has written itself.
fn own(buffer: &Buffer, place: &Place) -> Option<StepReply> {
    let value = buffer.find(place)?.value.clone();
    Some(StepReply::Value(value.map(|value| (None, value))))
}

/// Refuses to lock a key, where the transaction has locked another.
fn refused_lock(buffer: &Buffer, place: &Place) -> Option<StepReply> {
    let (locked, _) = buffer.lock.as_ref().filter(|(locked, _)| locked != place)?;
    let line = format!(
        "a transaction locks one key, and this one has locked {}/{}: read others without lock",
        locked.keyspace,
        String::from_utf8_lossy(&locked.key)
    );
    Some(refused(400, line))
}

/// A failure as it travels to the node that was asked.
pub(crate) fn of_failure(failure: &Failure) -> StepReply {
    let status = match failure {
        Failure::UnknownKeyspace => 404,
        Failure::FateUnknown => 504,
        Failure::TooLarge(_) => 413,
        Failure::TooLate => 408,
        _ => 503,
    };
    refused(status, failure.to_string())
}

/// Waits for the lock of a key, then reads it: what the transaction reads from then on has a newer timestamp.
async fn locked(
    client: &Client,
    part: &Part,
    id: TxnId,
    place: Place,
) -> Result<StepReply, Failure> {
    let is_new = part.open.with(id.txn, id.secret, |buffer| {
        // One that gave up waiting waits again.
        let is_new = !matches!(&buffer.lock, Some((_, Some(_))));
        buffer.lock.get_or_insert((place.clone(), None));
        is_new
    });
    if is_new == Some(true) {
        let taken = match take_lock(client, &place).await {
            Ok(lock) => {
                let kept = read_at(client, part, id, lock.at).await;
                kept.map(|kept| (lock, kept))
            }
            Err(failure) => Err(failure),
        };
        let (lock, refused) = match taken {
            Ok((lock, None)) => (Some((place.clone(), Some(lock))), Ok(None)),
            Ok((_, Some(reply))) => (None, Ok(Some(reply))),
            Err(failure) => (None, Err(failure)),
        };
        part.open
            .with(id.txn, id.secret, |buffer| buffer.lock = lock);
        if let Some(reply) = refused? {
            return Ok(reply);
        }
    }
    get(client, part, id, place).await
}

/// Has a transaction read at a newer timestamp, if all that it has read is as it was; else the reply instead.
async fn read_at(
    client: &Client,
    part: &Part,
    id: TxnId,
    at: Version,
) -> Result<Option<StepReply>, Failure> {
    let services = client.services()?;
    loop {
        let read = part.open.with(id.txn, id.secret, |buffer| {
            let names: Vec<&str> = buffer.reads.keyspaces().collect();
            let reads = keyspaces_of(&services, names)
                .and_then(|keyspaces| buffer.reads.share_out(&keyspaces, &mut []));
            (
                buffer.at,
                buffer.reads.len(),
                buffer.reads.is_whole(),
                reads,
            )
        });
        let Some((since, known, is_whole, reads)) = read else {
            return Ok(Some(StepReply::Gone));
        };
        if !is_whole {
            let line = "this transaction has read too much to lock a key: lock it first";
            return Ok(Some(refused(413, line)));
        }
        match refresh(client, since, at, &reads?).await {
            None => {}
            Some(Outcome::Changed) => {
                part.open.remove(id.txn);
                counted(&services, &Outcome::Changed);
                return Ok(Some(StepReply::Conflict));
            }
            Some(other) => {
                done("", other)?;
                part.open.remove(id.txn);
                return Ok(Some(StepReply::Conflict));
            }
        }
        let after = part.open.with(id.txn, id.secret, |buffer| {
            let is_same = buffer.reads.len() == known;
            if is_same {
                buffer.at = at;
            }
            (buffer.is_committing, is_same)
        });
        match after {
            None => return Ok(Some(StepReply::Gone)),
            Some((true, _)) => return Ok(Some(StepReply::Committing)),
            Some((false, true)) => return Ok(None),
            // Another read has started meanwhile.
            Some((false, false)) => {}
        }
    }
}

/// The lock of a key.
async fn take_lock(client: &Client, place: &Place) -> Result<Locked, Failure> {
    let services = client.services()?;
    let keyspaces = keyspaces_of(&services, [&*place.keyspace])?;
    let (keyspace, index) = whereabouts(&keyspaces, place)?;
    let key = (range_id(keyspace, index), place.key.clone());
    let locked = client.lock(key, Version(0), Vec::new()).await;
    let (lock, _) = locked.ok_or_else(|| Failure::NoLeader(NO_LOCK.to_owned()))?;
    Ok(lock)
}

async fn get(client: &Client, part: &Part, id: TxnId, place: Place) -> Result<StepReply, Failure> {
    let services = client.services()?;
    let at = part.open.with(id.txn, id.secret, |buffer| {
        let (most, memory) = (part.limits.keys, services.memory_bytes_max());
        let add = |reads: &mut ReadSet| reads.add_key(&place, most);
        part.open.remember(buffer, memory, add);
        buffer.at
    });
    let Some(at) = at else {
        return Ok(StepReply::Gone);
    };
    let keyspaces = keyspaces_of(&services, [&*place.keyspace])?;
    let (_, index) = whereabouts(&keyspaces, &place)?;
    let keyspace = keyspaces
        .get(&*place.keyspace)
        .ok_or(Failure::UnknownKeyspace)?;
    let keys = vec![place.key.clone()];
    let found = client
        .read_keys(keyspace, index, Some(at), keys, None)
        .await?;
    let found: Found = found.into_iter().flatten().next();
    let version = found.as_ref().map(|(version, _)| *version);
    part.open.with(id.txn, id.secret, |buffer| {
        buffer.reads.found(&place, version)
    });
    Ok(StepReply::Value(
        found.map(|(version, value)| (Some(version), value)),
    ))
}

/// Keys that a transaction has written itself, with their values.
type OwnWrites = BTreeMap<Bytes, Option<Bytes>>;

/// Keys in order, with what the transaction has written itself.
async fn scan(
    client: &Client,
    part: &Part,
    id: TxnId,
    (name, mut start, end): (String, Bytes, Option<Bytes>),
    limit: usize,
) -> Result<StepReply, Failure> {
    let services = client.services()?;
    let keyspace = services.transactional_named(&name);
    let keyspace = keyspace.ok_or(Failure::UnknownKeyspace)?;
    let is_within =
        |key: &Bytes, from: &Bytes, to: Option<&Bytes>| key >= from && to.is_none_or(|to| key < to);
    let own = part.open.with(id.txn, id.secret, |buffer| {
        let (most, memory) = (part.limits.keys, services.memory_bytes_max());
        let span = (start.clone(), end.clone());
        let mut number = 0;
        part.open.remember(buffer, memory, |reads| {
            let (added, bytes) = reads.add_scan(&name, span, most);
            number = added;
            bytes
        });
        let own = (buffer.writes.iter())
            .filter(|write| *write.place.keyspace == *name)
            .filter(|write| is_within(&write.place.key, &start, end.as_ref()))
            .map(|write| (write.place.key.clone(), write.value.clone()));
        (number, buffer.at, own.collect())
    });
    let Some((number, at, mut own)): Option<(usize, Version, OwnWrites)> = own else {
        return Ok(StepReply::Gone);
    };
    let read_to = |end: Bytes| {
        let scanned = |buffer: &mut Buffer| buffer.reads.scanned(number, end);
        part.open.with(id.txn, id.secret, scanned);
    };
    let mut memory = services.memory();
    let (mut rows, mut bytes) = (Vec::new(), 0);
    loop {
        let bounds = (start.clone(), end.clone());
        let asked = client.read_page(&keyspace, Some(at), bounds, limit - rows.len());
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
                read_to(key);
                return Ok(StepReply::Rows(rows));
            }
            bytes += key.len() + value.len();
            memory.grow(key.len() + value.len())?;
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
            next => {
                next.map(read_to);
                return Ok(StepReply::Rows(rows));
            }
        }
    }
}

/// Commits what it has written, under its id: that is its name at the range of the first write.
async fn end(client: &Client, part: &Part, id: TxnId) -> Result<StepReply, Failure> {
    let kept = (part.open).with(id.txn, id.secret, |buffer| {
        let reads = std::mem::take(&mut buffer.reads);
        client.hold(buffer.lock.take().and_then(|(_, lock)| lock));
        (buffer.at, buffer.writes.clone(), reads)
    });
    let Some((since, writes, reads)) = kept else {
        return Ok(StepReply::Gone);
    };
    // Dropped when it has ended, however that is.
    let _ended = Ended(part, id.txn);
    let services = client.services()?;
    if writes.is_empty() {
        counted(&services, &Outcome::Committed);
        return Ok(StepReply::Committed(since));
    }
    let names = writes.iter().map(|write| &*write.place.keyspace);
    let keyspaces = keyspaces_of(&services, names.chain(reads.keyspaces()))?;
    let mut shares = shares_of(&keyspaces, &writes, &[])?.shares;
    let name = id.name();
    let (at, outcome) = if reads.is_whole() {
        let reads = reads.share_out(&keyspaces, &mut shares)?;
        commit_reads(client, (since, since), &shares, &reads, &name).await
    } else {
        let outcome = commit_shares(client, since, &shares, Some(&name), Way::Short).await;
        (since, outcome)
    };
    Ok(committed(&services, at, outcome))
}

/// Commits a transaction that has read at the first timestamp, at the second or a later one; ranges hear of it behind the answer. Checks
/// in the shares say that a key is as it was read, `reads` are all other reads.
pub(crate) async fn commit_reads(
    client: &Client,
    since: (Version, Version),
    shares: &[Share],
    reads: &[Reads],
    name: &Id,
) -> (Version, Outcome) {
    let ended = commit_later(client, since, shares, reads, name).await;
    let (at, outcome, intents_at) = ended;
    if let Some(own) = shares.first() {
        finalize_behind(client, at, own.range, &outcome, intents_at);
    }
    (at, outcome)
}

/// The reply to a commit with this outcome, which is counted.
pub(crate) fn committed(services: &Services, at: Version, outcome: Outcome) -> StepReply {
    let outcome = match outcome {
        // Checks are of keys as they were read.
        Outcome::CheckFailed(..) => Outcome::Changed,
        outcome => outcome,
    };
    counted(services, &outcome);
    if outcome == Outcome::Committed {
        services.observe(at);
        return StepReply::Committed(at);
    }
    match done("", outcome) {
        Ok(Done::CommittedBefore(version)) => StepReply::Committed(version),
        Ok(_) => StepReply::Conflict,
        Err(Failure::FateUnknown) => refused(
            504,
            "a range did not answer in time, so it is not known whether this transaction committed: POST the commit again with ?first=KEYSPACE/KEY, the key that it wrote first",
        ),
        // Its intents are going: it cannot be tried again at its timestamp.
        Err(failure) => refused(
            503,
            format!(
                "{failure}; nothing of this transaction happened, and it is aborted: begin another"
            ),
        ),
    }
}

struct Ended<'a>(&'a Part, Version);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.open.remove(self.1);
    }
}

/// Looks up the outcome of one that is not kept anywhere any more, by the key that it wrote first. With `closes` it gets
/// one there, if it has none: then it can never commit.
///
/// # Errors
/// When nobody can tell now.
pub(crate) async fn find(
    client: &Client,
    id: TxnId,
    first: &Place,
    closes: bool,
) -> Result<StepReply, Failure> {
    let services = client.services()?;
    let now = client.timestamp(Version(0)).await;
    let now = now.map_err(|instead| failure("_oracle", instead))?;
    if id.txn >= now {
        // A name of the future would never be forgotten.
        return Ok(refused(404, NO_ID));
    }
    if id.txn.plus_ms(limits(&services).retention_ms()) <= now {
        return Ok(StepReply::Gone);
    }
    find_name(client, &id.name(), first, closes).await
}

/// The same by its name, which may be known still.
///
/// # Errors
/// When nobody can tell now.
pub(crate) async fn find_name(
    client: &Client,
    name: &Id,
    first: &Place,
    closes: bool,
) -> Result<StepReply, Failure> {
    let services = client.services()?;
    let keyspaces = keyspaces_of(&services, [&*first.keyspace])?;
    let (keyspace, index) = whereabouts(&keyspaces, first)?;
    let range = range_id(keyspace, index);
    let id = name.clone();
    let mut found = client.ask(range, Request::Name { id }).await;
    if closes && found == Ok(Answer::Undecided) {
        let (id, refusal) = (name.clone(), Refusal::Conflict);
        let close = Command::Close { id, refusal };
        found = client.ask(range, Request::Enter(close)).await;
    }
    match found {
        Ok(Answer::CommittedBefore(version)) => Ok(StepReply::Committed(version)),
        Ok(Answer::RefusedBefore(_) | Answer::Done(_)) => Ok(StepReply::Aborted),
        Ok(Answer::Undecided) => Ok(StepReply::NotKnown),
        Ok(Answer::Forgotten) => Ok(StepReply::Gone),
        Ok(answer) => Err(failure(&first.keyspace, answer)),
        Err(Unheard::Not(why)) => Err(Failure::NoLeader(why)),
        Err(Unheard::Maybe) => Err(Failure::FateUnknown),
    }
}
