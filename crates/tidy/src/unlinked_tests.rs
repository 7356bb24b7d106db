use super::*;
use crate::fixture::measured;

#[test]
fn a_file_in_no_mod_is_found() {
    let files = [
        ("crates/new/src/lib.rs", "mod a;"),
        ("crates/new/src/a.rs", ""),
        ("crates/new/src/b.rs", "mod a;"),
    ];
    assert_eq!(
        measured(measure, &files),
        ["unlinked crates/new/src/b.rs 1"]
    );
}

#[test]
fn every_way_to_name_a_file_is_known() {
    let files = [
        (
            "crates/new/Cargo.toml",
            "[[test]]\nname = \"odd\"\npath = \"odd/place.rs\"\n",
        ),
        ("crates/new/odd/place.rs", ""),
        ("crates/new/build.rs", ""),
        (
            "crates/new/src/main.rs",
            "mod a; #[cfg(test)] #[path = \"main_tests.rs\"] mod tests;",
        ),
        ("crates/new/src/main_tests.rs", "mod below;"),
        ("crates/new/src/below.rs", ""),
        ("crates/new/src/a/mod.rs", "mod b; mod inline { mod c; }"),
        ("crates/new/src/a/b.rs", "mod d;"),
        ("crates/new/src/a/b/d.rs", ""),
        ("crates/new/src/a/inline/c.rs", ""),
        ("crates/new/examples/e.rs", ""),
        (
            "crates/new/tests/one.rs",
            "#[path = \"../common/help.rs\"] mod help;",
        ),
        ("crates/new/common/help.rs", ""),
        (
            "crates/new/tests/suite/main.rs",
            "#[path = \"../shared/mod.rs\"] mod shared; mod x;",
        ),
        ("crates/new/tests/shared/mod.rs", ""),
        ("crates/new/tests/suite/x.rs", ""),
    ];
    assert_eq!(measured(measure, &files), [""; 0]);
}
