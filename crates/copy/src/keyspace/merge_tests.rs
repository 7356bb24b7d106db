#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn equal_streams_have_equal_tallies_and_no_difference() {
    let mut compared = Compared::default();
    compared.ours(b"a", b"1", Some(b"1"));
    compared.ours(b"b", b"", Some(b""));
    assert_eq!(compared.ours, compared.theirs);
    assert_eq!((compared.ours.pairs, compared.ours.bytes), (2, 3));
    assert_eq!((compared.additional, compared.first), (0, None));
}

#[test]
fn each_difference_shows_in_the_tallies_and_the_first_in_words() {
    type Step = fn(&mut Compared);
    let steps: [(Step, &str); 3] = [
        (|c| c.ours(b"k", b"1", None), "lacks the key k"),
        (
            |c| c.ours(b"k", b"1", Some(b"2")),
            "has another value for the key k",
        ),
        (
            |c| c.only_theirs(b"k", b"1", false),
            "has besides the key k",
        ),
    ];
    for (step, words) in steps {
        let mut compared = Compared::default();
        step(&mut compared);
        compared.ours(b"z\xff", b"", None);
        assert_ne!(compared.ours, compared.theirs, "{words}");
        assert!(compared.first.unwrap().contains(words));
    }
}

#[test]
fn what_only_the_keyspace_has_may_be_allowed() {
    let mut compared = Compared::default();
    compared.ours(b"a", b"1", Some(b"1"));
    compared.only_theirs(b"b", b"2", true);
    assert_eq!(compared.ours, compared.theirs);
    assert_eq!((compared.additional, compared.first), (1, None));
}
