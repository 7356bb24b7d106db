//! Reads, checks and writes that happen as one: all at one timestamp, tried again at another when something is in the way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::{Failure, Services};
use dunlin_proto::Condition;
use dunlin_txn::{
    Blocker, Check, Id, NameOutcome, Outcome, Refusal, Share, Way, World, close, commit,
    finalize_all, holds, reserve,
};
use futures_util::StreamExt;
use futures_util::future::join;
use futures_util::stream::iter;
use tokio::time::sleep;
use xxhash_rust::xxh3::xxh3_64;

use crate::body::{Body, Found, Place, Write};
use crate::budget::Budget;
use crate::client::{Client, failure};
use crate::finished::tell;
use crate::group::range_id;
use crate::keyspaces::{Keyspaces, Where, whereabouts};
use crate::locked::Locked;
use crate::plug::{Part, count, limits};
use crate::sum::{NoSum, sums};

/// So many ranges are read side by side.
const RANGES_AT_ONCE: usize = 16;
/// One part in so many of a request's time is left for making its end known: no attempt begins in it.
const LAST_PART: u32 = 5;
/// After so many conflicts a transaction waits for the lock of the key before it is tried again.
const LOCKED_AFTER: u32 = 2;
/// Longest pause before the first of these, and the longest of all, in milliseconds.
const PAUSE_MS: u64 = 4;
const PAUSE_MS_MAX: u64 = 128;

/// What became of a transaction.
pub(crate) enum Done {
    /// It has happened, at this timestamp; with values of keys in the order of the request, and sums.
    Committed(Version, Vec<(Place, Found)>, Vec<(Place, i64)>, Budget),
    /// An attempt under the same id has happened, at this timestamp.
    CommittedBefore(Version),
    /// Something else has its name; nothing happened.
    NameTaken,
    /// Nothing can be added to a value; nothing happened.
    NotAdded(NoSum),
    /// A check does not hold: its number, and the version there is.
    CheckFailed(usize, Option<Version>),
    /// Others were in the way for too long; nothing happened.
    Conflict,
}

/// Which timestamps a transaction may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// None above this.
    pub deadline: Version,
    /// None up to this.
    pub floor: Version,
}

