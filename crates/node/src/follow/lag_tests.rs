use super::*;

const CAPS: Caps = Caps {
    retention_bytes: 100,
    pins_bytes: 300,
};
const SECOND: Duration = Duration::from_secs(1);

/// What it is called, what is seen of it, and what is done at last.
type Case = (&'static str, &'static [(Index, u64)], Care);

/// What is done at the last of several looks, a second apart: what it acknowledged, and how far the log is
/// beyond that.
fn last(looks: &[(Index, u64)]) -> Care {
    let begun = Instant::now();
    let mut lag = Lag::new(begun);
    let mut care = Care::default();
    for (number, (acked, lag_bytes)) in (1..).zip(looks) {
        care = lag.look(begun + SECOND * number, *acked, *lag_bytes, CAPS);
    }
    care
}

fn care(pin: Index, slows: Option<bool>) -> Care {
    Care {
        pin: (pin > 0).then_some(pin),
        slows,
    }
}

#[test]
fn who_falls_back_is_pinned_and_at_last_waited_for() {
    let cases: [Case; 6] = [
        ("near the end", &[(5, 50)], care(0, None)),
        ("behind", &[(5, 51)], care(6, None)),
        ("far behind", &[(5, 300)], care(6, None)),
        ("about to fall off", &[(5, 301)], care(6, Some(true))),
        ("coming nearer", &[(5, 350), (6, 340)], care(7, Some(false))),
        ("near again", &[(5, 350), (9, 20)], care(0, None)),
    ];
    for (what, looks, expected) in cases {
        assert_eq!(last(looks), expected, "{what}");
    }
}

#[test]
fn nobody_waits_for_one_that_stands_still() {
    let stands: Vec<_> = (0..7).map(|n| (5, 310 + n)).collect();
    assert_eq!(last(&stands), care(6, None));
    let stands: Vec<_> = (0..70).map(|n| (5, 310 + n)).collect();
    assert_eq!(last(&stands), care(0, None));
}

#[test]
fn nobody_waits_for_ever_for_one_that_never_comes_nearer() {
    let crawls: Vec<_> = (1..600).map(|n| (n, 350)).collect();
    assert_eq!(last(&crawls), care(600, Some(false)));
    let crawls: Vec<_> = (1..610).map(|n| (n, 350)).collect();
    assert_eq!(last(&crawls), care(610, None));
    // Until it was near once.
    let again = [&crawls[..], &[(700, 10), (701, 350)]].concat();
    assert_eq!(last(&again), care(702, Some(true)));
}
