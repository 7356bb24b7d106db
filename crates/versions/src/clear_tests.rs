#![allow(clippy::unwrap_used)]
use super::*;
use crate::page::PageBounds;
use crate::worn::PASSED_MIN;
use crate::{Page, Tier};
use dunlin_store::{CacheSizes, SharedResources};

const PLACE: u32 = 3;
/// More than a read passes by before it notes them.
const JOBS: usize = PASSED_MIN + 10;

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let sizes = CacheSizes {
        block_bytes: 1 << 20,
        row_bytes: 1 << 16,
    };
    let resources = SharedResources::new(sizes, 1).unwrap();
    let store = Store::open(&directory.path().join("store"), &resources, true).unwrap();
    (directory, store)
}

fn write(store: &Store, key: &str, ms: u64, value: &[u8]) {
    let row = key::of_version(PLACE, key.as_bytes(), Version::new(ms, 0));
    store.db.put_opt(row, value, &write_options()).unwrap();
}

fn put(store: &Store, key: &str, ms: u64) {
    write(store, key, ms, &[1, 7]);
}

fn delete(store: &Store, key: &str, ms: u64) {
    write(store, key, ms, &[0]);
}

fn first(store: &Store, at_ms: u64) -> Page {
    let bounds = PageBounds {
        bytes: 1 << 20,
        count: 1,
        tier: Tier::Disk,
    };
    let at = Version::new(at_ms, 0);
    store.page(PLACE, at, (b"", None), bounds).unwrap().unwrap()
}

fn rows(store: &Store) -> usize {
    let mut rows = store.db.raw_iterator_opt(in_order());
    rows.seek(key::of_place(PLACE));
    let mut count = 0;
    while rows.valid() {
        count += 1;
        rows.next();
    }
    count
}

fn keep_from(store: &Store, ms: u64) {
    store.keep_from_ms(BTreeMap::from([(PLACE, ms)]));
}

/// Jobs that were put at 10 and deleted at 20, and one that is there.
fn queue(store: &Store) {
    for number in 0..JOBS {
        let key = format!("job{number:06}");
        put(store, &key, 10);
        delete(store, &key, 20);
    }
    put(store, "job999999", 15);
}

#[test]
fn deletes_that_a_read_has_passed_by_go_when_nobody_reads_below_them() {
    let (_directory, store) = store();
    queue(&store);
    keep_from(&store, 15);
    assert_eq!(first(&store, 30).items.len(), 1);
    assert!(!store.is_worn(), "they are read still");
    assert_eq!(store.clear_worn().unwrap(), 0);
    keep_from(&store, 25);
    assert!(store.is_worn());
    assert_eq!(store.clear_worn().unwrap(), 2 * JOBS);
    assert_eq!(rows(&store), 1);
    assert!(!store.is_worn());
    assert_eq!(first(&store, 30).items[0].0, "job999999");
}

#[test]
fn keys_that_are_there_again_or_were_deleted_later_stay() {
    let (_directory, store) = store();
    queue(&store);
    put(&store, "job000001", 22);
    delete(&store, "job000002", 40);
    put(&store, "job000003", 50);
    keep_from(&store, 30);
    drop(first(&store, 60));
    first(&store, 45);
    assert_eq!(store.clear_worn().unwrap(), 2 * (JOBS - 3));
    // What a read at 35 sees is as it was.
    assert_eq!(first(&store, 35).items[0].0, "job000001");
    // Of each of the three the newest version, and the last job.
    assert_eq!(rows(&store), 3 + 1);
}

#[test]
fn reads_that_pass_by_little_note_nothing() {
    let (_directory, store) = store();
    for number in 0..100 {
        delete(&store, &format!("job{number:06}"), 20);
    }
    keep_from(&store, 1_000);
    first(&store, 2_000);
    assert!(!store.is_worn());
}