/// Carries a transaction out.
///
/// # Errors
/// When it could not be tried: nothing happened, but where its fate is unknown.
pub(crate) async fn run(
    services: &Rc<Services>,
    keyspaces: &Keyspaces,
    body: &Body,
    window: Window,
) -> Result<Done, Failure> {
    let client = Client::before(services, window.deadline);
    let last = client.left() / LAST_PART;
    let mut pause_ms = PAUSE_MS;
    let parts = shares_of(keyspaces, &body.writes, &body.checks)?;
    let holder = parts.shares.first().map(|share| share.range);
    let name = body_name(body);
    let waiting = Client::within(services, client.left().saturating_sub(last));
    let mut lock = lock_hot(&waiting, body, &parts.shares).await;
    let reserving = reserved(&client, keyspaces, body, holder);
    let (first, refused) = join(client.timestamp(window.floor), reserving).await;
    if let Some(refused) = refused {
        return done(name, refused);
    }
    let mut first = Some(first);
    let mut conflicts = 0;
    loop {
        let at = match first.take() {
            Some(first) => first,
            None => client.timestamp(window.floor).await,
        };
        let at = at.map_err(|instead| failure(name, instead))?;
        if at > window.deadline {
            return Err(Failure::TooLate);
        }
        let budget = Budget::new(services.memory(), limits(services).read_bytes);
        let found = read_all((&client, &budget), keyspaces, body, &parts, at).await?;
        let found_at = |place: &Place| found.get(place).and_then(Option::as_ref);
        let version_at = |place: &Place| found_at(place).map(|(version, _)| *version);
        let mut apart = parts
            .apart
            .iter()
            .map(|number| (*number, &body.checks[*number]));
        let failed = apart.find(|(_, (place, check))| !holds(*check, version_at(place)));
        if let Some((number, (place, _))) = failed {
            let refusal = Refusal::CheckFailed(number as u32, version_at(place));
            return give_up(&client, body, holder, refusal).await;
        }
        let sums = match sums(body, &found) {
            Ok(sums) => sums,
            Err(no_sum) => return not_added(&client, body, holder, no_sum).await,
        };
        let shares = with_sums(&parts.shares, &sums, keyspaces);
        let way = Way::after(conflicts, &shares);
        let outcome = commit_shares(&client, at, &shares, body.id.as_ref(), way).await;
        let may_retry = client.left() > last;
        match &outcome {
            Outcome::Conflict(blocker) if may_retry => {
                count(services, |counts| counts.retries += 1);
                count_refusal(services, blocker.as_ref());
            }
            _ => counted(services, &outcome),
        }
        match outcome {
            Outcome::Committed => {
                services.observe(at);
                let reads = body.reads.iter();
                let reads = reads.map(|place| (place.clone(), found_at(place).cloned()));
                return Ok(Done::Committed(at, reads.collect(), sums, budget));
            }
            Outcome::Conflict(blocker) if may_retry => {
                conflicts += 1;
                if lock.is_none() && conflicts >= LOCKED_AFTER && may_wait(body) {
                    lock = lock_of(&waiting, blocker).await;
                }
            }
            Outcome::Conflict(_) => {
                return give_up(&client, body, holder, Refusal::Conflict).await;
            }
            Outcome::CheckFailed(range, number, version) => {
                let number = parts.number(range, number).ok_or(Failure::Busy)?;
                let refusal = Refusal::CheckFailed(number as u32, version);
                return give_up(&client, body, holder, refusal).await;
            }
            other => return done(name, other),
        }
        if conflicts <= LOCKED_AFTER {
            continue;
        }
        // Two that meet do not meet again at once.
        let ms = services.next_turn() as u64 % pause_ms + 1;
        sleep(Duration::from_millis(ms)).await;
        pause_ms = (2 * pause_ms).min(PAUSE_MS_MAX);
    }
}

/// Reserves the id of a transaction for its body: at a range of the keyspace of its first write that follows from the id
/// alone, beside the request for the first timestamp. Where the commit writes the id there by itself nothing is to be done.
async fn reserved(
    client: &Client,
    keyspaces: &Keyspaces,
    body: &Body,
    holder: Option<u64>,
) -> Option<Outcome> {
    let (id, first) = (body.id.as_ref()?, body.writes.first()?);
    let keyspace = keyspaces.get(&first.place.keyspace)?;
    let index = xxh3_64(&id.name) % keyspace.ranges.len().max(1) as u64;
    let range = range_id(keyspace.id, index as usize);
    if Some(range) == holder {
        return None;
    }
    reserve(client, range, id).await
}

/// Waits for the lock of the key at which a transaction was refused.
async fn lock_of(client: &Client, blocker: Option<(u64, Blocker)>) -> Option<Locked> {
    let (range, Blocker::Newer { key, .. } | Blocker::Intent { key, .. }) = blocker? else {
        return None;
    };
    if let Some(part) = client.services().ok()?.find::<Part>() {
        part.hot.borrow_mut().add(range, &key, part.elapsed_ms());
    }
    client.lock(range, key).await
}

/// Whether a transaction may wait for its turn: what it has read before would have changed until then.
fn may_wait(body: &Body) -> bool {
    let is_read = |(_, check): &(Place, Condition)| matches!(check, Condition::Is(_));
    !body.checks.iter().any(is_read)
}

/// Waits for the lock of a hot key that a transaction writes.
async fn lock_hot(client: &Client, body: &Body, shares: &[Share]) -> Option<Locked> {
    if !may_wait(body) {
        return None;
    }
    let part = client.services().ok()?.find::<Part>()?;
    let keys = shares.iter().flat_map(|share| {
        let writes = share.writes.iter();
        writes.map(|write| (share.range, &write.key))
    });
    let (range, key) = part.hot.borrow_mut().find(keys, part.elapsed_ms())?;
    let locked = client.lock(range, key.clone()).await?;
    if locked.has_waited {
        part.hot.borrow_mut().add(range, &key, part.elapsed_ms());
    }
    Some(locked)
}

