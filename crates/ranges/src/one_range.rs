//! A transaction whose keys all lie in one range: the leader evaluates it, so it is never refused because others are fast.

use dunlin_entry::Version;
use dunlin_node::Failure;
use dunlin_txn::{Answer, Outcome, Refusal, Share, Update, World, refused};

use crate::body::{Body, Found};
use crate::budget::Budget;
use crate::keyspaces::{Keyspaces, range_in};
use crate::outcome::{Done, body_name, done, give_up, not_added};

/// A leader reads no more bytes of values than this for one transaction.
const READ_BYTES_MAX: usize = 1 << 20;

/// Which timestamps a transaction may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// None above this.
    pub deadline: Version,
    /// None up to this.
    pub floor: Version,
}

/// The update for the leader of a range, where all keys of a transaction that writes lie in one.
///
/// # Errors
/// When a keyspace is not among these.
pub(crate) fn update_of(
    keyspaces: &Keyspaces,
    body: &Body,
    shares: &[Share],
    window: Window,
    read_bytes: usize,
) -> Result<Option<(u64, Update)>, Failure> {
    let [share] = shares else { return Ok(None) };
    if share.checks.len() < body.checks.len() {
        return Ok(None);
    }
    for place in &body.reads {
        if range_in(keyspaces, place)? != share.range {
            return Ok(None);
        }
    }
    let adds = body.adds.iter();
    let adds = adds.filter_map(|(index, add)| Some((u32::try_from(*index).ok()?, *add)));
    let update = Update {
        deadline: window.deadline,
        floor: window.floor,
        bytes_max: read_bytes.min(READ_BYTES_MAX) as u32,
        reads: body.reads.iter().map(|place| place.key.clone()).collect(),
        checks: share.checks.clone(),
        writes: share.writes.clone(),
        adds: adds.collect(),
        id: body.id.clone(),
    };
    Ok(Some((share.range, update)))
}

/// The end of a transaction for the leader's answer; none where there is too much of it for a leader.
///
/// # Errors
/// When it could not be tried, or its fate is unknown.
pub(crate) async fn ended<W: World>(
    world: &W,
    (range, body): (u64, &Body),
    answer: Result<Answer, Failure>,
    budget: Budget,
    count: impl Fn(&Outcome),
) -> Result<Option<Done>, Failure> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => {
            if matches!(failure, Failure::FateUnknown) {
                count(&Outcome::Unknown);
            }
            return Err(failure);
        }
    };
    let outcome = match answer {
        Answer::TooLarge => return Ok(None),
        Answer::Updated { at, values, sums } => {
            count(&Outcome::Committed);
            return Ok(Some(updated(body, at, values, &sums, budget)));
        }
        Answer::NotAdded(number, why) => {
            let no_sum = (number as usize, why);
            return not_added(world, body, Some(range), no_sum).await.map(Some);
        }
        Answer::TooLate(_) => return Err(Failure::TooLate),
        // An earlier attempt under its id may have happened.
        Answer::Forgotten => return Err(Failure::FateUnknown),
        Answer::Aborted => Outcome::Failed(answer),
        answer => refused(range, Ok(answer)),
    };
    count(&outcome);
    let refusal = match outcome {
        Outcome::CheckFailed(_, number, version) => Refusal::CheckFailed(number, version),
        Outcome::Conflict(_) => Refusal::Conflict,
        outcome => return done(body_name(body), outcome).map(Some),
    };
    give_up(world, body, Some(range), refusal).await.map(Some)
}

fn updated(body: &Body, at: Version, values: Vec<Found>, sums: &[i64], budget: Budget) -> Done {
    budget.hold(values.iter().flatten().map(|(_, value)| value.len()).sum());
    let reads = body.reads.iter().cloned().zip(values);
    let added = body
        .adds
        .iter()
        .filter_map(|(index, _)| body.writes.get(*index));
    let sums = added
        .map(|write| write.place.clone())
        .zip(sums.iter().copied());
    Done::Committed(at, reads.collect(), sums.collect(), budget)
}
