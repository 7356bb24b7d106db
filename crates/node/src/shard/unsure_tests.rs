use dunlin_store::Origin;

use super::*;

#[test]
fn counts_above_what_all_others_know_or_any_clock_can_have_stamped() {
    let at = |ms| Version::new(ms, 0);
    for (newest, doubted_ms, unsure) in [
        (None, None, Version::MAX),
        (Some(at(700)), None, at(700)),
        (None, Some(1_000), at(1_030)),
        (Some(at(700)), Some(1_000), at(700)),
        // A stamp far ahead keeps nothing from counting for long.
        (Some(Version::MAX), Some(1_000), at(1_030)),
        (Some(Version(0)), Some(1_000), Version(0)),
        (None, Some(Version::MAX_MILLIS), Version::MAX),
    ] {
        let got = unsure_to(newest, doubted_ms, 10);
        assert!(
            got == unsure || unsure == Version::MAX && got.millis() >= Version::MAX_MILLIS,
            "{newest:?} {doubted_ms:?}: {got:?}"
        );
    }
}

#[test]
fn what_is_heard_after_all_were_heard_changes_nothing() {
    let vector = |version| {
        let mut vector = Vector::new();
        vector.advance(Origin(1), Version(version));
        vector
    };
    let unsure = Unsure::new(true);
    unsure.hear(&vector(7));
    unsure.hear(&vector(5));
    unsure.all_are_heard();
    unsure.hear(&vector(9));
    assert_eq!(unsure.newest.get(), Version(7));
    unsure.doubt();
    assert!(!unsure.all_heard.get());
    unsure.hear(&vector(2));
    assert_eq!(unsure.newest.get(), Version(2));
}
