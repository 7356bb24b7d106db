#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn finds_what_is_there() {
    assert!(find("sh").unwrap().ends_with("sh"));
    assert_eq!(find("no-such-program-here"), None);
}

#[test]
fn dunlin_is_expected_in_the_same_directory() {
    let got = beside(Path::new("/x/release/dunlin-bench"), "dunlin");
    assert_eq!(got, Path::new("/x/release/dunlin"));
}
