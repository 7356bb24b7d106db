//! What a shard of uncertain past still lacks from another that shares partitions with it. Pure.

use dunlin_entry::{Origin, Vector, Version};
use dunlin_proto::ShardAddress;

use super::past::Doubt;
use crate::replication::address_of;

/// Why a refill does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lacks {
    /// It has not been heard since this shard started.
    Word,
    /// Entries that it had then, and that logs may bring.
    Entries,
    /// A look at all that it holds of the shared partitions, whoever wrote it.
    Records,
}

/// A backfill that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Given {
    /// Old entries that logs had brought here when it began.
    pub old_entries: u64,
    /// It came from a replica of certain past, which showed what others have forgotten.
    pub is_compared: bool,
}

/// One of those that are to give.
pub(super) struct Source<'a> {
    pub address: ShardAddress,
    /// Its vector when it was first heard.
    pub target: Option<&'a Vector>,
    /// Its vector as it was heard last.
    pub now: &'a Vector,
    /// Up to where its log, or a backfill from it, has brought what it has of each origin.
    pub pulled: &'a Vector,
    pub given: Option<Given>,
}

/// The shard that is filled.
pub(super) struct Filled<'a> {
    pub address: ShardAddress,
    /// As which it writes now.
    pub origin: Origin,
    pub vector: &'a Vector,
    pub doubt: Doubt,
    /// Old entries that logs have brought so far: what of them was deleted and forgotten elsewhere
    /// only a backfill that begins later shows.
    pub old_entries: u64,
    /// Deliberate bug: only what each writes itself is asked for.
    pub own_only: bool,
}

/// What `filled` lacks from `source`; the first of what there is.
pub(super) fn lacks(
    filled: &Filled<'_>,
    source: &Source<'_>,
    shares: impl Fn(ShardAddress) -> bool,
) -> Option<Lacks> {
    let Some(target) = source.target else {
        return Some(Lacks::Word);
    };
    let mut behind = None;
    for (origin, version) in target.iter().filter(|(origin, _)| *origin != filled.origin) {
        let writer = address_of(origin);
        if writer.is_beside(filled.address) {
            continue;
        }
        let have = filled.vector.get(origin);
        // Of what it covers nobody names what logs would bring; nor is that looked for which a seal has
        // come to cover since.
        let is_covered = origin.is_seal() || is_hidden(source.now, origin);
        if is_covered {
            if have < version && source.given.is_none() {
                behind = behind.or(Some(Lacks::Records));
            }
            continue;
        }
        if writer == source.address || writer == filled.address {
            // Its own word, or that of all together, says that this is all.
            if have < version {
                return Some(Lacks::Entries);
            }
            continue;
        }
        let pulled = source.pulled.get(origin);
        if have.max(pulled) >= version || filled.own_only {
            continue;
        }
        // Logs may bring back what was deleted and forgotten, once its writer is gone.
        if shares(writer) {
            behind = Some(Lacks::Entries)
        } else {
            behind = behind.or(Some(Lacks::Records))
        }
    }
    if filled.own_only {
        return None;
    }
    let must_compare = !filled.doubt.lost_the_end_only() || source.given.is_some();
    if !must_compare {
        return behind;
    }
    let is_given = source
        .given
        .is_some_and(|given| !given.is_compared || given.old_entries == filled.old_entries);
    // Who never took anything has nothing to give.
    (!is_given && !target.is_empty()).then_some(Lacks::Records)
}

/// Whether it stands in `now` no more because a seal covers it. Of what that covers `now` has the greatest
/// version alone, under the last start of all, also where that one wrote nothing.
fn is_hidden(now: &Vector, origin: Origin) -> bool {
    now.is_sealed(origin) && now.starts_of(origin).all(|(start, _)| start != origin)
}

/// What is inherited with what all of these `targets` gave: what those wrote that have left, and that
/// nobody is to be asked for again; and that others have sealed what this shard wrote. Not what the other shards of this node wrote: of that it holds nothing.
pub(super) fn inherited<'a>(
    filled: ShardAddress,
    targets: impl Iterator<Item = &'a Vector>,
    shares: impl Fn(ShardAddress) -> bool,
) -> Vector {
    let has_left = |(origin, _): &(Origin, Version)| {
        let writer = address_of(*origin);
        let is_own_seal = origin.is_seal() && writer == filled;
        is_own_seal || writer.node != filled.node && !shares(writer)
    };
    targets.flat_map(Vector::iter).filter(has_left).collect()
}

#[cfg(test)]
#[path = "lacks_tests.rs"]
mod tests;
