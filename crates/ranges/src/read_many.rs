//! Values of keys of any ranges, in the order of the keys.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::Failure;
use futures_util::StreamExt;
use futures_util::stream::iter;

use crate::body::{Found, Place};
use crate::budget::Budget;
use crate::client::Client;
use crate::keyspaces::{Finder, Keyspaces, Where};
use crate::one_shot::RANGES_AT_ONCE;

/// Positions of keys among those of a request.
pub(crate) type Positions = Vec<usize>;

/// The positions of keys by range.
///
/// # Errors
/// When the keyspace of one is not among these.
pub(crate) fn positions(
    keyspaces: &Keyspaces,
    places: &[Place],
) -> Result<BTreeMap<Where, Positions>, Failure> {
    let (mut finder, mut ranges) = (Finder::new(keyspaces), BTreeMap::<_, Positions>::new());
    for (position, place) in places.iter().enumerate() {
        let range = ranges.entry(finder.find(place)?);
        range.or_default().push(position);
    }
    Ok(ranges)
}

/// The keys at these positions.
pub(crate) fn keys_at(places: &[Place], positions: &[usize]) -> Vec<Bytes> {
    let places = positions
        .iter()
        .filter_map(|position| places.get(*position));
    places.map(|place| place.key.clone()).collect()
}

/// Sets values at their positions; there may be fewer of them.
pub(crate) fn set_at(all: &mut [Found], positions: &[usize], values: Vec<Found>) {
    for (position, value) in positions.iter().zip(values) {
        if let Some(at_position) = all.get_mut(*position) {
            *at_position = value;
        }
    }
}

/// Reads the keys at these positions, ranges side by side, and sets their values.
///
/// # Errors
/// When a range cannot be read, or there is too much of it.
pub(crate) async fn read_many(
    (client, budget): (&Client, &Budget),
    keyspaces: &Keyspaces,
    (places, ranges): (&[Place], BTreeMap<Where, Positions>),
    at: Version,
    all: &mut [Found],
) -> Result<(), Failure> {
    let asked = ranges.into_iter().filter_map(|((_, index), positions)| {
        let first = places.get(*positions.first()?)?;
        let keyspace = keyspaces.get(&*first.keyspace)?;
        Some(async move {
            let keys = keys_at(places, &positions);
            let read = client.read_keys(keyspace, index, Some(at), keys, Some(budget));
            read.await.map(|values| (positions, values))
        })
    });
    let mut asked: Vec<_> = asked.collect();
    // Most have one range, which needs no queue of its own.
    if asked.len() == 1
        && let Some(one) = asked.pop()
    {
        let (positions, values) = one.await?;
        set_at(all, &positions, values);
        return Ok(());
    }
    let mut reads = iter(asked).buffered(RANGES_AT_ONCE);
    while let Some(read) = reads.next().await {
        let (positions, values) = read?;
        set_at(all, &positions, values);
    }
    Ok(())
}

#[cfg(test)]
#[path = "read_many_tests.rs"]
mod tests;
