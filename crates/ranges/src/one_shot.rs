//! Reads, checks and writes that happen as one: all at one timestamp, tried again at another when something is in the way.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_metadata::Keyspace;
use dunlin_node::{Failure, Services};
use dunlin_proto::Condition;
use dunlin_txn::{Check, Id, Outcome, Share, World, close, commit, finalize_all, holds};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::body::{Body, Found, Place, Write};
use crate::client::{Client, failure};
use crate::finished::tell;
use crate::group::range_id;
use crate::plug::count;

/// From when on anybody may abort a transaction that commits, in milliseconds.
const DEADLINE_MS: u64 = 3_000;
/// How long it is tried at new timestamps.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest pause before the first of these, and the longest of all, in milliseconds.
const PAUSE_MS: u64 = 4;
const PAUSE_MS_MAX: u64 = 128;

/// What became of a transaction.
pub(crate) enum Done {
    /// It has happened, at this timestamp; what was read, in its order.
    Committed(Version, Vec<(Place, Found)>),
    /// An earlier attempt at the same has happened, at this timestamp.
    CommittedBefore(Version),
    /// Something else has its name; nothing happened.
    NameTaken,
    /// A check does not hold: its number, and the version there is.
    CheckFailed(usize, Option<Version>),
    /// Others were in the way for too long; nothing happened.
    Conflict,
}

/// The keyspaces of a transaction, by name.
pub(crate) type Keyspaces = BTreeMap<String, Arc<Keyspace>>;

/// Keyspaces by their names.
///
/// # Errors
/// When one is not there, or not transactional.
pub(crate) fn keyspaces_of<'a>(
    services: &Services,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Keyspaces, Failure> {
    let of = |name: &str| {
        let keyspace = services.transactional_named(name);
        Ok((name.to_owned(), keyspace.ok_or(Failure::UnknownKeyspace)?))
    };
    names.into_iter().map(of).collect()
}

/// Where a key is: its keyspace and the index of its range.
type Where = (u32, usize);

/// Carries a transaction out.
///
/// # Errors
/// When it could not be tried: nothing happened, but where its fate is unknown.
pub(crate) async fn run(
    services: &Rc<Services>,
    keyspaces: &Keyspaces,
    body: &Body,
) -> Result<Done, Failure> {
    let client = Client::new(services);
    let (begun, mut pause_ms) = (Instant::now(), PAUSE_MS);
    let parts = shares_of(keyspaces, &body.writes, &body.checks)?;
    let holder = parts.shares.first().map(|share| share.range);
    let name = body_name(body);
    loop {
        let at = client.timestamp(Version(0)).await;
        let at = at.map_err(|instead| failure(name, instead))?;
        let found = read_all(&client, keyspaces, body, &parts, at).await?;
        let found_at = |place: &Place| found.get(place).and_then(Option::as_ref);
        let version_at = |place: &Place| found_at(place).map(|(version, _)| *version);
        let mut apart = parts
            .apart
            .iter()
            .map(|number| (*number, &body.checks[*number]));
        let failed = apart.find(|(_, (place, check))| !holds(*check, version_at(place)));
        if let Some((number, (place, _))) = failed {
            let instead = Done::CheckFailed(number, version_at(place));
            return closed(services, body, (at, holder), instead).await;
        }
        let outcome = commit_shares(services, at, &parts.shares, body.id.as_ref()).await;
        match outcome {
            Outcome::Conflict(_) if begun.elapsed() < PATIENCE => {
                count(services, |counts| counts.retries += 1);
            }
            _ => counted(services, &outcome),
        }
        match outcome {
            Outcome::Committed => {
                services.observe(at);
                let reads = body.reads.iter();
                let reads = reads.map(|place| (place.clone(), found_at(place).cloned()));
                return Ok(Done::Committed(at, reads.collect()));
            }
            Outcome::Conflict(_) if begun.elapsed() < PATIENCE => {}
            Outcome::Conflict(_) => {
                return closed(services, body, (at, holder), Done::Conflict).await;
            }
            Outcome::CheckFailed(range, number, version) => {
                let number = parts.number(range, number).ok_or(Failure::Busy)?;
                let instead = Done::CheckFailed(number, version);
                return closed(services, body, (at, holder), instead).await;
            }
            other => return done(name, other),
        }
        // Two that meet do not meet again at once.
        let ms = services.next_turn() as u64 % pause_ms + 1;
        sleep(Duration::from_millis(ms)).await;
        pause_ms = (2 * pause_ms).min(PAUSE_MS_MAX);
    }
}

/// Counts what became of a transaction.
pub(crate) fn counted(services: &Services, outcome: &Outcome) {
    count(services, |counts| match outcome {
        Outcome::Committed => counts.commits += 1,
        Outcome::Unknown => counts.unknown += 1,
        Outcome::Conflict(_) => counts.conflicts += 1,
        _ => {}
    });
}

/// Answers that nothing happened; where the transaction has a name, once no earlier attempt at it can happen any more.
async fn closed(
    services: &Rc<Services>,
    body: &Body,
    (at, holder): (Version, Option<u64>),
    instead: Done,
) -> Result<Done, Failure> {
    if let Done::CheckFailed(..) = instead {
        count(services, |counts| counts.checks_failed += 1);
    }
    let (Some(id), Some(holder)) = (&body.id, holder) else {
        return Ok(instead);
    };
    match close(&Client::new(services), holder, id, at).await {
        None => Ok(instead),
        Some(before) => done(body_name(body), before),
    }
}

