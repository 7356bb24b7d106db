//! Keys of a request by range, and their values in the order of the keys. Pure.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_node::Failure;

use crate::body::{Found, Place};
use crate::keyspaces::{Finder, Keyspaces, Where};

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

#[cfg(test)]
#[path = "positions_tests.rs"]
mod tests;
