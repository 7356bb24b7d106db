//! When all is whole and at rest, every node gives the same answer, however it is asked.

use super::Broken;
use super::key::KeyHistory;
use crate::plan::Plan;

/// Checks the final reads of a key.
///
/// # Errors
/// The first that differs from another.
pub fn equal(plan: &Plan, key: &KeyHistory) -> Result<(), Broken> {
    let mut last = key.reads.iter().filter(|read| read.last);
    let Some(first) = last.next() else {
        return Ok(());
    };
    let other = last.find(|read| read.seen != first.seen);
    let Some(other) = other else {
        return Ok(());
    };
    let keyspace = plan
        .keyspaces
        .get(key.place.0)
        .map_or("?", |(name, _)| name);
    Err(Broken {
        text: format!(
            "after all was whole again, keyspace {keyspace}, key {}: n{} with ack={} from={} saw {:?}, n{} with ack={} from={} saw {:?}",
            key.place.1,
            first.host + 1,
            first.ack,
            first.from,
            first.seen,
            other.host + 1,
            other.ack,
            other.from,
            other.seen
        ),
        place: Some(key.place),
        at: None,
    })
}
