use dunlin_entry::Version;

use super::{Standing, Way, way};

#[test]
fn a_load_is_taken_in_its_turn_by_who_forgets_nothing_above_it() {
    let usual = Standing {
        have: Version(5),
        is_sound: true,
        is_at_rest: true,
        forgotten: Version(3),
        age_ms: 100,
        remembers_ms: 5_000,
    };
    let cases = [
        ("the usual", usual, 9, 5, Way::Files),
        (
            "while members change",
            Standing {
                is_at_rest: false,
                ..usual
            },
            9,
            5,
            Way::Log,
        ),
        ("one before it is missing", usual, 9, 7, Way::Refuse),
        (
            "it is here",
            Standing {
                have: Version(9),
                ..usual
            },
            9,
            5,
            Way::Refuse,
        ),
        (
            "a stamp that is not above the last",
            usual,
            5,
            5,
            Way::Refuse,
        ),
        (
            "an uncertain past",
            Standing {
                is_sound: false,
                ..usual
            },
            9,
            5,
            Way::Refuse,
        ),
        (
            "a delete above it is forgotten",
            Standing {
                forgotten: Version(9),
                ..usual
            },
            9,
            5,
            Way::Refuse,
        ),
        (
            "a delete below it is",
            Standing {
                forgotten: Version(8),
                ..usual
            },
            9,
            5,
            Way::Files,
        ),
        (
            "one above it may be soon",
            Standing {
                age_ms: 3_000,
                ..usual
            },
            9,
            5,
            Way::Refuse,
        ),
        (
            "a clock far ahead",
            Standing {
                age_ms: u64::MAX,
                ..usual
            },
            9,
            5,
            Way::Refuse,
        ),
        (
            "all are kept for long",
            Standing {
                age_ms: 3_000,
                remembers_ms: 86_400_000,
                ..usual
            },
            9,
            5,
            Way::Files,
        ),
    ];
    for (what, standing, stamp, after, expected) in cases {
        assert_eq!(
            way(Version(stamp), Version(after), &standing),
            expected,
            "{what}"
        );
    }
}
