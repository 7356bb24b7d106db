//! Values that do not compress and name their key, so that a wrong answer shows.

use super::key::KEY_LENGTH;

const POOL_LENGTH: usize = 64 * 1024;

/// Values of one size, derived from their key's number.
#[derive(Debug, Clone)]
pub struct Values {
    length: usize,
    pool: Vec<u8>,
}

impl Values {
    /// Values of `length` bytes.
    pub fn new(length: usize) -> Values {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let pool = (0..POOL_LENGTH + length)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        Values { length, pool }
    }

    /// Bytes in each value.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Appends the value of a key.
    pub fn append(&self, key: &[u8; KEY_LENGTH], number: u64, out: &mut Vec<u8>) {
        let (head, tail) = self.parts(key, number);
        out.extend_from_slice(head);
        out.extend_from_slice(tail);
    }

    /// Whether `value` is exactly the value of the key.
    pub fn matches(&self, key: &[u8; KEY_LENGTH], number: u64, value: &[u8]) -> bool {
        let (head, tail) = self.parts(key, number);
        value.len() == self.length && value.starts_with(head) && value.ends_with(tail)
    }

    fn parts<'a>(&'a self, key: &'a [u8; KEY_LENGTH], number: u64) -> (&'a [u8], &'a [u8]) {
        let head = self.length.min(KEY_LENGTH);
        let offset = (number.wrapping_mul(97) % POOL_LENGTH as u64) as usize;
        (
            &key[..head],
            &self.pool[offset..offset + self.length - head],
        )
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
