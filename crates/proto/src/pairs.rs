//! Pairs of key and value that travel together over HTTP, as `docs/formats.md` sections 8 and 9 say.

use bytes::{Buf, BufMut, Bytes};

/// The content type of a body of pairs.
pub const CONTENT_TYPE: &str = "application/vnd.dunlin.pairs";

/// Bytes of the lengths before key and value.
pub const HEAD_BYTES: usize = 8;
/// Bytes of the time behind the lengths, where a value has an end.
pub const EXPIRY_BYTES: usize = 8;
/// This bit of a key's length says that the value has an end.
const EXPIRES: u32 = 1 << 31;
/// Bytes of the checksum behind the last pair.
pub const CHECKSUM_BYTES: usize = 4;

/// Why a pair cannot travel: correct it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// A key has at least one byte.
    #[error("a key has at least one byte")]
    EmptyKey,
    /// The format has no room for such a length.
    #[error("keys end at 2 GiB, values at 4 GiB")]
    TooLong,
}

/// Pairs being gathered for one body.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    encoded: Vec<u8>,
    pairs: u64,
    expiring: u64,
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
            ..Pairs::default()
        }
    }

    /// Adds a pair; gives it as it is encoded. Fails for an empty key, and for lengths that the
    /// format has no room for.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<&[u8], PairError> {
        self.push_until(key, value, None)
    }

    /// Adds a pair whose value has an end, in milliseconds since 1970; as `push` where it has none.
    pub fn push_until(
        &mut self,
        key: &[u8],
        value: &[u8],
        expires_ms: Option<u64>,
    ) -> Result<&[u8], PairError> {
        if key.is_empty() {
            return Err(PairError::EmptyKey);
        }
        if key.len() >= EXPIRES as usize || u32::try_from(value.len()).is_err() {
            return Err(PairError::TooLong);
        }
        let begin = self.encoded.len();
        // With room for the checksum, so that a large body never moves.
        let room = HEAD_BYTES + EXPIRY_BYTES + key.len() + value.len() + CHECKSUM_BYTES;
        self.encoded.reserve(room);
        put_head(&mut self.encoded, key.len(), value.len(), expires_ms);
        self.expiring += u64::from(expires_ms.is_some());
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
        let heads = self.pairs * HEAD_BYTES as u64 + self.expiring * EXPIRY_BYTES as u64;
        let bytes = self.encoded.len() as u64 - heads;
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

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The key, never empty.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
    /// When the value is gone, in milliseconds since 1970; `None` where it stays.
    pub expires_ms: Option<u64>,
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
            let head =
                Head::read(rest).ok_or_else(|| format!("the body ends within pair {number}"))?;
            let (key_bytes, value_bytes) = (head.key_bytes, head.value_bytes);
            if key_bytes == 0 || key_bytes > key_bytes_max {
                return Err(format!(
                    "a key has 1 to {key_bytes_max} bytes, that of pair {number} {key_bytes}"
                ));
            }
            rest = rest
                .get(head.bytes()..)
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
    type Item = Pair;

    #[inline]
    fn next(&mut self) -> Option<Pair> {
        let head = Head::read(&self.rest)?;
        self.rest.advance(HEAD_BYTES);
        let expires_ms = head.is_expiring.then(|| self.rest.get_u64_le());
        let key = self.rest.split_to(head.key_bytes);
        Some(Pair {
            key,
            value: self.rest.split_to(head.value_bytes),
            expires_ms,
        })
    }
}

/// Appends the head of a key and a value of these lengths. No record is longer than they can say.
#[inline]
pub fn put_head(
    out: &mut impl BufMut,
    key_bytes: usize,
    value_bytes: usize,
    expires_ms: Option<u64>,
) {
    let flag = if expires_ms.is_some() { EXPIRES } else { 0 };
    out.put_u32_le(key_bytes as u32 | flag);
    out.put_u32_le(value_bytes as u32);
    if let Some(expires_ms) = expires_ms {
        out.put_u64_le(expires_ms);
    }
}

/// The lengths that a pair begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Of its key.
    pub key_bytes: usize,
    /// Of its value.
    pub value_bytes: usize,
    /// Whether the time at which the value is gone comes next, before the key.
    pub is_expiring: bool,
}

impl Head {
    /// The head that `encoded` begins with, when all of it is there; the time behind it may not be.
    #[inline]
    pub fn read(encoded: &[u8]) -> Option<Head> {
        let [k0, k1, k2, k3, v0, v1, v2, v3] = *encoded.first_chunk::<HEAD_BYTES>()?;
        let key = u32::from_le_bytes([k0, k1, k2, k3]);
        Some(Head {
            key_bytes: (key & !EXPIRES) as usize,
            value_bytes: u32::from_le_bytes([v0, v1, v2, v3]) as usize,
            is_expiring: key & EXPIRES != 0,
        })
    }

    /// Bytes before the key.
    #[inline]
    pub fn bytes(self) -> usize {
        HEAD_BYTES + if self.is_expiring { EXPIRY_BYTES } else { 0 }
    }
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
