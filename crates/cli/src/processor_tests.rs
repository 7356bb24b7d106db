use super::*;

#[test]
fn the_first_that_is_missing_is_named() {
    assert_eq!(first_missing(&[]), None);
    assert_eq!(first_missing(&[("A", true), ("B", true)]), None);
    assert_eq!(
        first_missing(&[("A", true), ("B", false), ("C", false)]),
        Some("B")
    );
}

#[test]
fn a_machine_that_runs_the_tests_has_all() {
    assert_eq!(lacks(), None);
}
