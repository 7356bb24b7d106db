//! Sub-ranges of a column family of about equal bytes, from the metadata of its tables.

use std::collections::BTreeSet;

use crate::plan::{Key, Range};

/// Bytes of a key behind the common prefix that are looked at in one step.
const DIGITS: usize = 16;
/// How many such steps are taken into a key.
const STEPS_MAX: usize = 4;

/// A table's keys and bytes.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    pub size_bytes: u64,
}

/// Splits a column family into ranges of about `range_bytes`, which cover every key there can be.
/// `size_between` tells about how many bytes lie between two keys.
pub(crate) fn split(
    column_family: &str,
    tables: &[Table],
    range_bytes: u64,
    size_between: impl Fn(&[u8], &[u8]) -> u64,
) -> Vec<Range> {
    let range_bytes = range_bytes.max(1);
    // Between two neighbouring ends of tables nothing is known but how many bytes there are.
    let mut cuts: Vec<(Vec<u8>, u64)> = Vec::new();
    for (start, end, size_bytes) in stretches(tables) {
        let refined = if size_bytes > range_bytes.saturating_mul(2) {
            halve(&start, &end, size_bytes, range_bytes, &size_between)
        } else {
            Vec::new()
        };
        let parts = refined.len() as u64 + 1;
        cuts.push((start, size_bytes / parts));
        cuts.extend(refined.into_iter().map(|key| (key, size_bytes / parts)));
    }
    let mut ranges = Vec::new();
    let mut start: Option<Key> = None;
    let mut gathered = 0;
    for (key, size_bytes) in cuts {
        if gathered >= range_bytes && start.as_ref().is_none_or(|start| start.0 < key) {
            ranges.push(Range {
                column_family: column_family.to_owned(),
                start: start.take(),
                end: Some(Key(key.clone())),
                size_bytes: gathered,
            });
            start = Some(Key(key));
            gathered = 0;
        }
        gathered += size_bytes;
    }
    ranges.push(Range {
        column_family: column_family.to_owned(),
        start,
        end: None,
        size_bytes: gathered,
    });
    ranges
}

/// The stretches between neighbouring ends of tables, in order, each with its share of the bytes
/// of the tables that reach over it.
fn stretches(tables: &[Table]) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
    let ends: BTreeSet<&[u8]> = tables
        .iter()
        .flat_map(|table| [&*table.smallest, &*table.largest])
        .collect();
    let ends: Vec<&[u8]> = ends.into_iter().collect();
    // Differences, summed up below: a table adds its share where it begins, takes it away behind.
    let mut shares = vec![0f64; ends.len() + 1];
    for table in tables {
        let (Ok(first), Ok(last)) = (
            ends.binary_search(&&*table.smallest),
            ends.binary_search(&&*table.largest),
        ) else {
            continue;
        };
        let behind = last.max(first + 1);
        let share = table.size_bytes as f64 / (behind - first) as f64;
        shares[first] += share;
        shares[behind] -= share;
    }
    let mut share = 0.0;
    let mut stretches = Vec::new();
    for (at, start) in ends.iter().enumerate() {
        share += shares[at];
        let end = ends.get(at + 1).unwrap_or(start);
        stretches.push((start.to_vec(), end.to_vec(), share.max(0.0) as u64));
    }
    stretches
}

/// Keys that cut a stretch into parts of about `range_bytes`, in order.
fn halve(
    start: &[u8],
    end: &[u8],
    size_bytes: u64,
    range_bytes: u64,
    size_between: &impl Fn(&[u8], &[u8]) -> u64,
) -> Vec<Vec<u8>> {
    let parts = size_bytes.div_ceil(range_bytes);
    let whole = size_between(start, end);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for part in 1..parts {
        let wanted = (whole as u128 * part as u128 / parts as u128) as u64;
        let from = keys.last().map_or(start, |key| key);
        if size_between(start, from) >= wanted {
            // The last cut lies behind something large, which fills this part too.
            continue;
        }
        let key = key_at(start, from, end, wanted, size_between);
        if key.as_slice() > from && key.as_slice() < end {
            keys.push(key);
        }
    }
    keys
}

/// A key with about `wanted` bytes between `start` and itself, found by halving `from` to `end`.
fn key_at(
    start: &[u8],
    from: &[u8],
    end: &[u8],
    wanted: u64,
    size_between: &impl Fn(&[u8], &[u8]) -> u64,
) -> Vec<u8> {
    let common = from.iter().zip(end).take_while(|(a, b)| a == b).count();
    let mut prefix = from[..common].to_vec();
    let (mut low, mut high) = (number(&from[common..]), number(&end[common..]));
    for _ in 0..STEPS_MAX {
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if size_between(start, &key(&prefix, middle)) < wanted {
                low = middle
            } else {
                high = middle
            }
        }
        let above = size_between(start, &key(&prefix, high));
        if above <= wanted.saturating_add(wanted / 8) {
            break;
        }
        // Many keys begin with these digits: look at the next ones.
        prefix.extend_from_slice(&low.to_be_bytes());
        (low, high) = (0, u128::MAX);
    }
    key(&prefix, high)
}

/// The first bytes of a key as a number that sorts as the key does.
fn number(key: &[u8]) -> u128 {
    let mut digits = [0; DIGITS];
    let have = key.len().min(DIGITS);
    digits[..have].copy_from_slice(&key[..have]);
    u128::from_be_bytes(digits)
}

/// The shortest key that stands for a number.
fn key(prefix: &[u8], number: u128) -> Vec<u8> {
    let digits = number.to_be_bytes();
    let used = DIGITS - (number.trailing_zeros() as usize / 8).min(DIGITS);
    [prefix, &digits[..used]].concat()
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
