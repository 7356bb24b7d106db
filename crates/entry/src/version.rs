//! Version: a hybrid logical clock reading in 64 bits.

use std::fmt;

/// A hybrid logical clock reading: 48 bits of milliseconds since 1970, then a 16 bit counter.
///
/// Versions order like their numbers. Zero means "nothing yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// The greatest millisecond a version can hold (the year 10889).
    pub const MAX_MILLIS: u64 = (1 << 48) - 1;

    /// Builds a version from milliseconds since 1970 and a counter. Later times than
    /// [`Version::MAX_MILLIS`] are held at it, so a mad clock cannot wrap round to the past.
    #[inline]
    pub const fn new(ms: u64, counter: u16) -> Self {
        let ms = if ms > Self::MAX_MILLIS {
            Self::MAX_MILLIS
        } else {
            ms
        };
        Self(ms << 16 | counter as u64)
    }

    /// The greatest there is; as a deadline it means "none".
    pub const MAX: Self = Self(u64::MAX);

    /// So many milliseconds later, at most the greatest there is.
    #[inline]
    pub const fn plus_ms(self, ms: u64) -> Self {
        if ms > Self::MAX_MILLIS {
            return Self::MAX;
        }
        Self(self.0.saturating_add(ms << 16))
    }

    /// Milliseconds since 1970.
    #[inline]
    pub const fn millis(self) -> u64 {
        self.0 >> 16
    }

    /// The counter that orders versions of one millisecond.
    #[inline]
    pub const fn counter(self) -> u16 {
        (self.0 & 0xffff) as u16
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
