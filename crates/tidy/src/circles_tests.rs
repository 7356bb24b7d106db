use super::*;
use crate::fixture::house;

/// The files of a crate that lie in circles.
fn circle(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (format!("crates/new/src/{path}"), *text))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    let house = house(&files);
    let mut measures = Measures::default();
    measure(&house, &mut measures);
    let sites = measures.iter().flat_map(|(_, measure)| &measure.sites);
    sites
        .filter_map(|site| Some(site.file.strip_prefix("crates/new/src/")?.to_owned()))
        .collect()
}

#[test]
fn files_that_only_lead_on_are_in_no_circle() {
    let lib = ("lib.rs", "mod a; mod b; pub use a::A;");
    assert_eq!(
        circle(&[
            lib,
            ("a.rs", "use crate::b::B; use std::fmt; pub struct A;"),
            ("b.rs", "")
        ]),
        [""; 0]
    );
}

#[test]
fn two_files_that_import_each_other_are_a_circle() {
    let lib = ("lib.rs", "mod a; mod b; mod c;");
    let a = ("a.rs", "use super::b::{self, B};");
    let b = ("b.rs", "use crate::a::A;");
    assert_eq!(
        circle(&[lib, a, b, ("c.rs", "use crate::{a, b};")]),
        ["a.rs", "b.rs"]
    );
}

#[test]
fn a_circle_goes_through_what_a_module_passes_on() {
    let lib = ("lib.rs", "mod a; mod b; mod c; pub use b::B; pub use c::*;");
    let a = ("a.rs", "use crate::B;");
    assert_eq!(
        circle(&[
            lib,
            a,
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::a::A;")
        ]),
        ["a.rs", "b.rs", "c.rs"]
    );
}

#[test]
fn a_child_that_uses_its_parent_and_is_used_by_it_is_a_circle() {
    let lib = ("lib.rs", "mod a;");
    let a = ("a/mod.rs", "mod inner; use inner::I; pub struct A;");
    assert_eq!(
        circle(&[lib, a, ("a/inner.rs", "use super::A;")]),
        ["a/inner.rs", "a/mod.rs"]
    );
}

#[test]
fn tests_are_no_part_of_circles() {
    let lib = (
        "lib.rs",
        "mod a; mod b; #[cfg(test)] #[path = \"a_tests.rs\"] mod a_tests;",
    );
    let tests = ("a_tests.rs", "use crate::b::B; pub struct T;");
    assert_eq!(
        circle(&[
            lib,
            ("a.rs", ""),
            ("b.rs", "#[cfg(test)] mod t { use crate::a_tests::T; }"),
            tests
        ]),
        [""; 0]
    );
}
