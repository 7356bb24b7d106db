//! Numbers that are added to values. Pure.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::body::{Body, Found, Place};

/// The longest text of a number.
const DIGITS_MAX: usize = 20;

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
        let before = value.map_or(Ok(0), |(_, value)| number(value));
        let before = before.map_err(|why| (*index, why))?;
        let sum = before.checked_add(*add);
        let sum =
            sum.ok_or_else(|| (*index, format!("{before} and {add} are more than 64 bits")))?;
        Ok((write.place.clone(), sum))
    };
    body.adds.iter().map(sum).collect()
}

fn number(value: &Bytes) -> Result<i64, String> {
    let text = value.get(..DIGITS_MAX).unwrap_or(value);
    let text = String::from_utf8_lossy(text);
    let is_whole = value.len() <= DIGITS_MAX;
    let number = text.parse().ok().filter(|_| is_whole);
    number.ok_or_else(|| {
        format!("its value begins with {text:?}, which is no decimal number of 64 bits")
    })
}

#[cfg(test)]
#[path = "sum_tests.rs"]
mod tests;
