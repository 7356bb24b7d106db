#![allow(clippy::unwrap_used)]
use super::*;
use crate::measure::Site;

fn measures(counts: &[(&str, usize)]) -> Measures {
    let mut measures = Measures::default();
    for (key, count) in counts {
        for line in 0..*count {
            let site = Site::new(format!("{line}.rs"), line, "told");
            measures.add((*key).to_owned(), site, || "Say `event`.".to_owned());
        }
    }
    measures
}

/// All problems.
fn compare(ceilings: &Ceilings, measures: &Measures) -> Vec<String> {
    let mut problems = ceilings.above(measures, |_| 0);
    problems.extend(ceilings.below(measures));
    problems
}

fn ceilings(text: &str) -> Ceilings {
    Ceilings::parse(text).unwrap()
}

#[test]
fn numbers_that_are_as_the_table_says_are_no_problem() {
    let ceilings = ceilings("# words\nwords a told 2\n\nwords b told 1\n");
    let measures = measures(&[("words a told", 2), ("words b told", 1)]);
    assert_eq!(compare(&ceilings, &measures), Vec::<String>::new());
}

#[test]
fn a_number_above_its_ceiling_says_what_to_do_and_shows_the_newest_file_first() {
    let measures = measures(&[("words a told", 3)]);
    let age = |file: &str| if file == "2.rs" { 0 } else { 1 };
    assert_eq!(
        ceilings("words a told 2\n").above(&measures, age),
        ["words a told: 3, its ceiling is 2. Say `event`.\
          \n    2.rs:2: told\n    0.rs:0: told\n    1.rs:1: told"]
    );
}

#[test]
fn what_is_not_in_the_table_may_not_be() {
    let problems = Ceilings::default().above(&measures(&[("words new told", 1)]), |_| 0);
    assert!(
        problems[0].starts_with("words new told: 1, its ceiling is 0."),
        "{problems:?}"
    );
}

#[test]
fn a_ceiling_that_is_too_high_is_a_problem_until_it_is_lowered() {
    let before = ceilings("words a told 2\nwords gone told 5\n");
    let measures = measures(&[("words a told", 1)]);
    assert_eq!(compare(&before, &measures).len(), 2);
    let after = before.lowered(&measures);
    assert_eq!(after, ceilings("words a told 1\n"));
    assert_eq!(compare(&after, &measures), Vec::<String>::new());
}

#[test]
fn lowering_raises_nothing() {
    let measures = measures(&[("words a told", 9), ("words new told", 1)]);
    let ceilings = ceilings("words a told 2\n");
    assert_eq!(ceilings.lowered(&measures), ceilings);
}

#[test]
fn the_table_is_read_back_as_it_is_written() {
    let text = "# head\nnames a Place 2\nwords a told 1\n";
    assert_eq!(ceilings(text).text("# head\n"), text);
}

#[test]
fn a_line_without_a_number_and_a_key_with_two_are_refused() {
    for text in ["words a told\n", "words a told 0\n", "words a told -1\n"] {
        assert!(
            matches!(
                Ceilings::parse(text),
                Err(CeilingsError::NoNumber { line: 1, .. })
            ),
            "{text}"
        );
    }
    let twice = Ceilings::parse("a 1\na 2\n");
    assert!(
        matches!(twice, Err(CeilingsError::Twice { line: 2, .. })),
        "{twice:?}"
    );
}
