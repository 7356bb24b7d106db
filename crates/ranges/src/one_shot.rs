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
    Answer, Blocker, Check, Id, Outcome, Refusal, Share, Way, World, commit, finalize_all, holds,
    timely,
};
use futures_util::StreamExt;
use futures_util::future::join;
use futures_util::stream::iter;
use tokio::time::sleep;

use crate::body::{Body, Found, Place, Write};
use crate::budget::Budget;
use crate::client::Client;
use crate::finished::tell;
use crate::group::range_id;
use crate::keyspaces::{Finder, Keyspaces, Where, by_range, range_in};
use crate::locked::Locked;
use crate::one_range::{self, Window, update_of};
use crate::outcome::{Done, body_name, count_refusal, done, failure, give_up, not_added, reserved};
use crate::plug::{Part, count, counted, limits};
use crate::sum::sums;

/// So many ranges are read side by side.
pub(crate) const RANGES_AT_ONCE: usize = 16;
/// One part in so many of a request's time is left for making its end known: no attempt begins in it.
const LAST_PART: u32 = 5;
/// So many attempts follow a conflict at once, the others after a pause.
const AT_ONCE: u32 = 2;
/// Longest pause before the first of these, and the longest of all, in milliseconds.
const PAUSE_MS: u64 = 4;
const PAUSE_MS_MAX: u64 = 128;

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
    let parts = shares_of(keyspaces, &body.writes, &body.checks)?;
    let update = update_of(keyspaces, body, &parts.shares, window, max_bytes(services))?;
    if let Some((range, update)) = update {
        let client = Client::before(services, window.deadline);
        if let Some(refused) = reserved(&client, keyspaces, body, Some(range)).await {
            return done(body_name(body), refused);
        }
        let waiting = Client::within(services, client.left() - client.left() / LAST_PART);
        let answer = waiting.update(range, update).await;
        if let Some(done) = end(services, &client, (range, body), answer).await? {
            return Ok(done);
        }
    }
    run_over_ranges(services, keyspaces, (body, &parts), window).await
}

async fn run_over_ranges(
    services: &Rc<Services>,
    keyspaces: &Keyspaces,
    (body, parts): (&Body, &Parts),
    window: Window,
) -> Result<Done, Failure> {
    let client = Client::before(services, window.deadline);
    let last = client.left() / LAST_PART;
    let mut pause_ms = PAUSE_MS;
    let holder = parts.shares.first().map(|share| share.range);
    let name = body_name(body);
    let waiting = Client::within(services, client.left().saturating_sub(last));
    let wanted = Wanted {
        keyspaces,
        body,
        parts,
        floor: window.floor,
    };
    let first = async {
        let turn = lock_hot(&waiting, &wanted).await;
        attempt(&client, name, window, turn).await
    };
    let (first, refused) = join(first, reserved(&client, keyspaces, body, holder)).await;
    if let Some(refused) = refused {
        return done(name, refused);
    }
    let (mut first, mut turn, mut conflicts) = (Some(first), None, 0);
    loop {
        let (at, known) = match first.take() {
            Some(first) => first?,
            None => attempt(&client, name, window, turn.take()).await?,
        };
        let budget = Budget::new(services.memory(), max_bytes(services));
        let found = read_all((&client, &budget), &wanted, at, known).await?;
        let found_at = |place: &Place| found.get(place).and_then(Option::as_ref);
        let version_at = |place: &Place| found_at(place).map(|(version, _)| *version);
        let mut apart = parts
            .apart
            .iter()
            .map(|number| (*number, &body.checks[*number]));
        let failed = apart.find(|(_, (place, check))| !holds(*check, version_at(place)));
        if let Some((number, (place, _))) = failed {
            let (number, version) = (number as u32, version_at(place));
            count(services, |counts| counts.checks_failed += 1);
            let refusal = Refusal::CheckFailed(number, version);
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
                count(services, |counts| {
                    counts.retries += 1;
                    count_refusal(counts, blocker.as_ref());
                });
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
                if let Some((range, key)) = blocker.and_then(key_of) {
                    remember(&client, range, &key);
                    if !client.holds() && may_wait(body) {
                        turn = lock(&waiting, &wanted, (range, key)).await;
                    }
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
        if conflicts <= AT_ONCE {
            continue;
        }
        // Two that meet do not meet again at once.
        let ms = services.next_turn() as u64 % pause_ms + 1;
        sleep(Duration::from_millis(ms)).await;
        pause_ms = (2 * pause_ms).min(PAUSE_MS_MAX);
    }
}

fn max_bytes(services: &Services) -> usize {
    limits(services).read_bytes
}

/// The end of a transaction that the leader of a range has evaluated; none where there is too much of it for a leader.
async fn end(
    services: &Rc<Services>,
    client: &Client,
    of: (u64, &Body),
    answer: Result<Answer, Failure>,
) -> Result<Option<Done>, Failure> {
    let budget = Budget::new(services.memory(), max_bytes(services));
    let count = |outcome: &Outcome| counted(services, outcome);
    let done = one_range::ended(client, of, answer, budget, count).await?;
    if let Some(Done::Committed(at, ..)) = &done {
        services.observe(*at);
    }
    Ok(done)
}

/// The range and the key at which a transaction was refused.
fn key_of((range, blocker): (u64, Blocker)) -> Option<(u64, Bytes)> {
    match blocker {
        Blocker::Newer { key, .. } | Blocker::Intent { key, .. } => Some((range, key)),
        Blocker::Old(_) => None,
    }
}

/// Has the next transactions wait for a key. One that is refused though it holds a lock adds to this, too: then all that
/// write the same keys come to wait for the same one of them.
fn remember(client: &Client, range: u64, key: &Bytes) {
    let part = client
        .services()
        .ok()
        .and_then(|services| services.find::<Part>());
    if let Some(part) = part {
        part.hot.borrow_mut().add(range, key, part.elapsed_ms());
    }
}

/// Whether a transaction may wait for its turn: what it has read before would have changed until then.
fn may_wait(body: &Body) -> bool {
    let is_read = |(_, check): &(Place, Condition)| matches!(check, Condition::Is(_));
    !body.checks.iter().any(is_read)
}

/// The timestamp of an attempt, and values that are known of it.
async fn attempt(
    client: &Client,
    name: &str,
    window: Window,
    turn: Option<Turn>,
) -> Result<(Version, BTreeMap<Place, Found>), Failure> {
    let wall = client.wall();
    if let Some((lock, known)) = turn {
        let at = lock.at;
        if wall.is_late(at, window.deadline) {
            return Err(Failure::TooLate);
        }
        if wall.wait_ms(at, window.floor) == 0 {
            client.hold(Some(lock));
            return Ok((at, known));
        }
    }
    let at = timely(client, (window.floor, window.floor), window.deadline).await;
    match at {
        Ok(at) => Ok((at, BTreeMap::new())),
        Err(Answer::TooLate(_)) => Err(Failure::TooLate),
        Err(instead) => Err(failure(name, instead)),
    }
}

/// A lock, and values that were read at its timestamp.
type Turn = (Locked, BTreeMap<Place, Found>);

/// A transaction over ranges, and what its timestamps are above.
struct Wanted<'a> {
    keyspaces: &'a Keyspaces,
    body: &'a Body,
    parts: &'a Parts,
    floor: Version,
}

impl Wanted<'_> {
    /// The places that are read or added to, or checked where nothing is written, each once, by range.
    fn reads(&self) -> Result<BTreeMap<Where, Vec<Place>>, Failure> {
        let body = self.body;
        let checked = self
            .parts
            .apart
            .iter()
            .map(|number| &body.checks[*number].0);
        let added = body.adds.iter();
        let added = added.map(|(index, _)| &body.writes[*index].place);
        let all = body.reads.iter().chain(checked).chain(added);
        by_range(self.keyspaces, all)
    }
}

