//! log check and repair: a whole log, a damaged one, and one in use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod support;

use support::run;

#[test]
fn a_directory_of_no_log_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for verb in ["check", "repair"] {
        assert_eq!(
            run(&["log", verb, path]).complaint(3),
            format!("no log in {path}")
        );
    }
    assert!(
        run(&["log", "check", "/nonexistent"])
            .complaint(1)
            .starts_with("/nonexistent: ")
    );
}
