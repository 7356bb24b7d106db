//! A transaction's writes, from any node: intents everywhere but in the range that holds its record, then one entry there,
//! which is the commit; then intents become versions.

use dunlin_entry::Version;
use futures_util::future::join_all;

use crate::command::{Id, Write};
use crate::request::{Answer, Met, Request};
use crate::serve::{Unheard, World};

/// How often it is asked what became of a transaction whose commit was not answered.
const ASKED_MAX: u32 = 20;
/// Pause before it is asked again, in milliseconds.
const PAUSE_MS: u64 = 100;

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has committed.
    Committed,
    /// An earlier attempt at the same has committed, at this timestamp; this one has no effect.
    CommittedBefore(Version),
    /// It has no effect: something else has its name.
    NameTaken,
    /// It has no effect: this was in its way, or it was aborted for another's sake. A newer timestamp may succeed.
    Conflict(Option<Met>),
    /// It has no effect, and why it could not be tried.
    Failed(Answer),
    /// It has no effect: a range did not answer.
    Unreachable(String),
    /// Nobody can tell now.
    Unknown,
}

/// Commits the writes of a transaction, those of each range together; the first range holds its record.
pub async fn commit<W: World>(
    world: &W,
    txn: Version,
    deadline_ms: u64,
    writes: &[(u64, Vec<Write>)],
    id: Option<&Id>,
) -> Outcome {
    let Some(((holder, own), others)) = writes.split_first() else {
        return Outcome::Committed;
    };
    let place = |range: u64, writes: &[Write]| {
        let request = Request::Place {
            txn,
            holder: *holder,
            deadline_ms,
            writes: writes.to_vec(),
        };
        world.ask(range, request)
    };
    let placed = join_all(others.iter().map(|(range, writes)| place(*range, writes))).await;
    for placed in placed {
        match placed {
            Ok(Answer::Done(_)) => {}
            other => return refused(other),
        }
    }
    let request = Request::Commit {
        txn,
        participants: others.iter().map(|(range, _)| *range).collect(),
        writes: own.clone(),
        id: id.cloned(),
    };
    match world.ask(*holder, request).await {
        Ok(Answer::Committed) => Outcome::Committed,
        Ok(Answer::Unknown) | Err(Unheard::Maybe) => outcome(world, txn, *holder).await,
        other => refused(other),
    }
}

/// Why a transaction cannot commit that nobody will ask to commit again.
fn refused(answer: Result<Answer, Unheard>) -> Outcome {
    match answer {
        Ok(Answer::Met(met)) => Outcome::Conflict(Some(met)),
        Ok(Answer::CommittedBefore(version)) => Outcome::CommittedBefore(version),
        Ok(Answer::NameTaken) => Outcome::NameTaken,
        Ok(Answer::Aborted | Answer::Forgotten | Answer::Undecided | Answer::Unknown)
        | Err(Unheard::Maybe) => Outcome::Conflict(None),
        Ok(answer) => Outcome::Failed(answer),
        Err(Unheard::Not(why)) => Outcome::Unreachable(why),
    }
}

/// Sees to it that no earlier attempt at what a client calls by this name has an effect after it is told that none has;
/// `None` when that is so.
pub async fn close<W: World>(world: &W, holder: u64, id: &Id, at: Version) -> Option<Outcome> {
    let asked = Request::Close { id: id.clone(), at };
    match world.ask(holder, asked).await {
        Ok(Answer::Done(_)) => None,
        Ok(Answer::Unknown) | Err(Unheard::Maybe) => Some(Outcome::Unknown),
        other => Some(refused(other)),
    }
}

/// Settles what became of a transaction whose commit was not answered: it is aborted unless it has committed.
async fn outcome<W: World>(world: &W, txn: Version, holder: u64) -> Outcome {
    for _ in 0..ASKED_MAX {
        let asked = Request::Push { txn, aborts: true };
        match world.ask(holder, asked).await {
            Ok(Answer::Committed) => return Outcome::Committed,
            Ok(Answer::Aborted) => return Outcome::Conflict(None),
            Ok(Answer::Forgotten) => return Outcome::Unknown,
            _ => world.pause(PAUSE_MS).await,
        }
    }
    Outcome::Unknown
}

/// Tells the participants of a transaction what became of it, and its holder when all know that it committed. Whoever
/// is not reached finds out by itself.
pub async fn finish<W: World>(
    world: &W,
    txn: Version,
    holder: u64,
    participants: &[u64],
    is_committed: bool,
) -> bool {
    let is_told = finalize_all(world, txn, participants, is_committed).await;
    if is_told && is_committed && !participants.is_empty() {
        let told = world.ask(holder, Request::Finished { txn }).await;
        return matches!(told, Ok(Answer::Done(_)));
    }
    is_told
}

/// Tells ranges what became of a transaction; whether all have applied it.
pub(crate) async fn finalize_all<W: World>(
    world: &W,
    txn: Version,
    participants: &[u64],
    is_committed: bool,
) -> bool {
    let finalize = |range: &u64| world.ask(*range, Request::Finalize { txn, is_committed });
    let told = join_all(participants.iter().map(finalize)).await;
    told.iter().all(|told| matches!(told, Ok(Answer::Done(_))))
}
