//! The row of an item's stock: what orders change, and behind it what never changes.

use bytes::Bytes;

use crate::rows::Quantity;

/// What never changes of a stock, where its row has it.
type Rest<'a> = &'a [u8];

/// A row.
pub fn stock(quantity: &Quantity, rest: Rest<'_>) -> Bytes {
    // Numbers do not refuse to be written.
    let quantity = postcard::to_allocvec(quantity).unwrap_or_default();
    [&quantity, rest].concat().into()
}

/// What a row says; none where it cannot be read.
pub fn split(row: &[u8]) -> Option<(Quantity, Rest<'_>)> {
    postcard::take_from_bytes(row).ok()
}

/// S_DIST of a district.
pub fn district_info(rest: Rest<'_>, district: u8) -> Option<String> {
    let (districts, _data): (Vec<&str>, &str) = postcard::from_bytes(rest).ok()?;
    let number = usize::from(district).checked_sub(1)?;
    districts.get(number).map(|info| (*info).to_owned())
}

#[cfg(test)]
#[path = "stock_tests.rs"]
mod tests;
