//! A transaction's writes, from any node: intents everywhere but in the range that holds its record, then one entry there,
//! which is the commit; then intents become versions.

use dunlin_entry::Version;
use futures_util::future::join_all;

use crate::command::{Check, Command, Id, Refusal, Write};
use crate::record::NameOutcome;
use crate::request::{Answer, Blocker, Request};
use crate::serve::{Unheard, World};

/// Pause before it is asked again, in milliseconds.
const PAUSE_MS: u64 = 100;

/// After so many conflicts an attempt takes the long way.
const LONG_AFTER: u32 = 2;

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has committed.
    Committed,
    /// An attempt under the same name has the outcome of all; this one has no effect.
    Before(NameOutcome),
    /// It has no effect: something else has its name.
    NameTaken,
    /// It has no effect: in this range, the check of this number does not hold; the version there is, if there is a value.
    CheckFailed(u64, u32, Option<Version>),
    /// It has no effect: in this range, this was in its way; or it was aborted for another's sake. A newer timestamp may
    /// succeed.
    Conflict(Option<(u64, Blocker)>),
    /// It has no effect: something that it has read was changed.
    Changed,
    /// It has no effect, and why it could not be tried.
    Failed(Answer),
    /// It has no effect: a range did not answer.
    Unreachable(String),
    /// Nobody can tell now.
    Unknown,
}

/// What a transaction checks and writes in one range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// The range.
    pub range: u64,
    /// What must hold of keys.
    pub checks: Vec<Check>,
    /// What is written.
    pub writes: Vec<Write>,
}

/// How a transaction's writes become its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Those in the range of the record by the entry that commits. Until then others may read their keys, and refuse it.
    Short,
    /// All of them as intents before, which keep readers waiting: a round more.
    Long,
}

impl Way {
    /// The way of an attempt after so many conflicts.
    pub fn after(conflicts: u32, shares: &[Share]) -> Way {
        if conflicts >= LONG_AFTER && shares.len() > 1 {
            Way::Long
        } else {
            Way::Short
        }
    }
}

/// Commits a transaction, the first of whose ranges holds its record. Returns the ranges that may have intents of it, too.
pub async fn commit<W: World>(
    world: &W,
    txn: Version,
    shares: &[Share],
    id: Option<&Id>,
    way: Way,
) -> (Outcome, Vec<u64>) {
    let Some((own, others)) = shares.split_first() else {
        return (Outcome::Committed, Vec::new());
    };
    let holder = own.range;
    let nothing = Share::default();
    let (own, others) = match way {
        Way::Short => (own, others),
        Way::Long => (&nothing, shares),
    };
    let place = |share: &Share| {
        let command = Command::Place {
            txn,
            holder,
            checks: share.checks.clone(),
            writes: share.writes.clone(),
        };
        world.ask(share.range, Request::Enter(command))
    };
    let intents_at = join_all(others.iter().map(place)).await;
    let (mut may_have, mut refusal) = (Vec::new(), None);
    for (share, intents_at) in others.iter().zip(intents_at) {
        if !matches!(intents_at, Ok(Answer::Blocked(_) | Answer::CheckFailed(..))) {
            may_have.push(share.range);
        }
        if !matches!(intents_at, Ok(Answer::Done(_))) && refusal.is_none() {
            refusal = Some(refused(share.range, intents_at));
        }
    }
    if let Some(refusal) = refusal {
        return (refusal, may_have);
    }
    let command = Command::Commit {
        txn,
        participants: others.iter().map(|share| share.range).collect(),
        checks: own.checks.clone(),
        writes: own.writes.clone(),
        id: id.cloned(),
    };
    let answer = world.ask(holder, Request::Enter(command)).await;
    let outcome = match answer {
        Ok(Answer::Committed) => Outcome::Committed,
        Ok(Answer::Unknown) | Err(Unheard::Maybe) => outcome(world, txn, holder).await,
        other => refused(holder, other),
    };
    (outcome, may_have)
}

/// Why a transaction cannot commit that nobody will ask to commit again.
pub fn refused(range: u64, answer: Result<Answer, Unheard>) -> Outcome {
    match answer {
        Ok(Answer::CheckFailed(number, version)) => Outcome::CheckFailed(range, number, version),
        Ok(Answer::Blocked(blocker)) => Outcome::Conflict(Some((range, blocker))),
        Ok(Answer::CommittedBefore(version)) => Outcome::Before(NameOutcome::Committed(version)),
        Ok(Answer::RefusedBefore(refusal)) => Outcome::Before(NameOutcome::Refused(refusal)),
        Ok(Answer::NameTaken) => Outcome::NameTaken,
        Ok(Answer::Aborted | Answer::Forgotten | Answer::Undecided | Answer::Unknown)
        | Err(Unheard::Maybe) => Outcome::Conflict(None),
        Ok(answer) => Outcome::Failed(answer),
        Err(Unheard::Not(why)) => Outcome::Unreachable(why),
    }
}

/// Makes it the outcome of a name that no attempt under it has an effect, before a client hears so. Returns the outcome
/// that the name has: perhaps another attempt was faster.
pub async fn close<W: World>(world: &W, holder: u64, id: &Id, refusal: Refusal) -> Outcome {
    let id = id.clone();
    let close = Command::Close { id, refusal };
    match world.ask(holder, Request::Enter(close)).await {
        Ok(Answer::Done(_)) => Outcome::Before(NameOutcome::Refused(refusal)),
        // What is forgotten may have happened.
        Ok(Answer::Unknown | Answer::Forgotten) | Err(Unheard::Maybe) => Outcome::Unknown,
        other => refused(holder, other),
    }
}

/// Reserves a name for its body, at the range that keeps names like it; `None` when that is so.
pub async fn reserve<W: World>(world: &W, range: u64, id: &Id) -> Option<Outcome> {
    let reserve = Command::Reserve { id: id.clone() };
    match world.ask(range, Request::Enter(reserve)).await {
        Ok(Answer::Done(_)) => None,
        // Nothing was committed by this attempt, and an earlier one may have been.
        Ok(Answer::Forgotten) => Some(Outcome::Unknown),
        Err(Unheard::Maybe) => Some(Outcome::Unreachable(
            "the range that keeps the id did not answer in time".to_owned(),
        )),
        other => Some(refused(range, other)),
    }
}

/// Settles what became of a transaction whose commit was not answered: it is aborted unless it has committed.
pub(crate) async fn outcome<W: World>(world: &W, txn: Version, holder: u64) -> Outcome {
    while world.left_ms() > 0 {
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

/// Tells ranges what became of a transaction; whether all have applied it. Who is not reached finds out by itself.
pub async fn finalize_all<W: World>(
    world: &W,
    txn: Version,
    participants: &[u64],
    is_committed: bool,
) -> bool {
    let command = Command::Finalize { txn, is_committed };
    let finalize = |range: &u64| world.ask(*range, Request::Enter(command.clone()));
    let told = join_all(participants.iter().map(finalize)).await;
    told.iter().all(|told| matches!(told, Ok(Answer::Done(_))))
}
