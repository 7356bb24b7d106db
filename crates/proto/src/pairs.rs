//! Pairs of key and value that travel together over HTTP, as `docs/formats.md` sections 8 and 9 say.

use bytes::{Buf, Bytes};

/// The content type of a body of pairs.
pub const CONTENT_TYPE: &str = "application/vnd.dunlin.pairs";

/// Bytes of the lengths before key and value.
pub const HEAD_BYTES: usize = 8;
/// Bytes of the checksum behind the last pair.
pub const CHECKSUM_BYTES: usize = 4;

/// Why a pair cannot travel: correct it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// A key has at least one byte.
    #[error("a key has at least one byte")]
    EmptyKey,
    /// The format has no room for such a length.
    #[error("keys and values end at 4 GiB")]
    TooLong,
}

/// Pairs being gathered for one body.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    encoded: Vec<u8>,
    pairs: u64,
}

/// Pairs that are ready to be sent, as often as need be. Clones share their bytes.
#[derive(Debug, Clone)]
pub struct PairsBody {
    body: Bytes,
    pairs: u64,
    bytes: u64,
}

impl Pairs {
    /// None yet, with room for `bytes` of keys and values and what goes with them.
    pub fn with_capacity(bytes: usize) -> Pairs {
        Pairs {
            encoded: Vec::with_capacity(bytes),
            pairs: 0,
        }
    }

    /// Adds a pair; gives it as it is encoded. Fails for an empty key, and for lengths that the
    /// format has no room for.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<&[u8], PairError> {
        if key.is_empty() {
            return Err(PairError::EmptyKey);
        }
        let is_long = |bytes: &[u8]| u32::try_from(bytes.len()).is_err();
        if is_long(key) || is_long(value) {
            return Err(PairError::TooLong);
        }
        let begin = self.encoded.len();
        // With room for the checksum, so that a large body never moves.
        let room = HEAD_BYTES + key.len() + value.len() + CHECKSUM_BYTES;
        self.encoded.reserve(room);
        self.encoded
            .extend_from_slice(&head(key.len(), value.len()));
        self.encoded.extend_from_slice(key);
        self.encoded.extend_from_slice(value);
        self.pairs += 1;
        Ok(&self.encoded[begin..])
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.pairs
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// Bytes of the pairs as they are encoded.
    pub fn encoded_bytes(&self) -> usize {
        self.encoded.len()
    }

    /// No more pairs: adds the checksum.
    pub fn seal(mut self) -> PairsBody {
        let bytes = (self.encoded.len() - self.pairs as usize * HEAD_BYTES) as u64;
        let checksum: [u8; CHECKSUM_BYTES] = crc32c::crc32c(&self.encoded).to_le_bytes();
        self.encoded.extend_from_slice(&checksum);
        PairsBody {
            body: self.encoded.into(),
            pairs: self.pairs,
            bytes,
        }
    }
}

impl PairsBody {
    /// How many pairs.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Bytes of keys and values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The pairs as they are encoded, without the checksum.
    pub fn encoded(&self) -> &[u8] {
        let end = self.body.len().saturating_sub(CHECKSUM_BYTES);
        &self.body[..end]
    }

    /// The body as it is sent.
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

/// Pairs of a body that is known to be well formed. They share the body's memory.
#[derive(Debug, Clone)]
pub struct CheckedPairs {
    rest: Bytes,
    /// How many there are.
    pub pairs: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

impl CheckedPairs {
    /// Checks all of a body, whose keys have so many bytes at most, or says what is wrong with it.
    pub fn check(body: Bytes, key_bytes_max: usize) -> Result<CheckedPairs, String> {
        let (encoded, checksum) = body
            .split_last_chunk::<CHECKSUM_BYTES>()
            .ok_or("the body is too short for a checksum")?;
        if crc32c::crc32c(encoded) != u32::from_le_bytes(*checksum) {
            return Err("the pairs do not have the checksum that the body ends with".to_owned());
        }
        let (mut pairs, mut bytes) = (0u64, 0);
        let mut rest = encoded;
        while !rest.is_empty() {
            let number = pairs + 1;
            let (key_bytes, value_bytes) =
                lengths(rest).ok_or_else(|| format!("the body ends within pair {number}"))?;
            if key_bytes == 0 || key_bytes > key_bytes_max {
                return Err(format!(
                    "a key has 1 to {key_bytes_max} bytes, that of pair {number} {key_bytes}"
                ));
            }
            rest = rest
                .get(HEAD_BYTES..)
                .and_then(|rest| rest.get(key_bytes..))
                .and_then(|rest| rest.get(value_bytes..))
                .ok_or_else(|| format!("the body ends within pair {number}"))?;
            bytes += (key_bytes + value_bytes) as u64;
            pairs = number;
        }
        Ok(CheckedPairs {
            rest: body.slice(..encoded.len()),
            pairs,
            bytes,
        })
    }
}

impl Iterator for CheckedPairs {
    type Item = (Bytes, Bytes);

    #[inline]
    fn next(&mut self) -> Option<(Bytes, Bytes)> {
        let (key_bytes, value_bytes) = lengths(&self.rest)?;
        self.rest.advance(HEAD_BYTES);
        let key = self.rest.split_to(key_bytes);
        Some((key, self.rest.split_to(value_bytes)))
    }
}

/// What stands before a key and a value of these lengths. No record is longer than they can say.
#[inline]
pub fn head(key_bytes: usize, value_bytes: usize) -> [u8; HEAD_BYTES] {
    let lengths = (value_bytes as u64) << 32 | u64::from(key_bytes as u32);
    lengths.to_le_bytes()
}

/// Lengths of the key and the value of the pair that `encoded` begins with, when that much of it
/// is there.
#[inline]
pub fn lengths(encoded: &[u8]) -> Option<(usize, usize)> {
    let [k0, k1, k2, k3, v0, v1, v2, v3] = *encoded.first_chunk::<HEAD_BYTES>()?;
    let key_bytes = u32::from_le_bytes([k0, k1, k2, k3]) as usize;
    Some((key_bytes, u32::from_le_bytes([v0, v1, v2, v3]) as usize))
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
