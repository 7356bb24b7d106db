//! Position: where in whose log an entry stands first.

use crate::{Origin, Stamp, Version};

/// A place among the entries of one origin: who has seen it has seen all of that origin's before.
///
/// The sequence is what the origin's clock said when it logged the entry, so it only grows, and an
/// entry that is stamped where it is logged has its stamp for a position (decision 36).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Who logged it first.
    pub origin: Origin,
    /// When, by that one's clock.
    pub sequence: Version,
}

impl Position {
    /// Pairs an origin with a reading of its clock.
    #[inline]
    pub const fn new(origin: Origin, sequence: Version) -> Self {
        Self { origin, sequence }
    }
}

impl Position {
    /// Of an entry with this place, or, without one, with this version and origin.
    #[inline]
    pub fn of(made: Stamp, logged: Option<&Position>) -> Self {
        logged.copied().unwrap_or_else(|| made.into())
    }
}

impl From<Stamp> for Position {
    /// Of an entry that was stamped where it was logged.
    #[inline]
    fn from(stamp: Stamp) -> Self {
        Self::new(stamp.origin, stamp.version)
    }
}
