#![allow(clippy::disallowed_methods)]

use super::*;

#[test]
fn each_kind_is_told_of_now_and_then() {
    let begin = Instant::now();
    let mut strangers = Strangers::default();
    let cases = [
        (0, Outcome::Wrong, Some(1)),
        (1, Outcome::Wrong, None),
        (2, Outcome::Strange, Some(1)),
        (59, Outcome::Wrong, None),
        (60, Outcome::Wrong, Some(3)),
        (61, Outcome::Wrong, None),
        (120, Outcome::Wrong, Some(2)),
    ];
    for (at_s, outcome, told) in cases {
        let now = begin + Duration::from_secs(at_s);
        assert_eq!(strangers.came(outcome, now), told, "{at_s} {outcome:?}");
    }
}
