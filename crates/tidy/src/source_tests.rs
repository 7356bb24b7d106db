#![allow(clippy::unwrap_used)]
use super::*;

fn parse(text: &str) -> Source {
    Source::parse("a.rs", text)
}

fn at(text: &str, line: usize) -> (String, usize) {
    (text.to_owned(), line)
}

#[test]
fn comments_of_all_kinds_have_their_lines() {
    let source = parse(
        "//! Crate.\n// Plain.\n/// Item.\nfn f() {\n    let a = 1; // Behind.\n    /* Block\n     * of two. */\n}\n// End.\n",
    );
    let comments = [
        ("Crate.", 1),
        ("Plain.", 2),
        ("Item.", 3),
        ("Behind.", 5),
        ("Block", 6),
        ("of two. */", 7),
        ("End.", 9),
    ];
    assert_eq!(source.comments, comments.map(|(text, line)| at(text, line)));
}

#[test]
fn strings_are_no_comments_and_comments_no_strings() {
    let source = parse("fn f() { g(\"// no comment\", 'x', 1, r#\"raw\"#) } // no \"string\"\n");
    assert_eq!(
        source.strings,
        [at("\"// no comment\"", 1), at("r#\"raw\"#", 1)]
    );
    assert_eq!(source.comments, [at("no \"string\"", 1)]);
}

#[test]
fn text_that_is_not_ascii_keeps_its_lines() {
    let source = parse("// ä€𝄞\nconst A: &str = \"ö\"; // ü\n");
    assert_eq!(source.comments, [at("ä€𝄞", 1), at("ü", 2)]);
    assert_eq!(source.strings, [at("\"ö\"", 2)]);
}

#[test]
fn strings_in_macros_and_attributes_count() {
    let source = parse("#[error(\"bad\")]\nstruct E;\nfn f() { panic!(\"worse\") }\n");
    assert_eq!(source.strings, [at("\"bad\"", 1), at("\"worse\"", 3)]);
}

#[test]
fn a_file_that_does_not_parse_has_comments_and_a_problem() {
    let source = parse("fn a() {}\n//! Inner.\n");
    assert_eq!(source.comments, [at("Inner.", 2)]);
    assert_eq!(source.problem.unwrap().1, 2);
    assert_eq!(parse("fn a() {}\nfn b() {\n").problem.unwrap().1, 2);
}
