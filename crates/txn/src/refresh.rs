//! A transaction that has read at one timestamp commits at a later one, where nothing that it has read has changed in
//! between. It then is the transaction that began at the later one, and read the same.

use dunlin_entry::Version;
use futures_util::future::join_all;

use crate::command::Id;
use crate::commit::{Outcome, Share, Way, commit, finalize_all, refused};
use crate::request::{Answer, Blocker, Request, Span};
use crate::serve::{Waits, World};

/// One part in so many of a transaction's time is left for making its end known: no attempt begins in it.
const LAST_PART: u64 = 5;

/// What a transaction has read in one range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// The range.
    pub range: u64,
    /// The keys.
    pub spans: Vec<Span>,
}

/// Reads the same again at a later timestamp; none where all is as before, else why the transaction cannot go on there.
pub async fn refresh<W: World>(
    world: &W,
    since: Version,
    at: Version,
    reads: &[Reads],
) -> Option<Outcome> {
    let ask = |reads: &Reads| {
        let spans = reads.spans.clone();
        world.ask(reads.range, Request::Unchanged { at, since, spans })
    };
    let answers = join_all(reads.iter().map(ask)).await;
    let mut all = reads.iter().zip(answers);
    all.find_map(|(reads, answer)| match answer {
        Ok(Answer::Done(_)) => None,
        Ok(Answer::Changed(_)) => Some(Outcome::Changed),
        other => Some(refused(reads.range, other)),
    })
}

/// Commits a transaction that has read at `since`: at `first`, which is `since` or later and nobody else's, where nobody is
/// in the way; else at later ones.
/// Checks in the shares say that a key is as it was read, and `reads` are all other reads. Returns the timestamp and the ranges that
/// may have intents of it.
pub async fn commit_later<W: World>(
    world: &W,
    (since, first): (Version, Version),
    shares: &[Share],
    reads: &[Reads],
    id: &Id,
) -> (Version, Outcome, Vec<u64>) {
    let (mut at, mut pauses, mut conflicts) = (first, Waits::new(), 0);
    let last_ms = world.left_ms() / LAST_PART;
    loop {
        let changed = if at == since {
            None
        } else {
            refresh(world, since, at, reads).await
        };
        let (outcome, intents_at) = match changed {
            Some(outcome) => (outcome, Vec::new()),
            None => {
                let way = Way::after(conflicts, shares);
                commit(world, at, shares, Some(id), way).await
            }
        };
        // Nothing else is a conflict that another timestamp ends; and this attempt can have no effect any more.
        let Outcome::Conflict(blocker) = &outcome else {
            return (at, outcome, intents_at);
        };
        let waits = !matches!(blocker, Some((_, Blocker::Newer { .. })));
        conflicts += 1;
        // Its own intents would be in the way of the next.
        finalize_all(world, at, &intents_at, false).await;
        if world.left_ms() <= last_ms {
            return (at, outcome, Vec::new());
        }
        if waits {
            pauses.pause(world).await;
        }
        match world.timestamp(at).await {
            Ok(next) => at = next,
            Err(instead) => return (at, Outcome::Failed(instead), Vec::new()),
        }
    }
}
