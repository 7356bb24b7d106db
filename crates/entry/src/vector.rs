//! Vector: how far each origin's entries have been seen.

use bytes::{BufMut, Bytes, BytesMut};

use crate::entry_view::{u32_at, u64_at};
use crate::{DecodeError, Origin, Version};

const PAIR_BYTES: usize = 16;

/// Origin -> last version seen: the resume token of a stream. Holds few origins (one for each
/// start of each shard that still matters), so a sorted list beats a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vector {
    /// Ascending by origin, each origin once, no zero versions.
    seen: Vec<(Origin, Version)>,
}

impl Vector {
    /// A vector that has seen nothing.
    #[inline]
    pub const fn new() -> Self {
        Self { seen: Vec::new() }
    }

    /// The last version seen of `origin`; zero when none was.
    #[inline]
    pub fn get(&self, origin: Origin) -> Version {
        match self.find(origin) {
            Ok(at) => self.seen[at].1,
            Err(_) => Version(0),
        }
    }

    /// Notes that everything of `origin` up to `version` has been seen. Never goes back.
    /// Answers whether this was news.
    pub fn advance(&mut self, origin: Origin, version: Version) -> bool {
        if version == Version(0) {
            return false;
        }
        match self.find(origin) {
            Ok(at) if self.seen[at].1 >= version => false,
            Ok(at) => {
                self.seen[at].1 = version;
                true
            }
            Err(at) => {
                self.seen.insert(at, (origin, version));
                true
            }
        }
    }

    /// Takes the greater of each origin's versions.
    pub fn merge(&mut self, other: &Vector) {
        for (origin, version) in other.iter() {
            self.advance(origin, version);
        }
    }

    /// Whether everything `other` has seen has been seen here too.
    pub fn covers(&self, other: &Vector) -> bool {
        other
            .iter()
            .all(|(origin, version)| self.get(origin) >= version)
    }

    /// Forgets an origin; answers what had been seen of it, zero when nothing.
    pub fn remove(&mut self, origin: Origin) -> Version {
        match self.find(origin) {
            Ok(at) => self.seen.remove(at).1,
            Err(_) => Version(0),
        }
    }

    /// Every origin with its last version, by ascending origin.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Origin, Version)> + '_ {
        self.seen.iter().copied()
    }

    /// How many origins have been seen.
    #[inline]
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nothing has been seen.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The value of a [`crate::Kind::Vector`] entry: `count u32`, then `origin u64 | version u64`
    /// each.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(4 + self.seen.len() * PAIR_BYTES);
        out.put_u32_le(self.seen.len() as u32);
        for (origin, version) in self.iter() {
            out.put_u64_le(origin.0);
            out.put_u64_le(version.0);
        }
        out.freeze()
    }

    /// Reads what [`Vector::encode`] wrote. Order does not matter, and of an origin that comes
    /// twice the greater version counts.
    ///
    /// # Errors
    /// [`DecodeError`] when the length does not fit the count.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let short = |need| DecodeError::Short {
            what: "a vector",
            need,
            have: bytes.len(),
        };
        if bytes.len() < 4 {
            return Err(short(4));
        }
        let need = (u32_at(bytes, 0) as usize)
            .saturating_mul(PAIR_BYTES)
            .saturating_add(4);
        if bytes.len() < need {
            return Err(short(need));
        }
        if bytes.len() > need {
            return Err(DecodeError::Trailing {
                what: "a vector",
                extra: bytes.len() - need,
            });
        }
        Ok(bytes[4..]
            .chunks_exact(PAIR_BYTES)
            .map(|pair| (Origin(u64_at(pair, 0)), Version(u64_at(pair, 8))))
            .collect())
    }

    #[inline]
    fn find(&self, origin: Origin) -> Result<usize, usize> {
        self.seen.binary_search_by_key(&origin, |pair| pair.0)
    }
}

impl FromIterator<(Origin, Version)> for Vector {
    fn from_iter<I: IntoIterator<Item = (Origin, Version)>>(pairs: I) -> Self {
        let mut seen: Vec<_> = pairs
            .into_iter()
            .filter(|pair| pair.1 != Version(0))
            .collect();
        // Greatest version of an origin first, so that dropping repeats keeps it.
        seen.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        seen.dedup_by_key(|pair| pair.0);
        Self { seen }
    }
}

#[cfg(test)]
#[path = "vector_tests.rs"]
mod tests;
