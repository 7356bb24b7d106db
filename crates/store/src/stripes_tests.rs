#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_stripe_proves_only_what_is_above_all_it_has_seen() {
    let mut stripes = Stripes::new(Version(10));
    assert!(!stripes.proves_newest(1, Version(10)));
    assert!(stripes.proves_newest(1, Version(11)));
    stripes.raise(1, Version(20));
    stripes.raise(1, Version(15));
    assert!(!stripes.proves_newest(1, Version(20)));
    assert!(stripes.proves_newest(1, Version(21)));
    assert!(stripes.proves_newest(2, Version(11)));
    // A key of the same stripe shares the bound.
    assert!(!stripes.proves_newest(1 + STRIPES as u64, Version(20)));
}

#[test]
fn a_stored_bound_is_above_its_version_and_cannot_overflow() {
    for version in [0, 1, BOUND_SLACK, BOUND_SLACK + 1, u64::MAX] {
        assert!(bound_above(Version(version)) >= Version(version));
    }
    assert_eq!(bound_above(Version::new(1024, 3)).millis(), 1024 + 1023);
}
