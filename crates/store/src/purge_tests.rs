#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Stamp, Version};

use super::*;

const GRACE: Option<Duration> = Some(Duration::from_millis(100));

fn record(made_ms: u64, tombstone: bool, expiry_ms: Option<u64>) -> Record<'static> {
    Record {
        stamp: Stamp::new(Version::new(made_ms, 0), Origin(1)),
        from: 3,
        tombstone,
        expiry_ms,
        replaces: None,
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
fn a_value_is_due_after_expiry_and_grace() {
    assert!(!is_due(&record(1000, false, Some(2000)), GRACE, 2100));
    assert!(is_due(&record(1000, false, Some(2000)), GRACE, 2101));
    // Born expired: its version counts.
    assert!(!is_due(&record(1000, false, Some(1)), GRACE, 1100));
    assert!(is_due(&record(1000, false, Some(1)), GRACE, 1101));
}

#[test]
fn a_lasting_value_is_never_due() {
    assert!(!is_due(&record(0, false, None), GRACE, u64::MAX));
}
