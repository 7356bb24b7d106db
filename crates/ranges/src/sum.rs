//! Numbers that are added to values. Pure.

use std::collections::BTreeMap;

use crate::body::{Body, Found, Place};

/// A value to which nothing can be added: the index of the write, and why.
pub(crate) type NoSum = (usize, String);

/// The sums of a transaction, from the values that its keys have; no value counts as 0.
///
/// # Errors
/// Where a value is no number, or a sum has more than 64 bits.
pub(crate) fn sums(
    body: &Body,
    found: &BTreeMap<Place, Found>,
) -> Result<Vec<(Place, i64)>, NoSum> {
    let sum = |(index, add): &(usize, i64)| {
        let Some(write) = body.writes.get(*index) else {
            return Err((*index, "it is not there".to_owned()));
        };
        let value = found.get(&write.place).and_then(Option::as_ref);
        let sum = dunlin_txn::sum(value.map(|(_, value)| value), *add);
        let sum = sum.map_err(|why| (*index, why))?;
        Ok((write.place.clone(), sum))
    };
    body.adds.iter().map(sum).collect()
}

#[cfg(test)]
#[path = "sum_tests.rs"]
mod tests;
