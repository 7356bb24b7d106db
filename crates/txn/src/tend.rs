//! What a range's leader does unasked: whoever should have done it may be gone.

use std::collections::BTreeSet;

use dunlin_entry::Version;

use crate::command::Command;
use crate::commit::finalize_all;
use crate::request::Blocker;
use crate::serve::{Here, Replica, World};

/// Transactions taken on at a time.
const AT_A_TIME: usize = 64;

/// Has expired intents decided, and tells participants of transactions that have committed here. `seen` are those that
/// were there the time before: younger ones are left to who asked for their commit.
pub async fn tend<W: World, R: Replica>(world: &W, replica: &R, seen: &mut BTreeSet<Version>) {
    let (now_ms, intent_ms) = (world.elapsed_ms(), world.intent_ms());
    let told = replica.with(|state, leader| {
        leader.keep_seen(&state.intents().map(|(_, intent)| intent.txn).collect());
        let expired = state
            .intents()
            .filter(|(_, intent)| leader.seen_for_ms(intent.txn, now_ms) > intent_ms);
        let mut expired: Vec<Blocker> = expired
            .map(|(key, intent)| Blocker::by(key, intent))
            .collect();
        expired.dedup_by_key(|blocker| match blocker {
            Blocker::Intent { txn, .. } => *txn,
            Blocker::Newer { at, .. } | Blocker::Old(at) => *at,
        });
        expired.truncate(AT_A_TIME);
        let late = state.unfinished().filter(|(txn, _)| seen.contains(txn));
        let late = late.map(|(txn, participants)| (txn, participants.to_vec()));
        let late: Vec<_> = late.take(AT_A_TIME).collect();
        *seen = state.unfinished().map(|(txn, _)| txn).collect();
        (expired, late)
    });
    let Ok((expired, late)) = told else {
        return;
    };
    let here = Here { world, replica };
    for blocker in expired {
        // What cannot be decided now is met again.
        drop(here.clear(&blocker, Version::MAX).await);
    }
    let mut finished = Vec::new();
    for (txn, participants) in late {
        if finalize_all(world, txn, &participants, true).await {
            finished.push(txn);
        }
    }
    if !finished.is_empty() {
        drop(replica.propose(Command::Finished { txns: finished }).await);
    }
}