/// Counts a refused attempt.
fn count_refusal(services: &Services, blocker: Option<&(u64, Blocker)>) {
    count(services, |counts| {
        match blocker.map(|(_, blocker)| blocker) {
            Some(Blocker::Newer { .. }) => counts.refused_newer += 1,
            Some(Blocker::Old(_)) => counts.refused_old += 1,
            Some(Blocker::Intent { .. }) => counts.refused_intent += 1,
            None => counts.refused_aborted += 1,
        }
    });
}

/// Counts what became of a transaction.
pub(crate) fn counted(services: &Services, outcome: &Outcome) {
    match outcome {
        Outcome::Conflict(blocker) => count_refusal(services, blocker.as_ref()),
        Outcome::Changed => count(services, |counts| counts.refused_changed += 1),
        _ => {}
    }
    count(services, |counts| match outcome {
        Outcome::Committed => counts.commits += 1,
        Outcome::Unknown => counts.unknown += 1,
        Outcome::Conflict(_) | Outcome::Changed => counts.conflicts += 1,
        _ => {}
    });
}

/// Answers that nothing happened; where the transaction has an id, once that is the outcome of the id, for good.
async fn give_up(
    client: &Client,
    body: &Body,
    holder: Option<u64>,
    refusal: Refusal,
) -> Result<Done, Failure> {
    if let (Refusal::CheckFailed(..), Ok(services)) = (refusal, client.services()) {
        count(&services, |counts| counts.checks_failed += 1);
    }
    match (&body.id, holder) {
        (Some(id), Some(holder)) => done(body_name(body), close(client, holder, id, refusal).await),
        _ => Ok(of_refusal(refusal)),
    }
}

/// Answers that nothing can be added to a value. An earlier attempt under its id may have happened.
async fn not_added(
    client: &Client,
    body: &Body,
    holder: Option<u64>,
    no_sum: NoSum,
) -> Result<Done, Failure> {
    let done = give_up(client, body, holder, Refusal::Conflict).await?;
    Ok(match done {
        Done::Conflict => Done::NotAdded(no_sum),
        done => done,
    })
}

fn of_refusal(refusal: Refusal) -> Done {
    match refusal {
        Refusal::Conflict => Done::Conflict,
        Refusal::CheckFailed(number, version) => Done::CheckFailed(number as usize, version),
    }
}

/// What became of a transaction that has no effect, at least now.
///
/// # Errors
/// When it could not be tried, or its fate is unknown.
pub(crate) fn done(name: &str, outcome: Outcome) -> Result<Done, Failure> {
    match outcome {
        Outcome::Before(NameOutcome::Committed(version)) => Ok(Done::CommittedBefore(version)),
        Outcome::Before(NameOutcome::Refused(refusal)) => Ok(of_refusal(refusal)),
        Outcome::NameTaken => Ok(Done::NameTaken),
        Outcome::Failed(answer) => Err(failure(name, answer)),
        Outcome::Unreachable(why) => Err(Failure::NoLeader(why)),
        Outcome::Conflict(_) | Outcome::Changed | Outcome::CheckFailed(..) => Ok(Done::Conflict),
        Outcome::Unknown | Outcome::Committed => Err(Failure::FateUnknown),
    }
}

