#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use dunlin_entry::{Origin, Stamp, Version};

use super::*;

fn versioned(version: u64, value: &[u8]) -> Versioned {
    Versioned {
        stamp: Stamp::new(Version(version), Origin(1)),
        from: 3,
        tombstone: false,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        logged: None,
        value: Bytes::copy_from_slice(value),
    }
}

#[test]
fn a_row_is_kept_for_its_store_alone() {
    let cache = Arc::new(row_cache(1 << 20));
    let (one, two) = (Rows::new(cache.clone(), 1), Rows::new(cache.clone(), 2));
    one.keep(7, b"key", one.note(7), &versioned(1, b"one"));
    assert_eq!(one.get(7, b"key"), Some(versioned(1, b"one")));
    assert_eq!(two.get(7, b"key"), None);
    assert_eq!(one.get(7, b"other with that hash"), None);
    two.keep(7, b"key", two.note(7), &versioned(2, b"two"));
    one.forget_range(b"kez", b"z");
    one.forget_range(b"a", b"key");
    assert_eq!(one.get(7, b"key"), Some(versioned(1, b"one")));
    one.forget_range(b"key", b"kez");
    assert_eq!(one.get(7, b"key"), None);
    assert_eq!(two.get(7, b"key"), Some(versioned(2, b"two")));
    drop(two);
    assert_eq!(cache.len(), 0);
}

#[test]
fn what_was_read_before_a_write_is_not_kept_after_it() {
    let rows = Rows::new(Arc::new(row_cache(1 << 20)), 1);
    let noted = rows.note(7);
    rows.forget(7);
    rows.keep(7, b"key", noted, &versioned(1, b"old"));
    assert_eq!(rows.get(7, b"key"), None);
    let noted = rows.note(7);
    rows.forget_range(b"a", b"z");
    rows.keep(7, b"key", noted, &versioned(1, b"old"));
    assert_eq!(rows.get(7, b"key"), None);
    rows.keep(7, b"key", rows.note(7), &versioned(2, b"new"));
    assert_eq!(rows.get(7, b"key"), Some(versioned(2, b"new")));
}

#[test]
fn the_cache_holds_no_more_than_it_was_given() {
    let cache = Arc::new(row_cache(1 << 20));
    let rows = Rows::new(cache.clone(), 1);
    for number in 0..100_000u64 {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        rows.keep(
            hash,
            &number.to_le_bytes(),
            rows.note(hash),
            &versioned(1, &[0; 100]),
        );
    }
    assert!(cache.weight() <= 1 << 20, "{}", cache.weight());
    assert!(cache.len() > 1000, "{}", cache.len());
    let large = versioned(1, &[0; ROW_BYTES_MAX]);
    rows.keep(1, b"large", rows.note(1), &large);
    assert_eq!(rows.get(1, b"large"), None);
}

#[test]
fn no_bytes_hold_no_rows() {
    let rows = Rows::new(Arc::new(row_cache(0)), 1);
    rows.keep(7, b"key", rows.note(7), &versioned(1, b"one"));
    assert_eq!(rows.get(7, b"key"), None);
}
