use super::*;
use crate::fixture::measured;

#[test]
fn public_types_of_one_name_count_whatever_they_are() {
    let one = (
        "crates/new/src/a.rs",
        "pub struct Same; pub(crate) enum Other {}",
    );
    let two = ("crates/new/src/b.rs", "pub mod inner { pub trait Same {} }");
    assert_eq!(measured(measure, &[one, two]), ["names new Same 2"]);
}

#[test]
fn types_that_one_file_keeps_for_itself_and_those_of_tests_and_other_crates_are_fine() {
    let files = [
        ("crates/new/src/a.rs", "pub struct Same; struct Mine;"),
        (
            "crates/new/src/b.rs",
            "struct Same; struct Mine; pub fn same() {}",
        ),
        ("crates/new/tests/suite/main.rs", "pub struct Same;"),
        ("crates/other/Cargo.toml", ""),
        ("crates/other/src/lib.rs", "pub struct Same;"),
    ];
    assert_eq!(measured(measure, &files), [""; 0]);
}
