//! What a vector may say of what was inherited rather than sent.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_entry::{Origin, Vector, Version};
use dunlin_metadata::{Change, Phase};
use dunlin_proto::ShardAddress;
use tokio::time::Instant;

use super::Moves;
use crate::limits::CLAIM_INTERVAL;
use crate::replication::address_of;

impl Moves {
    /// A shard that held nothing before claims in its vector what it has inherited, so that the
    /// streams of the others begin there and not at the beginning of their logs.
    pub(super) async fn claim(&self, change: &Change) -> Result<(), String> {
        let placement = self.shard.placement();
        let is_recent = |at: Instant| at.elapsed() < CLAIM_INTERVAL;
        let is_needless = {
            let fill = self.fill.borrow();
            fill.claimed.is_some_and(is_recent) && fill.filled
        };
        if change.phase > Phase::Joint
            || placement.is_member(self.shard.address().node)
            || is_needless
        {
            return Ok(());
        }
        let told = match change.phase {
            Phase::Copy => self.states().await,
            // By now others may have from here what an earlier start wrote in this phase.
            _ => BTreeMap::new(),
        };
        let told = told.values().flat_map(|state| state.marks());
        let past = own_past(told, self.shard.origin(), &self.shard.vector());
        let claims: Vec<_> = {
            let mut fill = self.fill.borrow_mut();
            fill.claimed = Some(Instant::now());
            // Not as one vector: a seal that one of them has would hide what others name one by one.
            let origins: BTreeSet<Origin> = {
                let sources = fill.sources.values();
                let ends = sources.filter_map(|source| source.end.as_ref());
                ends.flat_map(Vector::iter).map(|pair| pair.0).collect()
            };
            let have = self.shard.vector();
            let inherited = origins.into_iter().filter_map(|origin| {
                let writer = address_of(origin);
                if writer.is_beside(self.shard.address()) {
                    return None;
                }
                let ends = fill.sources.iter().map(|(address, source)| {
                    let end = source.end.as_ref();
                    (*address, end.map_or(Version(0), |end| end.get(origin)))
                });
                let knows =
                    |source| placement.is_outside(writer) || placement.may_share(source, writer);
                let version = inherited_of(writer, ends, knows)?;
                (version > have.get(origin)).then_some((origin, version))
            });
            inherited.chain(past).collect()
        };
        if !claims.is_empty() {
            self.shard.claim_aside(&claims).await?;
        }
        Ok(())
    }
}

/// What others have that earlier starts of `now`'s shard wrote, and it has not. One that is to become a
/// member again inherits it: what is left of it is in the stores of those who stayed, and what was
/// deleted since, and the delete forgotten, only in logs, from where it would come back.
fn own_past(
    told: impl Iterator<Item = (Origin, Version)>,
    now: Origin,
    have: &Vector,
) -> Vec<(Origin, Version)> {
    let is_own = |origin: Origin| origin != now && address_of(origin) == address_of(now);
    let told: Vector = told.filter(|(origin, _)| is_own(*origin)).collect();
    let is_news = |(origin, version): &(Origin, Version)| *version > have.get(*origin);
    told.iter().filter(is_news).collect()
}

/// Up to where what `writer` wrote is inherited with what was copied from all these sources: as far as
/// each of those names it that `knows` of it. One that shares nothing with the writer has nothing of
/// it, so it limits nothing. Of one that is to become a member again, or is none any more, each source
/// can tell: what the writer's log still has of that time may have been deleted since.
fn inherited_of(
    writer: ShardAddress,
    ends: impl Iterator<Item = (ShardAddress, Version)>,
    knows: impl Fn(ShardAddress) -> bool,
) -> Option<Version> {
    let told = ends.filter(|(source, _)| *source == writer || knows(*source));
    told.map(|(_, end)| end).min()
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
