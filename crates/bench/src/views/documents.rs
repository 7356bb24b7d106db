//! The documents: JSON of 200 bytes.

use super::GROUPS;

/// The view of them.
pub const MAP: &str = "function (doc) { if (doc.group) emit(doc.group, doc.amount) }";
const BYTES: usize = 200;

/// A document.
pub fn document(number: u64) -> String {
    // A step that has no factor in common with their number goes through all groups, and not in order.
    let group = (number * 7_919) % GROUPS;
    let head = format!(
        "{{\"id\":\"doc-{number:09}\",\"group\":\"group-{group:04}\",\"amount\":{},\"note\":\"",
        number % 977
    );
    let filler = "the quick brown fox jumps over the lazy dog ".repeat(5);
    let room = BYTES - head.len() - 2;
    format!("{head}{}\"}}", &filler[..room])
}

/// The key of a group, as a query has it.
pub fn group_of(number: u64) -> String {
    format!("%22group-{:04}%22", (number * 7_919) % GROUPS)
}