/// What became of a transaction that has no effect, at least now.
///
/// # Errors
/// When it could not be tried, or its fate is unknown.
pub(crate) fn done(name: &str, outcome: Outcome) -> Result<Done, Failure> {
    match outcome {
        Outcome::CommittedBefore(version) => Ok(Done::CommittedBefore(version)),
        Outcome::NameTaken => Ok(Done::NameTaken),
        Outcome::Failed(answer) => Err(failure(name, answer)),
        Outcome::Unreachable(why) => Err(Failure::NoLeader(why)),
        Outcome::Conflict(_) | Outcome::CheckFailed(..) => Ok(Done::Conflict),
        Outcome::Unknown | Outcome::Committed => Err(Failure::FateUnknown),
    }
}

fn body_name(body: &Body) -> &str {
    let read = body.reads.first().map(|place| &place.keyspace);
    let checked = body.checks.first().map(|(place, _)| &place.keyspace);
    let written = body.writes.first().map(|write| &write.place.keyspace);
    written.or(read).or(checked).map_or("", String::as_str)
}

/// Where a key is.
///
/// # Errors
/// When its keyspace is not among these.
pub(crate) fn whereabouts(keyspaces: &Keyspaces, place: &Place) -> Result<Where, Failure> {
    let keyspace = keyspaces.get(&place.keyspace);
    let keyspace = keyspace.ok_or(Failure::UnknownKeyspace)?;
    Ok((keyspace.id, keyspace.range_of(&place.key)))
}

/// A transaction by range.
pub(crate) struct Parts {
    /// What is written, with the checks of keys in the same ranges; the range of the first write, which holds the record,
    /// is the first.
    pub shares: Vec<Share>,
    /// The numbers of these checks.
    numbers: BTreeMap<u64, Vec<usize>>,
    /// Those of all others: their keys are read.
    apart: Vec<usize>,
}

impl Parts {
    /// The number that a range's check has in the transaction.
    fn number(&self, range: u64, number: u32) -> Option<usize> {
        self.numbers.get(&range)?.get(number as usize).copied()
    }
}

/// Writes and checks by range.
///
/// # Errors
/// When a keyspace is not among these.
pub(crate) fn shares_of(
    keyspaces: &Keyspaces,
    writes: &[Write],
    checks: &[(Place, Condition)],
) -> Result<Parts, Failure> {
    let range_of = |place: &Place| {
        let (keyspace, index) = whereabouts(keyspaces, place)?;
        Ok::<_, Failure>(range_id(keyspace, index))
    };
    let mut parts = Parts {
        shares: Vec::new(),
        numbers: BTreeMap::new(),
        apart: Vec::new(),
    };
    let shares = &mut parts.shares;
    for Write { place, value } in writes {
        let range = range_of(place)?;
        let write = dunlin_txn::Write {
            key: place.key.clone(),
            value: value.clone(),
        };
        match shares.iter_mut().find(|share| share.range == range) {
            Some(share) => share.writes.push(write),
            None => shares.push(Share {
                range,
                checks: Vec::new(),
                writes: vec![write],
            }),
        }
    }
    for (number, (place, condition)) in checks.iter().enumerate() {
        let range = range_of(place)?;
        match shares.iter_mut().find(|share| share.range == range) {
            Some(share) => {
                share.checks.push(Check {
                    key: place.key.clone(),
                    condition: *condition,
                });
                parts.numbers.entry(range).or_default().push(number);
            }
            None => parts.apart.push(number),
        }
    }
    Ok(parts)
}

/// Reads all keys that are read, or checked where nothing is written, each once, ranges side by side.
async fn read_all(
    client: &Client,
    keyspaces: &Keyspaces,
    body: &Body,
    parts: &Parts,
    at: Version,
) -> Result<BTreeMap<Place, Found>, Failure> {
    let mut wanted: BTreeMap<Where, Vec<Place>> = BTreeMap::new();
    let checked = parts.apart.iter().map(|number| &body.checks[*number].0);
    for place in body.reads.iter().chain(checked) {
        let places = wanted.entry(whereabouts(keyspaces, place)?).or_default();
        places.push(place.clone());
    }
    let asked = wanted.into_iter().filter_map(|((_, index), mut places)| {
        places.sort_unstable();
        places.dedup();
        let keyspace = keyspaces.get(&places.first()?.keyspace)?;
        let keys: Vec<Bytes> = places.iter().map(|place| place.key.clone()).collect();
        Some(async move {
            let read = client.read_keys(keyspace, index, Some(at), keys).await;
            read.map(|values| (places, values))
        })
    });
    let mut found = BTreeMap::new();
    for read in join_all(asked).await {
        let (places, values) = read?;
        found.extend(places.into_iter().zip(values));
    }
    Ok(found)
}

/// Commits a transaction; other ranges are told what became of it behind its answer.
pub(crate) async fn commit_shares(
    services: &Rc<Services>,
    txn: Version,
    shares: &[Share],
    id: Option<&Id>,
) -> Outcome {
    let client = Client::new(services);
    let deadline_ms = client.now_ms() + DEADLINE_MS;
    let outcome = commit(&client, txn, deadline_ms, shares, id).await;
    let Some((own, others)) = shares.split_first() else {
        return outcome;
    };
    if outcome != Outcome::Unknown && !others.is_empty() {
        let is_committed = outcome == Outcome::Committed;
        let participants: Vec<u64> = others.iter().map(|share| share.range).collect();
        let (services, holder) = (services.clone(), own.range);
        tokio::task::spawn_local(async move {
            // Whoever is not reached is told by the holder's leader, or asks.
            let is_told = finalize_all(&client, txn, &participants, is_committed).await;
            if is_told && is_committed {
                tell(&services, holder, txn);
            }
        });
    }
    outcome
}
