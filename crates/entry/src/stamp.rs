//! Stamp: what decides between two entries for one key.

use std::fmt;
use std::str::FromStr;

use crate::{Origin, Version};

/// Version and origin of an entry. The order is version first, then origin; the greater wins.
///
/// Written as `%016x-%016x`, which also sorts as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// When the change was made.
    pub version: Version,
    /// Who made it; breaks ties.
    pub origin: Origin,
}

impl Stamp {
    /// Pairs a version with its origin.
    #[inline]
    pub const fn new(version: Version, origin: Origin) -> Self {
        Self { version, origin }
    }

    /// Bytes of [`Stamp::to_text`].
    pub const TEXT_BYTES: usize = 33;

    /// As it is written, in ASCII. Every answer has it, and a formatter takes ten times as long.
    pub fn to_text(self) -> [u8; Self::TEXT_BYTES] {
        let mut text = [b'-'; Self::TEXT_BYTES];
        let (version, origin) = text.split_at_mut(17);
        for (word, digits) in [(self.version.0, version), (self.origin.0, origin)] {
            for (at, digit) in digits.iter_mut().take(16).enumerate() {
                let nibble = (word >> (60 - 4 * at)) as usize & 15;
                *digit = b"0123456789abcdef"[nibble];
            }
        }
        text
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.to_text()).unwrap_or_default())
    }
}

/// The text is not a stamp; show the user the expected form, which the message names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stamp is 16 hexadecimal digits, a hyphen, 16 hexadecimal digits")]
pub struct ParseStampError;

impl FromStr for Stamp {
    type Err = ParseStampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (version, origin) = text.split_once('-').ok_or(ParseStampError)?;
        Ok(Self::new(Version(word(version)?), Origin(word(origin)?)))
    }
}

fn word(digits: &str) -> Result<u64, ParseStampError> {
    // `from_str_radix` alone would take a sign.
    if digits.len() != 16 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(ParseStampError);
    }
    u64::from_str_radix(digits, 16).map_err(|_| ParseStampError)
}

#[cfg(test)]
#[path = "stamp_tests.rs"]
mod tests;
