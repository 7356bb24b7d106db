//! A body of pairs, as `docs/formats.md` section 8 says.

use bytes::{Buf, Bytes};

use crate::limits::KEY_BYTES;

/// The content type of such a body.
pub(super) const CONTENT_TYPE: &str = "application/vnd.dunlin.pairs";
/// Bytes of a body besides its pairs.
const CHECKSUM_BYTES: usize = 4;
/// Bytes of a pair besides key and value.
const HEAD_BYTES: usize = 8;
/// Bytes of a body besides the value of its only pair.
pub(super) const EXTRA_BYTES: usize = HEAD_BYTES + KEY_BYTES + CHECKSUM_BYTES;

/// Pairs of a body that is known to be well formed. They share the body's memory.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    rest: Bytes,
    /// How many there are.
    pub pairs: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

impl Pairs {
    /// Checks all of a body, or says what is wrong with it.
    pub fn check(body: Bytes) -> Result<Pairs, String> {
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
                head(rest).ok_or_else(|| format!("the body ends within pair {number}"))?;
            if key_bytes == 0 || key_bytes > KEY_BYTES {
                return Err(format!(
                    "a key has 1 to {KEY_BYTES} bytes, that of pair {number} {key_bytes}"
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
        Ok(Pairs {
            rest: body.slice(..encoded.len()),
            pairs,
            bytes,
        })
    }
}

impl Iterator for Pairs {
    type Item = (Bytes, Bytes);

    fn next(&mut self) -> Option<(Bytes, Bytes)> {
        let (key_bytes, value_bytes) = head(&self.rest)?;
        self.rest.advance(HEAD_BYTES);
        let key = self.rest.split_to(key_bytes);
        Some((key, self.rest.split_to(value_bytes)))
    }
}

/// What stands before a key and a value of these lengths. No record is longer than they can say.
pub(super) fn lengths(key_bytes: usize, value_bytes: usize) -> [u8; HEAD_BYTES] {
    let lengths = (value_bytes as u64) << 32 | u64::from(key_bytes as u32);
    lengths.to_le_bytes()
}

/// Lengths of the key and the value of the first pair.
fn head(encoded: &[u8]) -> Option<(usize, usize)> {
    let [k0, k1, k2, k3, v0, v1, v2, v3] = *encoded.first_chunk::<HEAD_BYTES>()?;
    let key_bytes = u32::from_le_bytes([k0, k1, k2, k3]) as usize;
    Some((key_bytes, u32::from_le_bytes([v0, v1, v2, v3]) as usize))
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
