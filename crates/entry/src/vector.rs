//! Vector: how far each origin's entries have been seen.

use bytes::{BufMut, Bytes, BytesMut};

use crate::entry_view::{u32_at, u64_at};
use crate::{DecodeError, Origin, Version};

const PAIR_BYTES: usize = 16;

/// Origin -> last version seen: the resume token of a stream. Holds few origins (the last start of
/// each shard, and the sealed ones before it as one), so a sorted list beats a tree.
///
/// An origin of incarnation 0 is a *seal*: its version is the number of a start, and everything of
/// the shard's starts up to that one has been seen. Of those starts the vector keeps the greatest
/// version alone, under the last of them, and answers with it for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vector {
    /// Ascending by origin, each origin once, no zero versions, none below a seal.
    seen: Vec<(Origin, Version)>,
}

impl Vector {
    /// A vector that has seen nothing.
    #[inline]
    pub const fn new() -> Self {
        Self { seen: Vec::new() }
    }

    /// The last version seen of `origin`; zero when none was. Of one that is sealed the greatest of
    /// all sealed with it; of a seal the number of the last sealed start.
    #[inline]
    pub fn get(&self, origin: Origin) -> Version {
        match self.find(origin) {
            Ok(at) => self.seen[at].1,
            Err(_) => self.get_sealed(origin),
        }
    }

    #[cold]
    fn get_sealed(&self, origin: Origin) -> Version {
        let sealed = self.sealed_to(origin);
        if origin.incarnation() >= sealed {
            return Version(0);
        }
        let last = self.find(origin.at_start(sealed));
        last.map_or(Version(0), |at| self.seen[at].1)
    }

    /// Up to which start of `origin`'s shard all is sealed; 0 when nothing is.
    pub fn sealed_to(&self, origin: Origin) -> u32 {
        let seal = self.find(origin.seal());
        // A seal beyond all starts is above each.
        seal.map_or(0, |at| u32::try_from(self.seen[at].1.0).unwrap_or(u32::MAX))
    }

    /// Whether everything of this very start is sealed.
    pub fn is_sealed(&self, origin: Origin) -> bool {
        !origin.is_seal() && origin.incarnation() <= self.sealed_to(origin)
    }

    /// Every start of `origin`'s shard that has an entry, ascending; not its seal.
    pub fn starts_of(&self, origin: Origin) -> impl Iterator<Item = (Origin, Version)> + '_ {
        let after = match self.find(origin.seal()) {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        let beyond = self.seen.iter().skip(after).copied();
        beyond.take_while(move |(start, _)| start.seal() == origin.seal())
    }

    /// Every origin that no seal covers, with its last version, by ascending origin.
    pub fn unsealed(&self) -> impl Iterator<Item = (Origin, Version)> + '_ {
        let is_open =
            |(origin, _): &(Origin, Version)| !origin.is_seal() && !self.is_sealed(*origin);
        self.iter().filter(is_open)
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
                if origin.is_seal() {
                    self.fold(origin);
                }
                true
            }
            Err(at) => self.begin(at, origin, version),
        }
    }

    /// Notes what was seen of an origin that has no entry, which would be the one of number `at`.
    fn begin(&mut self, at: usize, origin: Origin, version: Version) -> bool {
        let sealed = self.sealed_to(origin);
        if !origin.is_seal() && origin.incarnation() < sealed {
            return self.advance(origin.at_start(sealed), version);
        }
        self.seen.insert(at, (origin, version));
        if origin.is_seal() {
            self.fold(origin);
        }
        true
    }

    /// Leaves of the starts that a seal covers the greatest version alone.
    fn fold(&mut self, seal: Origin) {
        let sealed = self.sealed_to(seal);
        let is_covered = |origin: Origin| {
            origin.seal() == seal && !origin.is_seal() && origin.incarnation() <= sealed
        };
        let covered = self.iter().filter(|(origin, _)| is_covered(*origin));
        let greatest = covered.map(|(_, version)| version).max();
        self.seen.retain(|(origin, _)| !is_covered(*origin));
        if let (Some(version), Err(at)) = (greatest, self.find(seal.at_start(sealed))) {
            self.seen.insert(at, (seal.at_start(sealed), version));
        }
    }

    /// Takes the greater of each origin's versions.
    pub fn merge(&mut self, other: &Vector) {
        for (origin, version) in other.iter() {
            self.advance(origin, version);
        }
    }

    /// Whether everything `other` has seen has been seen here too, all that it has sealed included.
    pub fn covers(&self, other: &Vector) -> bool {
        other
            .iter()
            .all(|(origin, version)| self.get(origin) >= version)
    }

    /// Every origin with its last version, by ascending origin, each seal before the starts of its shard.
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
        let seals: Vec<Origin> = seen
            .iter()
            .map(|pair| pair.0)
            .filter(|origin| origin.is_seal())
            .collect();
        let mut vector = Self { seen };
        for seal in seals {
            vector.fold(seal);
        }
        vector
    }
}

#[cfg(test)]
#[path = "vector_tests.rs"]
mod tests;
