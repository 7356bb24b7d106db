//! Merging sorted streams of records by key, the newest of each. Pure.

use std::collections::VecDeque;

use bytes::Bytes;

use dunlin_proto::Item;

/// One replica's records, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Records not merged yet, in key order.
    pub items: VecDeque<Item>,
    /// No more will come.
    pub ended: bool,
}

/// The next key's newest record; `None` when a stream must be fed first or all have ended.
pub(super) fn next(streams: &mut [&mut Stream]) -> Option<Item> {
    if streams.iter().any(|s| s.items.is_empty() && !s.ended) {
        return None;
    }
    let key: Bytes = streams
        .iter()
        .filter_map(|s| s.items.front())
        .map(|item| &item.key)
        .min()?
        .clone();
    let mut newest: Option<Item> = None;
    for stream in streams {
        if stream.items.front().is_some_and(|item| item.key == key)
            && let Some(item) = stream.items.pop_front()
            && newest.as_ref().is_none_or(|n| n.rank() < item.rank())
        {
            newest = Some(item);
        }
    }
    newest
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
