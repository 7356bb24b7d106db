//! Keys that many transactions want: each waits for its turn before its first attempt. Pure.

use std::collections::BTreeMap;

use bytes::Bytes;

/// A key stays hot for so long after a transaction has waited for it, in milliseconds.
const HOT_MS: u64 = 1_000;
/// Keys at a shard.
const KEYS_MAX: usize = 1_024;

/// Hot keys by range, and until when they are hot.
#[derive(Debug, Default)]
pub(crate) struct Hot(BTreeMap<(u64, Bytes), u64>);

impl Hot {
    /// A transaction conflicted on a key, or has waited for its turn.
    pub fn add(&mut self, range: u64, key: &Bytes, now_ms: u64) {
        if self.0.len() >= KEYS_MAX {
            self.0.retain(|_, until_ms| *until_ms > now_ms);
        }
        if self.0.len() < KEYS_MAX {
            // A copy: the key may be a part of something large.
            let key = Bytes::copy_from_slice(key);
            self.0.insert((range, key), now_ms + HOT_MS);
        }
    }

    /// The first of these that is hot.
    pub fn find<'a>(
        &mut self,
        mut keys: impl Iterator<Item = (u64, &'a Bytes)>,
        now_ms: u64,
    ) -> Option<(u64, Bytes)> {
        if self.0.is_empty() {
            return None;
        }
        keys.find_map(|(range, key)| {
            let place = (range, key.clone());
            let until_ms = *self.0.get(&place)?;
            if until_ms > now_ms {
                return Some(place);
            }
            self.0.remove(&place);
            None
        })
    }
}

#[cfg(test)]
#[path = "hot_tests.rs"]
mod tests;
