//! Under which conditions the pairs of a request are stored, whichever way they go.

use dunlin_entry::Version;

use super::Quorum;
use crate::shard::Shard;

/// What a request asks for, and until when.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub keyspace: u32,
    pub quorum: Quorum,
    /// They are stamped up to here.
    pub deadline: Version,
    /// And above this.
    pub floor: Version,
    /// How often this event loop had stood still when they came.
    stalls: u64,
}

impl Terms {
    /// Of pairs that have just come.
    pub fn new(
        shard: &Shard,
        keyspace: u32,
        quorum: Quorum,
        deadline: Version,
        floor: Version,
    ) -> Terms {
        Terms {
            keyspace,
            quorum,
            deadline,
            floor,
            stalls: shard.stalls().count(),
        }
    }

    /// The same for what may be there already, stamped up to `floor`.
    pub fn above(self, floor: Version) -> Terms {
        Terms {
            floor: self.floor.max(floor),
            ..self
        }
    }

    /// Whether who sent them may have given up, and written something else since.
    pub fn is_overtaken(&self, shard: &Shard) -> bool {
        self.deadline == Version::MAX && shard.stalls().count() != self.stalls
    }
}