fn body_name(body: &Body) -> &str {
    let read = body.reads.first().map(|place| &place.keyspace);
    let checked = body.checks.first().map(|(place, _)| &place.keyspace);
    let written = body.writes.first().map(|write| &write.place.keyspace);
    written.or(read).or(checked).map_or("", String::as_str)
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
    let range_of = |place: &Place| range_in(keyspaces, place);
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

/// The range of a key.
///
/// # Errors
/// When its keyspace is not among these.
fn range_in(keyspaces: &Keyspaces, place: &Place) -> Result<u64, Failure> {
    let (keyspace, index) = whereabouts(keyspaces, place)?;
    Ok(range_id(keyspace, index))
}

/// Shares in which sums are the values of their keys.
fn with_sums<'a>(
    shares: &'a [Share],
    sums: &[(Place, i64)],
    keyspaces: &Keyspaces,
) -> Cow<'a, [Share]> {
    if sums.is_empty() {
        return Cow::Borrowed(shares);
    }
    let mut shares = shares.to_vec();
    for (place, sum) in sums {
        let range = range_in(keyspaces, place).ok();
        let of_range = shares.iter_mut().filter(|share| Some(share.range) == range);
        let mut writes = of_range.flat_map(|share| &mut share.writes);
        if let Some(write) = writes.find(|write| write.key == place.key) {
            write.value = Some(sum.to_string().into());
        }
    }
    Cow::Owned(shares)
}

/// Reads all keys that are read or added to, or checked where nothing is written, each once, ranges side by side.
async fn read_all(
    (client, budget): (&Client, &Budget),
    keyspaces: &Keyspaces,
    body: &Body,
    parts: &Parts,
    at: Version,
) -> Result<BTreeMap<Place, Found>, Failure> {
    let mut wanted: BTreeMap<Where, Vec<Place>> = BTreeMap::new();
    let checked = parts.apart.iter().map(|number| &body.checks[*number].0);
    let added = body
        .adds
        .iter()
        .map(|(index, _)| &body.writes[*index].place);
    for place in body.reads.iter().chain(checked).chain(added) {
        let places = wanted.entry(whereabouts(keyspaces, place)?).or_default();
        places.push(place.clone());
    }
    let asked = wanted.into_iter().filter_map(|((_, index), mut places)| {
        places.sort_unstable();
        places.dedup();
        let keyspace = keyspaces.get(&places.first()?.keyspace)?;
        let keys: Vec<Bytes> = places.iter().map(|place| place.key.clone()).collect();
        Some(async move {
            let read = client
                .read_keys(keyspace, index, Some(at), keys, Some(budget))
                .await;
            read.map(|values| (places, values))
        })
    });
    let mut found = BTreeMap::new();
    let mut reads = iter(asked).buffered(RANGES_AT_ONCE);
    while let Some(read) = reads.next().await {
        let (places, values) = read?;
        found.extend(places.into_iter().zip(values));
    }
    Ok(found)
}

/// Commits a transaction. After a conflict its intents are gone; else other ranges hear of it behind its answer.
pub(crate) async fn commit_shares(
    client: &Client,
    txn: Version,
    shares: &[Share],
    id: Option<&Id>,
    way: Way,
) -> Outcome {
    let (outcome, intents_at) = commit(client, txn, shares, id, way).await;
    if matches!(outcome, Outcome::Conflict(_)) {
        // They would be in the way of the next attempt.
        finalize_all(client, txn, &intents_at, false).await;
    } else if let Some(own) = shares.first() {
        finalize_behind(client, txn, own.range, &outcome, intents_at);
    }
    outcome
}

/// Has other ranges hear what became of a transaction, behind its answer.
pub(crate) fn finalize_behind(
    client: &Client,
    txn: Version,
    holder: u64,
    outcome: &Outcome,
    intents_at: Vec<u64>,
) {
    let Ok(services) = client.services() else {
        return;
    };
    if *outcome == Outcome::Unknown || intents_at.is_empty() {
        return;
    }
    let (client, is_committed) = (Client::new(&services), *outcome == Outcome::Committed);
    tokio::task::spawn_local(async move {
        // Ranges that are not reached hear of it by the holder's leader, or ask.
        let is_done = finalize_all(&client, txn, &intents_at, is_committed).await;
        if is_done && is_committed {
            tell(&services, holder, txn);
        }
    });
}
