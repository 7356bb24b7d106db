//! Pairs that travel together, as `docs/formats.md` section 8 says.

use bytes::Bytes;

use crate::error::ClientError;

/// The content type of a body of pairs.
pub(crate) const CONTENT_TYPE: &str = "application/vnd.dunlin.pairs";

/// Bytes of the lengths before key and value.
pub(crate) const HEAD_BYTES: usize = 8;
/// Bytes of the checksum behind the last pair.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Pairs being gathered for one request.
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

    /// Adds a pair; gives it as it is encoded. Fails with [`ClientError::Invalid`] for an empty
    /// key, and for lengths that the format has no room for.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<&[u8], ClientError> {
        if key.is_empty() {
            return Err(ClientError::Invalid(
                "a key has at least one byte".to_owned(),
            ));
        }
        let length = |bytes: &[u8]| {
            u32::try_from(bytes.len())
                .map(u32::to_le_bytes)
                .map_err(|_| ClientError::Invalid("keys and values end at 4 GiB".to_owned()))
        };
        let (key_length, value_length) = (length(key)?, length(value)?);
        let begin = self.encoded.len();
        // With room for the checksum, so that a large body never moves.
        let room = HEAD_BYTES + key.len() + value.len() + CHECKSUM_BYTES;
        self.encoded.reserve(room);
        self.encoded.extend_from_slice(&key_length);
        self.encoded.extend_from_slice(&value_length);
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

/// Lengths of the key and the value of the pair that `encoded` begins with, when that much of it
/// is there.
pub(crate) fn lengths(encoded: &[u8]) -> Option<(usize, usize)> {
    let [k0, k1, k2, k3, v0, v1, v2, v3] = *encoded.first_chunk::<HEAD_BYTES>()?;
    let key_bytes = u32::from_le_bytes([k0, k1, k2, k3]) as usize;
    Some((key_bytes, u32::from_le_bytes([v0, v1, v2, v3]) as usize))
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
