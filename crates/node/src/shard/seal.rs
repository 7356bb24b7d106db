//! What a shard's earlier starts wrote becomes one entry of the vector (decision 42).

use std::cell::Ref;
use std::rc::Rc;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_proto::VectorsAnswer;

use super::{Peer, Shard};
use crate::sabotage::Sabotage;

/// What a shard may say of its earlier starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sealing {
    /// Something may still come of one of them.
    Wait,
    /// Nothing more comes of those up to this one; not all who share its partitions have sealed them yet.
    Final(u32),
    /// All have: it seals them, too.
    Seal(u32),
}

/// Judges the starts before `own`, whose shard has the vector `mine`. `told`: the vectors of all that
/// share its partitions, as each has told it since this start. Pure.
pub(super) fn may_seal<'a>(
    own: Origin,
    mine: &Vector,
    mut told: impl Iterator<Item = &'a Vector> + Clone,
) -> Sealing {
    let to = own.incarnation().saturating_sub(1);
    if to <= mine.sealed_to(own) {
        return Sealing::Wait;
    }
    if !told.clone().all(|theirs| is_level(own, mine, theirs, to)) {
        return Sealing::Wait;
    }
    if told.all(|theirs| theirs.sealed_to(own) >= to) {
        Sealing::Seal(to)
    } else {
        Sealing::Final(to)
    }
}

/// Whether one that shares partitions with `writer` names just what that one does of its starts up to
/// `to`, with a seal of its own in place of some.
fn is_level(writer: Origin, mine: &Vector, theirs: &Vector, to: u32) -> bool {
    let from = theirs.sealed_to(writer);
    from >= mine.sealed_to(writer) && is_same(writer, mine, theirs, from, to)
}

/// Whether two vectors name the same of the starts above `from` up to `to`, one by one, and of those up to
/// `from` the same greatest.
fn is_same(writer: Origin, a: &Vector, b: &Vector, from: u32, to: u32) -> bool {
    let meant = |(start, _): &(Origin, Version)| start.incarnation() <= to;
    let greatest = |vector: &Vector| {
        let covered = vector.starts_of(writer).filter(meant);
        let covered = covered.take_while(|(start, _)| start.incarnation() <= from);
        covered.map(|(_, version)| version).max()
    };
    let agrees = |vector: &Vector, other: &Vector| {
        let mut single = vector.starts_of(writer).filter(meant);
        single.all(|(start, version)| start.incarnation() <= from || other.get(start) == version)
    };
    greatest(a) == greatest(b) && agrees(a, b) && agrees(b, a)
}

/// Whether a shard may seal the starts of `writer`'s shard up to `to`, of which that one says that nothing
/// more comes; `theirs` is the writer's vector. `pending`: copies that no vector names. Pure.
pub(super) fn may_take_seal(
    writer: Origin,
    mine: &Vector,
    theirs: &Vector,
    to: u32,
    pending: &Vector,
) -> bool {
    let from = mine.sealed_to(writer);
    let is_named = |(origin, version): (Origin, Version)| {
        let is_meant = origin.seal() == writer.seal() && origin.incarnation() <= to;
        !is_meant || version <= theirs.get(origin)
    };
    to > from
        && theirs.sealed_to(writer) <= from
        && is_same(writer, mine, theirs, from, to)
        && pending.iter().all(is_named)
}

impl Shard {
    fn may_speak_of_seals(&self) -> bool {
        // Who is asked for what is sealed gives all it holds, and that sabotage would be mended by it.
        self.env.sabotage != Sabotage::RefillOwnOnly && self.answers() && !self.is_superseded()
    }

    fn sealing(&self) -> Sealing {
        let own = self.origin;
        let mine = self.vector.borrow();
        let placement = self.placement();
        let is_done = mine.sealed_to(own) >= own.incarnation().saturating_sub(1);
        if is_done || !self.may_speak_of_seals() || placement.change.is_some() {
            return Sealing::Wait;
        }
        if self.env.sabotage == Sabotage::SealUnequal {
            return Sealing::Final(own.incarnation().saturating_sub(1));
        }
        let peers = self.peers.borrow();
        let sharing: Vec<&Rc<Peer>> = peers.values().filter(|peer| peer.shares.get()).collect();
        if sharing.is_empty() && placement.nodes.len() > 1 || !sharing.iter().all(|p| p.heard.get())
        {
            // Who shares nothing may know too little of the cluster.
            return Sealing::Wait;
        }
        let told: Vec<Ref<'_, Vector>> = sharing.iter().map(|peer| peer.vector.borrow()).collect();
        may_seal(own, &mine, told.iter().map(|told| &**told))
    }

    /// Up to which of its starts nothing more comes of this shard; 0 when it cannot say.
    pub(crate) fn final_to(&self) -> u32 {
        match self.sealing() {
            Sealing::Wait => 0,
            Sealing::Final(to) | Sealing::Seal(to) => to,
        }
    }

    /// Seals what a peer's answer says is whole, of the peer's starts or of this shard's.
    pub(crate) fn heard_of_seals(&self, peer: &Peer, answer: &VectorsAnswer) {
        let final_to = answer.answerer.final_to;
        let writer = self
            .origin
            .of_shard(peer.address.node, peer.address.shard, 0);
        self.heard_final(writer, final_to, answer);
        self.seal_own();
    }

    fn heard_final(&self, writer: Origin, final_to: u32, answer: &VectorsAnswer) {
        if final_to > 0 && self.may_speak_of_seals() {
            let pending = self.copies.pending();
            let theirs = &answer.vector;
            let may = may_take_seal(writer, &self.vector.borrow(), theirs, final_to, &pending);
            if may {
                self.seal(writer, final_to);
            }
            if self.env.sabotage == Sabotage::SealUnequal && !may {
                let named = theirs.iter().filter(|(origin, _)| origin.seal() == writer);
                let old = named.filter(|(o, _)| o.incarnation() <= final_to && !o.is_seal());
                let top = old.map(|(_, version)| version).max().unwrap_or_default();
                let seal = (writer, Version(final_to.into()));
                self.log_claim(&[seal, (writer.at_start(final_to), top)], true);
            }
        }
    }

    /// Seals its earlier starts once all others have.
    pub(super) fn seal_own(&self) {
        if let Sealing::Seal(to) = self.sealing() {
            self.seal(self.origin.seal(), to);
        }
    }

    fn seal(&self, shard: Origin, to: u32) {
        tracing::debug!(writer = %shard, to, "earlier starts are sealed");
        let greatest = {
            let mine = self.vector.borrow();
            let covered = mine
                .starts_of(shard)
                .filter(|(start, _)| start.incarnation() <= to);
            covered
                .map(|(_, version)| version)
                .max()
                .unwrap_or_default()
        };
        // What stands in memory alone stands in the log with it.
        let claims = [(shard, Version(to.into())), (shard.at_start(to), greatest)];
        self.log_claim(&claims, true);
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
