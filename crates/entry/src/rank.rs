//! Rank: what decides between two records of a key. Pure, so that replicas cannot but agree.
//!
//! The greater stamp wins. A clock far ahead may have left a stamp that no honest one will reach in
//! years: a record may therefore *replace* a stamp, and then stands just above it while its own
//! stamp is of now (decision 24). Both travel with the record, so which of two wins depends on
//! nothing else: neither on the time, nor on the order in which they come.

use crate::{Origin, Stamp, Version};

/// The stamp a record was written over although its own is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Replaces {
    /// What it stands above.
    pub stamp: Stamp,
    /// It only repeats what stood under that stamp: whatever else replaces the same is newer.
    pub is_mend: bool,
}

/// A record's place among those of its key; the greater wins. Equal ranks are one record.
///
/// The order is that of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// The greater of the record's stamp and the one it replaces.
    height: Stamp,
    /// Least without one: what replaces a stamp is above the record that has it.
    replaced: Stamp,
    is_no_mend: bool,
    stamp: Stamp,
    /// It ends the value that has all the rest the same.
    is_expiry: bool,
}

/// What a write must carry to stand above a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// A greater version than this.
    Later(Version),
    /// This, and a greater version than the one beside it.
    Replacing(Replaces, Version),
    /// Nothing will do before a mend has repeated the record with this.
    Mended(Replaces),
}

impl Rank {
    /// Of a record with this stamp that replaces that.
    #[inline]
    pub fn new(stamp: Stamp, replaces: Option<Replaces>) -> Self {
        let replaced = replaces.map_or(Stamp::default(), |replaces| replaces.stamp);
        Self {
            height: stamp.max(replaced),
            replaced,
            is_no_mend: !replaces.is_some_and(|replaces| replaces.is_mend),
            stamp,
            is_expiry: false,
        }
    }

    /// The same as that of the delete that ends a value when its time is over, if it is one: just
    /// above that value, and below everything that is above it.
    #[inline]
    pub fn with_expiry(self, is_expiry: bool) -> Self {
        Self { is_expiry, ..self }
    }

    /// The record's own stamp.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// What the record replaces.
    #[inline]
    pub fn replaces(&self) -> Option<Replaces> {
        (self.replaced != Stamp::default()).then_some(Replaces {
            stamp: self.replaced,
            is_mend: !self.is_no_mend,
        })
    }

    /// What has a greater version than this wins, whatever it replaces.
    #[inline]
    pub fn height(&self) -> Version {
        self.height.version
    }

    /// As text that compares, byte by byte, as the rank does: the stamp, and more only where it replaces one, or
    /// ends a value.
    pub fn to_text(&self) -> String {
        let mut text = self.height.to_string();
        if let Some(replaces) = self.replaces() {
            let is_no_mend = u8::from(self.is_no_mend);
            text = format!("{text}2{}{is_no_mend}{}", replaces.stamp, self.stamp);
        }
        if self.is_expiry {
            text.push('1');
        }
        text
    }

    /// What a write must carry to stand above this, where no stamp may be above `limit`.
    pub fn above(&self, limit: Version) -> Above {
        let is_replacing = self.height == self.replaced && self.stamp < self.height;
        if self.height.version <= limit {
            return Above::Later(self.height.version);
        }
        let replaces = |stamp, is_mend| Replaces { stamp, is_mend };
        if is_replacing && self.stamp.version <= limit {
            return Above::Replacing(replaces(self.replaced, false), self.stamp.version);
        }
        Above::Mended(if is_replacing {
            // A clock was far ahead for a second time: a mend loses to what replaces the same.
            replaces(next(self.height), true)
        } else {
            replaces(self.height, true)
        })
    }
}

/// The least stamp above another, where there is one.
fn next(stamp: Stamp) -> Stamp {
    if let Some(origin) = stamp.origin.0.checked_add(1) {
        return Stamp::new(stamp.version, Origin(origin));
    }
    match stamp.version.0.checked_add(1) {
        Some(version) => Stamp::new(Version(version), Origin(0)),
        None => stamp,
    }
}

impl From<Stamp> for Rank {
    #[inline]
    fn from(stamp: Stamp) -> Self {
        Self::new(stamp, None)
    }
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
