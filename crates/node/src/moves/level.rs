//! Whether this shard has what a phase of a change asks for, before the next begins.

use std::rc::Rc;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_metadata::{Change, Phase};
use dunlin_proto::ShardAddress;

use super::Moves;
use super::state::MoveState;
use crate::replication::address_of;
use crate::shard::Peer;

impl Moves {
    /// Whether the logs of all that are inherited were read as far as `marks`.
    pub(super) fn have_sources_all(&self, marks: &Vector) -> bool {
        let placement = self.shard.placement();
        let fill = self.fill.borrow();
        fill.sources.iter().all(|(address, source)| {
            // Of what is written by shards that it shares nothing with, it has nothing.
            let due = marks.iter().filter(|(origin, _)| {
                let writer = address_of(*origin);
                writer == *address || placement.share(*address, writer)
            });
            let due: Vector = due.collect();
            source.end.as_ref().is_some_and(|end| end.covers(&due))
        })
    }

    /// Up to where anybody had the entries of each origin once all had come to the joint phase, as
    /// far as anybody still has them; `None` before.
    pub(super) async fn joint_marks(&self, change: &Change) -> Option<Vector> {
        let states = self.states_of(self.concerned()).await;
        let is_joint = |shard| {
            let state = states.get(shard);
            state.is_some_and(|s| s.change == change.id && s.phase >= Some(Phase::Joint))
        };
        let mut fill = self.fill.borrow_mut();
        if !self.concerned().iter().all(is_joint) {
            return fill.marks.clone();
        }
        let told = states
            .iter()
            .map(|(shard, state)| (*shard, open_marks(state)));
        let held = self.shard.placement().vouched_for(told);
        let marks = match fill.marks.take() {
            Some(marks) => still_held(&marks, &held),
            None => held,
        };
        fill.marks = Some(marks.clone());
        Some(marks)
    }

    /// Whether this shard has all that the living who leave have ever written: once all go by the
    /// new replicas, no write enters through them any more.
    pub(super) async fn is_level_with_leavers(&self, change: &Change) -> bool {
        let placement = self.shard.placement();
        let states = self.states_of(self.concerned()).await;
        let mine = self.shard.vector();
        let has_switched = |shard| {
            let state = states.get(shard);
            state.is_some_and(|s| s.change == change.id && s.phase >= Some(Phase::Switch))
        };
        let told = states
            .iter()
            .map(|(shard, state)| (*shard, open_marks(state)));
        let held = placement.vouched_for(told);
        self.concerned().iter().all(has_switched)
            && held.iter().all(|(origin, version)| {
                let leaves =
                    !change.to.contains(&origin.node()) && !change.dead.contains(&origin.node());
                let concerns = leaves && placement.share(self.shard.address(), address_of(origin));
                !concerns || mine.get(origin) >= version
            })
    }

    /// Whether one that stays has everything that was written before the joint phase: a write that
    /// asked for the first few replicas alone counts on them, and they may be others now. Who
    /// joins has it from those it inherits.
    pub(super) fn is_level_with_writers(&self, marks: &Vector) -> bool {
        let placement = self.shard.placement();
        let mine = self.shard.known();
        !placement.is_member(self.shard.address().node)
            || marks.iter().all(|(origin, version)| {
                let writer = address_of(origin);
                let concerns = placement.is_member(writer.node)
                    && (writer == self.shard.address()
                        || placement.share(self.shard.address(), writer));
                !concerns || mine.get(origin) >= version
            })
    }

    /// Whether this shard has what the others have of those that are gone for good.
    pub(super) async fn is_level_with_dead(&self, change: &Change) -> bool {
        if change.dead.is_empty() {
            return true;
        }
        // What is known of the others' vectors may be older than the last entry they took from who is
        // gone: those who know that it is must say what they have.
        let states = self.states_of(self.concerned()).await;
        let placement = self.shard.placement();
        let concerns = |origin: Origin| {
            change.dead.contains(&origin.node())
                && placement.share(self.shard.address(), address_of(origin))
        };
        // What was pulled of that very shard came without the vector rising.
        let has_all_of = |shard: ShardAddress, theirs: &Vector| {
            let peer = self.shard.peer(shard);
            theirs.unsealed().all(|(origin, version)| {
                let pulled = |peer: &Rc<Peer>| peer.pulled.borrow().get(origin);
                let pulled = peer.as_ref().map(pulled).unwrap_or_default();
                !concerns(origin) || self.shard.has_up_to(origin).max(pulled) >= version
            })
        };
        let told = |shard: ShardAddress| {
            states.get(&shard).is_some_and(|state| {
                state.change == change.id && has_all_of(shard, &state.of_dead().collect())
            })
        };
        let peers = self.shard.peers();
        let concerned = self.concerned();
        let mut sharing = concerned.iter().filter(|shard| {
            **shard != self.shard.address() && placement.share(self.shard.address(), **shard)
        });
        // Shards of a version that says nothing of the dead are known by their vectors alone.
        let mut known = peers.values().filter(|peer| peer.shares.get());
        sharing.all(|shard| told(*shard))
            && known.all(|peer| peer.heard.get() && has_all_of(peer.address, &peer.vector.borrow()))
    }
}

/// What a shard told of origins that it has not sealed: what it has, all had who share partitions with
/// their writer, and nobody waits for it any more.
fn open_marks(state: &MoveState) -> impl Iterator<Item = (Origin, Version)> + use<> {
    let marks: Vector = state.marks().collect();
    marks.unsealed().collect::<Vec<_>>().into_iter()
}

/// What is left of `marks` when nobody living holds more than `held`: what a node alone had, and
/// lost with its disk or took along for good, cannot be waited for.
fn still_held(marks: &Vector, held: &Vector) -> Vector {
    let left = |(origin, version): (Origin, Version)| (origin, version.min(held.get(origin)));
    marks.iter().map(left).collect()
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