/// Waits for the lock of a hot key that a transaction writes.
async fn lock_hot(client: &Client, wanted: &Wanted<'_>) -> Option<Turn> {
    if !may_wait(wanted.body) {
        return None;
    }
    let part = client.services().ok()?.find::<Part>()?;
    let keys = wanted.parts.shares.iter().flat_map(|share| {
        let writes = share.writes.iter();
        writes.map(|write| (share.range, &write.key))
    });
    let (range, key) = part.hot.borrow_mut().find(keys, part.elapsed_ms())?;
    let turn = lock(client, wanted, (range, key.clone())).await?;
    if turn.0.has_waited {
        part.hot.borrow_mut().add(range, &key, part.elapsed_ms());
    }
    Some(turn)
}

/// Waits for the lock of a key, and reads what the transaction reads in its range.
async fn lock(client: &Client, wanted: &Wanted<'_>, (range, key): (u64, Bytes)) -> Option<Turn> {
    let mut reads = wanted.reads().ok()?.into_iter();
    let is_there = |(id, index): (u32, usize)| range_id(id, index) == range;
    let places = reads.find_map(|(at, places)| is_there(at).then_some(places));
    let places = places.unwrap_or_default();
    let keys = places.iter().map(|place| place.key.clone()).collect();
    let (lock, values) = client.lock((range, key), wanted.floor, keys).await?;
    Some((lock, places.into_iter().zip(values).collect()))
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
    let mut finder = Finder::new(keyspaces);
    let mut parts = Parts {
        shares: Vec::new(),
        numbers: BTreeMap::new(),
        apart: Vec::new(),
    };
    let shares = &mut parts.shares;
    for Write { place, value } in writes {
        let range = finder.range(place)?;
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
        let range = finder.range(place)?;
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

/// Reads all keys that are not known yet.
async fn read_all(
    (client, budget): (&Client, &Budget),
    wanted: &Wanted<'_>,
    at: Version,
    mut found: BTreeMap<Place, Found>,
) -> Result<BTreeMap<Place, Found>, Failure> {
    let bytes = found.values().flatten().map(|(_, value)| value.len());
    budget.grow(bytes.sum())?;
    let mut reads = wanted.reads()?;
    for places in reads.values_mut() {
        places.retain(|place| !found.contains_key(place));
    }
    found.extend(read_places((client, budget), wanted.keyspaces, reads, at).await?);
    Ok(found)
}

/// Reads keys, ranges side by side.
pub(crate) async fn read_places(
    (client, budget): (&Client, &Budget),
    keyspaces: &Keyspaces,
    reads: BTreeMap<Where, Vec<Place>>,
    at: Version,
) -> Result<BTreeMap<Place, Found>, Failure> {
    let mut found = BTreeMap::new();
    let asked = reads.into_iter().filter_map(|((_, index), places)| {
        let keyspace = keyspaces.get(&*places.first()?.keyspace)?;
        let keys: Vec<Bytes> = places.iter().map(|place| place.key.clone()).collect();
        Some(async move {
            let read = client
                .read_keys(keyspace, index, Some(at), keys, Some(budget))
                .await;
            read.map(|values| (places, values))
        })
    });
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
