use super::*;

const BOUND_MS: u64 = 10_000;
const YEARS_MS: i64 = 70 * 365 * 86_400_000;

const fn told(ahead_ms: i64) -> Option<Offset> {
    Some(Offset {
        ahead_ms,
        error_ms: 2,
    })
}

#[test]
fn verdicts() {
    use Trust::{Alone, Fenced, Starting, Trusted};
    const SAME: Option<Offset> = told(3);
    const FAR: Option<Offset> = told(YEARS_MS);
    const BEHIND: Option<Offset> = told(-YEARS_MS);
    const NONE: Option<Offset> = None;
    const AT: [Option<Offset>; 2] = [told(10_002), told(10_002)];
    const BEYOND: [Option<Offset>; 2] = [told(10_003), told(10_009)];
    const AS_FAR_BEHIND: [Option<Offset>; 2] = [told(-10_003), told(-10_003)];
    let fenced = |ahead_ms| Fenced { ahead_ms };
    // What it was, the others, has it waited, what it is.
    type Case = (&'static str, Trust, &'static [Option<Offset>], bool, Trust);
    let cases: &[Case] = &[
        ("one alone", Starting, &[], false, Trusted),
        (
            "all start at once",
            Starting,
            &[NONE, NONE],
            false,
            Starting,
        ),
        (
            "one other is enough of three",
            Starting,
            &[SAME, NONE],
            false,
            Trusted,
        ),
        (
            "one other is not of five",
            Starting,
            &[SAME, NONE, NONE, NONE],
            false,
            Starting,
        ),
        ("nobody answers", Starting, &[NONE, NONE], true, Alone),
        ("nobody answers for long", Alone, &[NONE, NONE], true, Alone),
        (
            "it was alone, and the first who is back differs",
            Alone,
            &[FAR, NONE],
            true,
            Starting,
        ),
        (
            "it was alone, and the first who is back agrees",
            Alone,
            &[SAME, NONE],
            true,
            Trusted,
        ),
        (
            "it was alone, and both who are back differ",
            Alone,
            &[BEHIND, BEHIND],
            true,
            fenced(YEARS_MS),
        ),
        (
            "nobody says otherwise",
            Starting,
            &[SAME, NONE, NONE, NONE],
            true,
            Alone,
        ),
        (
            "ahead of both",
            Starting,
            &[BEHIND, BEHIND],
            false,
            fenced(YEARS_MS),
        ),
        (
            "behind both",
            Trusted,
            &[FAR, FAR],
            false,
            fenced(-YEARS_MS),
        ),
        (
            "one differs, one is silent",
            Starting,
            &[FAR, NONE],
            true,
            Starting,
        ),
        (
            "the SAME, trusted before",
            Trusted,
            &[FAR, NONE],
            true,
            Trusted,
        ),
        (
            "one is wrong, and it is not this",
            Starting,
            &[FAR, SAME],
            false,
            Trusted,
        ),
        (
            "of two nobody can say: a start waits",
            Starting,
            &[FAR],
            true,
            Starting,
        ),
        (
            "of two nobody can say: who runs goes on",
            Trusted,
            &[FAR],
            true,
            Trusted,
        ),
        (
            "all three differ",
            Trusted,
            &[FAR, BEHIND],
            true,
            fenced(-YEARS_MS),
        ),
        (
            "fenced while the others are away",
            fenced(9),
            &[NONE, NONE],
            true,
            fenced(9),
        ),
        (
            "fenced and one is back",
            fenced(9),
            &[SAME, NONE],
            true,
            Trusted,
        ),
        (
            "four, two and two",
            Trusted,
            &[SAME, FAR, FAR],
            true,
            Trusted,
        ),
        (
            "four, two and two, a start",
            Starting,
            &[SAME, FAR, FAR],
            true,
            Starting,
        ),
        (
            "four, one against three",
            Trusted,
            &[FAR, FAR, FAR],
            true,
            fenced(-YEARS_MS),
        ),
        ("at the bound", Trusted, &AT, true, Trusted),
        ("beyond it", Trusted, &BEYOND, true, fenced(-10_009)),
        (
            "behind by as much",
            Trusted,
            &AS_FAR_BEHIND,
            true,
            fenced(10_003),
        ),
    ];
    for (what, before, others, waited, expected) in cases {
        assert_eq!(
            judge(*before, others, BOUND_MS, *waited),
            *expected,
            "{what}"
        );
    }
    // Nothing overflows.
    let extreme = told(i64::MIN);
    let verdict = judge(Trust::Trusted, &[extreme, extreme], 0, true);
    assert_eq!(verdict, Fenced { ahead_ms: i64::MAX });
    assert_eq!(
        judge(Trust::Trusted, &[extreme, extreme], u64::MAX, true),
        Trusted
    );
}

#[test]
fn offsets_are_taken_in_the_middle_of_the_way() {
    let offset = measure(1_000, 1_011, 5_000, 11);
    assert_eq!((offset.ahead_ms, offset.error_ms), (3_995, 6));
    assert_eq!(measure(1_000, 1_000, 400, 0).ahead_ms, -600);
    assert_eq!(measure(0, 0, u64::MAX, 0).ahead_ms, i64::MAX);
    assert_eq!(measure(u64::MAX, u64::MAX, 0, 0).ahead_ms, i64::MIN);
    // The own clock was set back on the way.
    assert_eq!(measure(9_000, 1_000, 9_000, 4).ahead_ms, 0);
}
