//! Where ranges are led, as answers have said. Pure.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_proto::{DirectKey, DirectSpan, ShardAddress};

/// More ranges than this are not remembered.
const RANGES_MAX: usize = 4_096;

/// Leaders of ranges, by the first key.
#[derive(Debug, Default)]
pub(super) struct Leaders(BTreeMap<DirectKey, (Option<Bytes>, ShardAddress)>);

impl Leaders {
    /// A range is led here. Other ranges are forgotten where they overlap: ranges may have been cut since.
    pub fn add(&mut self, span: DirectSpan, at: ShardAddress) {
        if self.0.len() >= RANGES_MAX {
            self.0.clear();
        }
        let DirectSpan {
            keyspace,
            start,
            end,
        } = span;
        let begins_within = |key: &DirectKey| {
            *key.keyspace == *keyspace
                && key.key >= start
                && end.as_ref().is_none_or(|end| key.key < *end)
        };
        self.0.retain(|key, _| !begins_within(key));
        let key = DirectKey {
            keyspace: keyspace.into(),
            key: start,
        };
        if let Some((_, (before, _))) = self.before(&key)
            && before.as_ref().is_none_or(|before| *before > key.key)
        {
            *before = Some(key.key.clone());
        }
        self.0.insert(key, (end, at));
    }

    fn before(
        &mut self,
        key: &DirectKey,
    ) -> Option<(&DirectKey, &mut (Option<Bytes>, ShardAddress))> {
        let found = self.0.range_mut(..key).next_back();
        found.filter(|(first, _)| first.keyspace == key.keyspace)
    }

    /// Where the range of a key is led, if that is known.
    pub fn find(&self, key: &DirectKey) -> Option<ShardAddress> {
        let (first, (end, at)) = self.0.range(..=key).next_back()?;
        let is_in = first.keyspace == key.keyspace && end.as_ref().is_none_or(|end| key.key < *end);
        is_in.then_some(*at)
    }
}

#[cfg(test)]
#[path = "leaders_tests.rs"]
mod tests;
