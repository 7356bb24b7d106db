//! Which replica may be made at a place, which others it hears, and whether it stays. Pure.

use std::cmp::Ordering;

use dunlin_proto::ShardAddress;

use crate::descriptor::Descriptor;

/// What a shard holds of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// Nothing; replicas below this number may not be made here.
    Nothing { least: u64 },
    /// A replica that has nothing of the range yet.
    Prepared { id: u64, directory: u64 },
    /// A replica that never speaks again: it has lost a promise.
    Silent { id: u64 },
    /// A replica that speaks, or will.
    Speaks { id: u64, directory: u64 },
}

/// What becomes of an offer to make a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// It is made.
    Make,
    /// It was made before, with this directory number.
    Made(u64),
    /// The replica here goes, and it is made.
    Replace,
    /// It is not made.
    Refuse,
}

/// Decides about an offer to make a replica of this number.
pub(crate) fn offer(id: u64, held: Held) -> Offer {
    match held {
        Held::Nothing { least } if id >= least => Offer::Make,
        Held::Prepared {
            id: here,
            directory,
        } if here == id => Offer::Made(directory),
        Held::Prepared { id: here, .. } if here < id => Offer::Replace,
        // Also under the same number, where it was not made to its end: its directory number will be another.
        Held::Silent { id: here } if here <= id => Offer::Replace,
        _ => Offer::Refuse,
    }
}

/// Whether a replica of this number, of this directory, is here. If not, it has lost its data, or was removed: it will
/// never be here again.
pub(crate) fn is_here(id: u64, directory: u64, held: Held) -> bool {
    match held {
        Held::Nothing { .. } | Held::Silent { .. } => false,
        Held::Prepared {
            id: here,
            directory: of,
        }
        | Held::Speaks {
            id: here,
            directory: of,
        } => (here, of) == (id, directory),
    }
}

/// Whether a message is heard: of a replica that is known, or of one that is newer than the descriptor here. One that was
/// removed is not heard.
pub(crate) fn hears(id: u64, directory: u64, descriptor: Option<&Descriptor>) -> bool {
    let Some(descriptor) = descriptor else {
        return true;
    };
    match descriptor.member(id) {
        Some(member) => member.directory == directory,
        None => id >= descriptor.next,
    }
}

/// The least number of a replica that may be made where one went. One that never knew its range may have a number that the
/// log has not used: its leader ended before. The number alone is used again, with another directory number.
pub(crate) fn least_after(id: u64, has_descriptor: bool) -> u64 {
    id + u64::from(has_descriptor)
}

/// What a replica knows of its own place in its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnPlace {
    pub id: u64,
    pub at: ShardAddress,
    /// The configuration that it goes by, or that it was prepared for.
    pub config: u64,
    /// Whether that names it; so it does one that was prepared.
    pub is_named: bool,
}

/// Whether a replica stays, by the published configuration, with its number, and its own. One that has applied its removal
/// stays until that is published: the others may need its vote until they know of it.
pub(crate) fn stays(
    own: OwnPlace,
    published: u64,
    mut replicas: impl Iterator<Item = (u64, ShardAddress)>,
) -> bool {
    match published.cmp(&own.config) {
        Ordering::Less => true,
        Ordering::Equal => own.is_named,
        Ordering::Greater => replicas.any(|replica| replica == (own.id, own.at)),
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
