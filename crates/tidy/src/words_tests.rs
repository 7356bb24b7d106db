use super::*;
use crate::fixture::measured;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    measured(measure, files)
}

fn in_code(text: &str) -> Vec<String> {
    found(&[("crates/new/src/lib.rs", text)])
}

#[test]
fn old_words_count_apart_in_names_comments_and_strings() {
    assert_eq!(
        in_code("//! Who is told.\nfn told() -> &'static str { \"It was told what Told is.\" }\n"),
        [
            "words new comments told 1",
            "words new comments who_is 1",
            "words new identifiers told 1",
            "words new strings told 2",
        ]
    );
}

#[test]
fn names_count_where_they_are_defined() {
    let uses = "fn f(x: Told) { if x.is_told() { g(told); } }";
    assert_eq!(in_code(uses), Vec::<String>::new());
    for definition in [
        "struct HasTold;",
        "enum E { Told }",
        "struct S { is_told: bool }",
        "trait T { fn told(&self); }",
        "impl S { fn tell_told(&self) {} }",
        "fn f(told: u8) {}",
        "fn f() { let told = 1; }",
        "mod told {}",
        "const TOLD_MAX: u8 = 1;",
    ] {
        assert_eq!(
            in_code(definition),
            ["words new identifiers told 1"],
            "{definition}"
        );
    }
}

#[test]
fn a_method_has_the_name_that_its_trait_gives() {
    assert_eq!(
        in_code("impl Watch for S { fn told(&self) {} }"),
        Vec::<String>::new()
    );
}

#[test]
fn types_are_whole_names() {
    assert_eq!(
        in_code("struct Place; struct Placement; fn place() {}"),
        ["words new identifiers Place 1"]
    );
}

#[test]
fn names_in_backticks_braces_and_paths_of_modules_are_no_prose() {
    let text =
        "//! See `told` and [`Told`].\n#[path = \"told.rs\"]\nmod a {}\nfn f() { g(\"{told} x\") }";
    assert_eq!(in_code(text), Vec::<String>::new());
}

#[test]
fn words_of_several_words_are_found_across_anything_but_letters() {
    assert_eq!(
        in_code("// Replicas are  level.\n"),
        ["words new comments is_level 1"]
    );
    assert_eq!(
        in_code("fn let_in() {}"),
        ["words new identifiers let_in 1"]
    );
}

#[test]
fn an_escape_is_no_letter() {
    assert_eq!(
        in_code(r#"const A: &str = "\ntold";"#),
        ["words new strings told 1"]
    );
}

#[test]
fn documents_count_without_their_code() {
    let page = "# Title\nWho is told? `told`\n\n```sh\ntold\n```\n| a |\n|---|\n| told |\n";
    assert_eq!(
        found(&[("docs/a.md", page)]),
        ["words docs prose told 2", "words docs prose who_is 1"]
    );
}

#[test]
fn no_two_terms_have_the_same_key_and_each_says_what_to_use() {
    let mut keys: Vec<_> = TERMS.iter().map(|term| term.old[0]).collect();
    keys.sort_unstable();
    keys.windows(2)
        .for_each(|pair| assert_ne!(pair[0], pair[1]));
    assert!(TERMS.iter().all(|term| !term.new.is_empty()));
}
