//! Transactions that last over several requests: what they write is kept at the shard that began them until they commit.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::{Failure, Services};
use dunlin_txn::{Answer, Command, Met, Outcome, Refusal, Request, Unheard, World};
use tokio::time::Instant;

use crate::body::{Found, Place};
use crate::client::{Client, failure};
use crate::group::range_id;
use crate::one_shot::{Done, commit_shares, counted, done, keyspaces_of, shares_of, whereabouts};
use crate::open::Buffer;
use crate::plug::{Part, limits};
use crate::step::{NO_ID, Step, StepReply, TxnId, refused};

/// Bytes of keys and values that a scan tells.
const SCANNED_BYTES: usize = 8 << 20;

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
        Step::Get(place) => get(client, id.txn, place).await,
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
        Step::Get(place) => buffer.find(place).map(|write| {
            let value = write.value.clone();
            StepReply::Value(value.map(|value| (None, value)))
        }),
        Step::Put(place, value) => {
            let write = (place, value.as_ref());
            Some((part.open).put(buffer, &part.limits, write, memory_bytes))
        }
        Step::Look => Some(StepReply::Open(buffer.written())),
        Step::Abort => Some(StepReply::Aborted),
        Step::Commit(may_write) => {
            let mut names = buffer.writes.iter().map(|write| &write.place.keyspace);
            if let Some(name) = names.find(|name| !may_write.contains(name)) {
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

async fn get(client: &Client, txn: Version, place: Place) -> Result<StepReply, Failure> {
    let services = client.services()?;
    let keyspaces = keyspaces_of(&services, [&*place.keyspace])?;
    let (_, index) = whereabouts(&keyspaces, &place)?;
    let keyspace = keyspaces
        .get(&place.keyspace)
        .ok_or(Failure::UnknownKeyspace)?;
    let keys = vec![place.key];
    let found = client
        .read_keys(keyspace, index, Some(txn), keys, None)
        .await?;
    let found: Found = found.into_iter().flatten().next();
    Ok(StepReply::Value(
        found.map(|(version, value)| (Some(version), value)),
    ))
}

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
        (buffer.writes.iter())
            .filter(|write| write.place.keyspace == name)
            .filter(|write| is_within(&write.place.key, &start, end.as_ref()))
            .map(|write| (write.place.key.clone(), write.value.clone()))
            .collect()
    });
    let mut own: BTreeMap<Bytes, Option<Bytes>> = match own {
        Some(own) => own,
        None => return Ok(StepReply::Gone),
    };
    let mut memory = services.memory();
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
            _ => return Ok(StepReply::Rows(rows)),
        }
    }
}

/// Commits what it has written, under its id: that is its name at the range of the first write.
async fn end(client: &Client, part: &Part, id: TxnId) -> Result<StepReply, Failure> {
    let writes = (part.open).with(id.txn, id.secret, |buffer| buffer.writes.clone());
    let Some(writes) = writes else {
        return Ok(StepReply::Gone);
    };
    // Dropped when it has ended, however that is.
    let _ended = Ended(part, id.txn);
    let services = client.services()?;
    let names = writes.iter().map(|write| &*write.place.keyspace);
    let keyspaces = keyspaces_of(&services, names)?;
    let shares = shares_of(&keyspaces, &writes, &[])?.shares;
    let outcome = commit_shares(client, id.txn, &shares, Some(&id.name())).await;
    counted(&services, &outcome);
    if outcome == Outcome::Committed {
        services.observe(id.txn);
        return Ok(StepReply::Committed(id.txn));
    }
    Ok(match done("", outcome) {
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
    })
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
    let keyspaces = keyspaces_of(&services, [&*first.keyspace])?;
    let (keyspace, index) = whereabouts(&keyspaces, first)?;
    let mut range = range_id(keyspace, index);
    let (name, key) = (id.name(), first.key.clone());
    let look = Request::Name {
        id: name.clone(),
        txn: id.txn,
        key,
    };
    let mut found = client.ask(range, look.clone()).await;
    if let Ok(Answer::Met(Met::Intent { holder, .. })) = found {
        // It is not the first: that one is in the range which the intent names.
        range = holder;
        found = client.ask(range, look).await;
    }
    if closes && found == Ok(Answer::Undecided) {
        let refusal = Refusal::Conflict;
        let close = Command::Close { id: name, refusal };
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
