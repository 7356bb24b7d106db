//! A number that is added to a value. Pure.

use bytes::Bytes;

/// The longest text of a number.
const DIGITS_MAX: usize = 20;

/// The sum of a value and a number; no value counts as 0.
///
/// # Errors
/// Why nothing can be added: the value is no decimal number of 64 bits, or the sum has more.
pub fn sum(value: Option<&Bytes>, add: i64) -> Result<i64, String> {
    let before = value.map_or(Ok(0), number)?;
    let sum = before.checked_add(add);
    sum.ok_or_else(|| format!("{before} and {add} are more than 64 bits"))
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
