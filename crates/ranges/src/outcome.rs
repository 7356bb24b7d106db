//! What became of a transaction in one request: answered, counted, and made the outcome of its id.

use dunlin_entry::Version;
use dunlin_node::Failure;
use dunlin_node::plug::TxnCounts;
use dunlin_txn::{Answer, Blocker, NameOutcome, Outcome, Refusal, World, close, reserve};
use xxhash_rust::xxh3::xxh3_64;

use crate::body::{Body, Found, Place};
use crate::budget::Budget;
use crate::group::range_id;
use crate::keyspaces::Keyspaces;
use crate::sum::NoSum;

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

/// Counts a refused attempt.
pub(crate) fn count_refusal(counts: &mut TxnCounts, blocker: Option<&(u64, Blocker)>) {
    match blocker.map(|(_, blocker)| blocker) {
        Some(Blocker::Newer { .. }) => counts.refused_newer += 1,
        Some(Blocker::Old(_)) => counts.refused_old += 1,
        Some(Blocker::Intent { .. }) => counts.refused_intent += 1,
        None => counts.refused_aborted += 1,
    }
}

/// Counts the outcome of a transaction.
pub(crate) fn count_outcome(counts: &mut TxnCounts, outcome: &Outcome) {
    match outcome {
        Outcome::Committed => counts.commits += 1,
        Outcome::Unknown => counts.unknown += 1,
        Outcome::CheckFailed(..) => counts.checks_failed += 1,
        Outcome::Conflict(blocker) => {
            count_refusal(counts, blocker.as_ref());
            counts.conflicts += 1;
        }
        Outcome::Changed => {
            counts.refused_changed += 1;
            counts.conflicts += 1;
        }
        _ => {}
    }
}

/// Answers that nothing happened; where the transaction has an id, once that is the outcome of the id, for good.
pub(crate) async fn give_up<W: World>(
    world: &W,
    body: &Body,
    holder: Option<u64>,
    refusal: Refusal,
) -> Result<Done, Failure> {
    match (&body.id, holder) {
        (Some(id), Some(holder)) => done(body_name(body), close(world, holder, id, refusal).await),
        _ => Ok(of_refusal(refusal)),
    }
}

/// Answers that nothing can be added to a value. An earlier attempt under its id may have happened.
pub(crate) async fn not_added<W: World>(
    world: &W,
    body: &Body,
    holder: Option<u64>,
    no_sum: NoSum,
) -> Result<Done, Failure> {
    let done = give_up(world, body, holder, Refusal::Conflict).await?;
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

pub(crate) fn body_name(body: &Body) -> &str {
    let read = body.reads.first().map(|place| &place.keyspace);
    let checked = body.checks.first().map(|(place, _)| &place.keyspace);
    let written = body.writes.first().map(|write| &write.place.keyspace);
    written.or(read).or(checked).map_or("", |name| name)
}

/// Reserves the id of a transaction for its body: at a range of the keyspace of its first write that follows from the id
/// alone, beside the request for the first timestamp. Where the commit writes the id there by itself nothing is to be done.
pub(crate) async fn reserved<W: World>(
    world: &W,
    keyspaces: &Keyspaces,
    body: &Body,
    holder: Option<u64>,
) -> Option<Outcome> {
    let (id, first) = (body.id.as_ref()?, body.writes.first()?);
    let keyspace = keyspaces.get(&*first.place.keyspace)?;
    let index = xxh3_64(&id.name) % keyspace.ranges.len().max(1) as u64;
    let range = range_id(keyspace.id, index as usize);
    if Some(range) == holder {
        return None;
    }
    reserve(world, range, id).await
}

/// The failure to report to a client for an answer that is no result.
pub(crate) fn failure(keyspace: &str, answer: Answer) -> Failure {
    match answer {
        // Behind the drop in its log.
        Answer::Aborted => Failure::UnknownKeyspace,
        Answer::NoTimestamp(why) => Failure::NoLeader(format!(
            "keyspace {keyspace} has no timestamps at the moment: {why}; try again"
        )),
        Answer::NoSpace => Failure::NoSpace,
        _ => Failure::Busy,
    }
}
