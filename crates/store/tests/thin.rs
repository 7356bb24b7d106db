//! Dropping what a replica of some rank no longer holds.
#![allow(clippy::unwrap_used, clippy::expect_used)]
mod common;

use std::ops::Bound;

use common::*;
use dunlin_store::Entry;

/// More than are looked at in one step.
const RECORDS: u64 = 2_000;

#[test]
fn each_record_that_ranks_too_low_goes_by_one_delete() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries: Vec<Entry> = (0..RECORDS)
        .map(|number| Entry {
            from: if number % 10 == 0 { 3 } else { 1 },
            ..put(&format!("{number:06}"), "v", stamp(5 + number, 1))
        })
        .collect();
    store.apply(&entries, RECORDS).unwrap();
    flush(&store);
    let before = store.memtable_bytes();
    store.thin_partition(KEYSPACE, 0, 1).unwrap();
    let none = Bound::Unbounded;
    let page = store.scan_page(KEYSPACE, 0, none, none, 9_999, 1 << 20, None);
    let page = page.unwrap();
    assert_eq!(page.items.len() as u64, RECORDS / 10);
    assert!(page.items.iter().all(|(_, record)| record.from == 3));
    // Deletes take about a hundred bytes; writers wait while they are made.
    let grown = store.memtable_bytes() - before;
    assert!(grown < RECORDS * 500, "{grown} bytes of deletes");
}
