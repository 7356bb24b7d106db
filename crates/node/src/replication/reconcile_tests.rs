#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Stamp, Version};

use super::Verdict::{Forget, Keep, Take};
use super::*;

const ALL: Word = Word {
    is_whole: true,
    has_seen: true,
    is_meant: true,
};

fn at(version: u64) -> Option<Rank> {
    Some(Stamp::new(Version(version), Origin(1)).into())
}

#[test]
fn only_who_must_know_says_that_something_was_deleted() {
    let cases = [
        ("nothing anywhere", None, None, ALL, Keep),
        ("only there", None, at(1), ALL, Take),
        (
            "only there, whoever says so",
            None,
            at(1),
            Word {
                is_whole: false,
                ..ALL
            },
            Take,
        ),
        ("newer there", at(1), at(2), ALL, Take),
        ("newer here", at(2), at(1), ALL, Keep),
        ("the same", at(1), at(1), ALL, Keep),
        ("deleted and forgotten", at(1), None, ALL, Forget),
        (
            "of uncertain past itself",
            at(1),
            None,
            Word {
                is_whole: false,
                ..ALL
            },
            Keep,
        ),
        (
            "it never came there",
            at(1),
            None,
            Word {
                has_seen: false,
                ..ALL
            },
            Keep,
        ),
        (
            "it was never meant for it",
            at(1),
            None,
            Word {
                is_meant: false,
                ..ALL
            },
            Keep,
        ),
    ];
    for (what, ours, theirs, word, expected) in cases {
        assert_eq!(reconcile(ours, theirs, word), expected, "{what}");
    }
}
