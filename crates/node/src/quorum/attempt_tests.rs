use super::*;

const BOUND_MS: u64 = 10_000;

fn at(ms: u64) -> Version {
    Version::new(1_000_000 + ms, 0)
}

fn now(wall_ms: u64, hybrid_ms: u64) -> Moment {
    Moment {
        wall: at(wall_ms),
        hybrid: at(hybrid_ms),
        bound_ms: BOUND_MS,
    }
}

#[test]
fn windows() {
    let none = Version::MAX;
    let zero = Version(0);
    let cases = [
        ("the usual", now(0, 0), zero, none, Window::Until(at(2_500))),
        (
            "a hybrid clock behind the wall",
            now(9, 0),
            zero,
            none,
            Window::Until(at(2_509)),
        ),
        (
            "the write's deadline comes first",
            now(0, 0),
            zero,
            at(700),
            Window::Until(at(700)),
        ),
        (
            "its deadline is now",
            now(700, 0),
            zero,
            at(700),
            Window::TooLate,
        ),
        (
            "its deadline has passed",
            now(701, 0),
            zero,
            at(700),
            Window::TooLate,
        ),
        (
            "passed by the hybrid clock",
            now(0, 700),
            zero,
            at(700),
            Window::TooLate,
        ),
        (
            "above what was given up",
            now(0, 0),
            at(2_500),
            none,
            Window::Until(at(3_750)),
        ),
        (
            "given up up to the deadline",
            now(0, 0),
            at(700),
            at(700),
            Window::TooLate,
        ),
        (
            "stamps run ahead",
            now(0, 4_800),
            zero,
            none,
            Window::Until(at(5_300)),
        ),
        (
            "beyond half the bound",
            now(0, 9_000),
            zero,
            none,
            Window::Until(at(9_500)),
        ),
        (
            "at the bound",
            now(0, 10_000),
            zero,
            none,
            Window::Until(at(10_500)),
        ),
        ("beyond it", now(0, 10_001), zero, none, Window::TooFarAhead),
        (
            "a floor beyond it",
            now(0, 0),
            at(10_001),
            none,
            Window::TooFarAhead,
        ),
        (
            "a floor at the end of time",
            now(0, 0),
            Version::MAX,
            none,
            Window::TooLate,
        ),
    ];
    for (what, now, floor, deadline, expected) in cases {
        assert_eq!(window(now, floor, deadline), expected, "{what}");
    }
    let end = Moment {
        wall: Version::MAX,
        hybrid: Version::MAX,
        bound_ms: u64::MAX,
    };
    assert_eq!(window(end, Version(0), Version::MAX), Window::TooLate);
}

/// Every attempt breaks at once, and the next one is stamped at its floor: the worst there is.
#[test]
fn failovers_do_not_run_away_with_the_clock() {
    let mut hybrid = at(0);
    let mut refused = 0;
    for attempt in 0..1_000 {
        // A thousand in ten seconds of wall time.
        let wall_ms = attempt * 10;
        let moment = Moment {
            wall: at(wall_ms),
            hybrid,
            bound_ms: BOUND_MS,
        };
        match window(moment, hybrid, Version::MAX) {
            Window::Until(deadline) => hybrid = deadline,
            Window::TooFarAhead => refused += 1,
            Window::TooLate => panic!("no deadline was given"),
        }
        let ahead_ms = hybrid.millis().saturating_sub(at(wall_ms).millis());
        assert!(
            ahead_ms <= BOUND_MS + 500,
            "{ahead_ms} ms ahead at {attempt}"
        );
    }
    assert!(refused > 900, "{refused} refused");
    // Four at once stay within half the bound and a little.
    let mut floor = Version(0);
    for _ in 0..4 {
        let Window::Until(deadline) = window(now(0, 0), floor, Version::MAX) else {
            panic!("refused");
        };
        floor = deadline;
    }
    assert!(floor <= at(5_500), "{floor}");
    // It is over as soon as the wall has caught up.
    assert!(matches!(
        window(now(60_000, 0), hybrid, Version::MAX),
        Window::Until(_)
    ));
}
