//! Dropping what other replicas hold.

use crate::common::*;
use dunlin_entry::Entry;

#[test]
fn a_partition_is_thinned_by_rank() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries: Vec<Entry> = (0..2_000u32)
        .map(|n| Entry {
            from: (n % 4 + 1) as u8,
            ..put(&format!("{n:05}"), "v", stamp(u64::from(n) + 1, 1))
        })
        .collect();
    store.apply(&entries, 1).unwrap();
    // Read once, so that they are among the rows read lately.
    assert!((0..2_000).all(|n| text(&store, &format!("{n:05}")).is_some()));
    let before = store.memtable_bytes();
    let (mut start, mut steps, mut bytes) = (Some(Vec::new()), 0, 0);
    while let Some(from) = start {
        let thinned = store.thin_partition(KEYSPACE, 0, 2, &from).unwrap();
        (start, steps, bytes) = (thinned.next, steps + 1, bytes + thinned.bytes);
    }
    assert!(steps > 2, "writers wait for all of it at once");
    assert!(bytes > 2_000 * 6, "{bytes}");
    // A delete takes about a hundred bytes, and writers wait while they are made: one each.
    let grown = store.memtable_bytes() - before;
    assert!(grown < 2_000 * 500, "{grown} bytes of deletes");
    for n in 0..2_000u32 {
        let held = text(&store, &format!("{n:05}")).is_some();
        assert_eq!(held, n % 4 + 1 > 2, "{n}");
    }
}

#[test]
fn how_far_it_was_swept_is_remembered_with_the_next_flush() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert_eq!(store.swept().unwrap(), 0);
    store.note_swept(7).unwrap();
    assert_eq!(store.swept().unwrap(), 7);
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.swept().unwrap(), 0, "as a crash leaves it");
    store.note_swept(8).unwrap();
    flush(&store);
    drop(store);
    assert_eq!(open(dir.path()).swept().unwrap(), 8);
}
