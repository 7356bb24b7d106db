#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Stamp, Version};

use super::*;

const GRACE: Option<Duration> = Some(Duration::from_millis(100));

fn record(made_ms: u64, tombstone: bool, expiry_ms: Option<u64>) -> Record<'static> {
    Record {
        stamp: Stamp::new(Version::new(made_ms, 0), Origin(1)),
        from: 3,
        tombstone,
        is_expiry: tombstone && expiry_ms.is_some(),
        expiry_ms,
        replaces: None,
        logged: None,
        value: b"",
    }
}

#[test]
fn a_tombstone_is_due_after_its_grace_and_not_before() {
    let tombstone = record(1000, true, None);
    assert!(!is_due(&tombstone, GRACE, 0));
    assert!(!is_due(&tombstone, GRACE, 1100));
    assert!(is_due(&tombstone, GRACE, 1101));
    assert!(!is_due(&tombstone, None, u64::MAX));
}

#[test]
fn the_delete_of_an_expired_value_is_due_after_expiry_and_grace() {
    assert!(!is_due(&record(1000, true, Some(2000)), GRACE, 2100));
    assert!(is_due(&record(1000, true, Some(2000)), GRACE, 2101));
    // Born expired: its version counts.
    assert!(!is_due(&record(1000, true, Some(1)), GRACE, 1100));
    assert!(is_due(&record(1000, true, Some(1)), GRACE, 1101));
}

#[test]
fn a_value_is_never_due_before_a_delete_has_ended_it() {
    assert!(!is_due(&record(0, false, None), GRACE, u64::MAX));
    assert!(!is_due(&record(0, false, Some(1)), GRACE, u64::MAX));
}
