#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::mark::Mark;
use super::*;

/// Killed and started again while the machine stayed up.
fn killed() -> Evidence {
    Evidence {
        found: Found::Mark {
            mark: Mark {
                incarnation: 4,
                boot: Some("today".into()),
                ..Mark::default()
            },
            is_original: true,
        },
        boot: Some("today".into()),
        begun: None,
        is_empty: false,
        is_alone: false,
        is_torn: false,
        is_lax: true,
        known_incarnation: 4,
        is_put_back: false,
        last: 10,
        incarnation: 5,
    }
}

fn with_mark(mut evidence: Evidence, change: impl FnOnce(&mut Mark, &mut bool)) -> Evidence {
    if let Found::Mark { mark, is_original } = &mut evidence.found {
        change(mark, is_original);
    }
    evidence
}

/// The machine went down under it.
fn unplugged() -> Evidence {
    Evidence {
        boot: Some("tomorrow".into()),
        ..killed()
    }
}

fn closed(evidence: Evidence) -> Evidence {
    with_mark(evidence, |mark, _| mark.closed_at = Some(10))
}

fn copied(evidence: Evidence) -> Evidence {
    with_mark(evidence, |_, is_original| *is_original = false)
}

fn recovering(evidence: Evidence) -> Evidence {
    with_mark(evidence, |mark, _| mark.recovering = true)
}

#[test]
fn each_end_of_the_life_before_is_told_from_the_others() {
    let torn = |evidence| Evidence {
        is_torn: true,
        ..evidence
    };
    let strict = |evidence| Evidence {
        is_lax: false,
        ..evidence
    };
    let empty = |evidence| Evidence {
        is_empty: true,
        found: Found::None,
        ..evidence
    };
    let alone = |evidence| Evidence {
        is_alone: true,
        ..evidence
    };
    let missed = |evidence| Evidence {
        incarnation: 7,
        ..evidence
    };
    let no_mark = |evidence| Evidence {
        found: Found::None,
        ..evidence
    };
    let begun = |evidence, doubt| Evidence {
        begun: Some(doubt),
        ..evidence
    };
    let later = |evidence| Evidence {
        known_incarnation: 6,
        incarnation: 7,
        ..evidence
    };
    let untold = |evidence: Evidence| {
        with_mark(
            Evidence {
                boot: None,
                ..evidence
            },
            |mark, _| mark.boot = None,
        )
    };
    let cases = [
        ("killed", killed(), None),
        ("killed in the middle of a write", torn(killed()), None),
        ("closed", closed(killed()), None),
        (
            "closed, then the machine was off",
            closed(unplugged()),
            None,
        ),
        ("power lost", unplugged(), Some(Doubt::Unsynced)),
        ("power lost, all synced", strict(unplugged()), None),
        (
            "power lost in a write",
            torn(strict(unplugged())),
            Some(Doubt::Torn),
        ),
        (
            "power lost, and a start ended while it cut the log",
            recovering(strict(unplugged())),
            Some(Doubt::Torn),
        ),
        (
            "the same, but the machine stayed up since",
            recovering(strict(killed())),
            Some(Doubt::Torn),
        ),
        (
            "the system does not tell of boots",
            untold(killed()),
            Some(Doubt::Unsynced),
        ),
        ("new, with others", empty(killed()), Some(Doubt::Empty)),
        ("new, the first", alone(empty(killed())), None),
        (
            "a copy of one that ran",
            copied(killed()),
            Some(Doubt::Restored),
        ),
        (
            "a copy of the last state",
            copied(closed(unplugged())),
            Some(Doubt::Moved),
        ),
        (
            "the same, and there are no others",
            alone(copied(closed(unplugged()))),
            None,
        ),
        (
            "a copy of a state that others followed",
            copied(later(closed(killed()))),
            Some(Doubt::Restored),
        ),
        (
            "killed, and its files were put back over themselves",
            Evidence {
                is_put_back: true,
                ..killed()
            },
            Some(Doubt::Restored),
        ),
        (
            "closed, and then touched",
            Evidence {
                is_put_back: true,
                ..closed(killed())
            },
            None,
        ),
        (
            "closed with more than there is",
            Evidence {
                last: 9,
                ..closed(killed())
            },
            Some(Doubt::Restored),
        ),
        (
            "starts that failed before the log was opened",
            later(closed(killed())),
            None,
        ),
        (
            "the whole directory restored in place",
            missed(closed(killed())),
            Some(Doubt::Restored),
        ),
        (
            "a disk set back, without a mark",
            missed(no_mark(killed())),
            Some(Doubt::Restored),
        ),
        ("last used by an earlier version", no_mark(killed()), None),
        ("the same, torn", torn(no_mark(killed())), Some(Doubt::Torn)),
        (
            "a mark that cannot be read",
            Evidence {
                found: Found::Damaged,
                ..killed()
            },
            Some(Doubt::Restored),
        ),
        (
            "a refill goes on",
            begun(killed(), Doubt::Empty),
            Some(Doubt::Empty),
        ),
        (
            "a refill of a lost end goes on, of a copy now",
            begun(copied(killed()), Doubt::Torn),
            Some(Doubt::Restored),
        ),
        (
            "a copy loses its end, too",
            begun(unplugged(), Doubt::Restored),
            Some(Doubt::Restored),
        ),
    ];
    for (what, evidence, expected) in cases {
        assert_eq!(doubt(&evidence), expected, "{what}");
    }
}
