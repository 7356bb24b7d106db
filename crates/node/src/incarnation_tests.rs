use super::*;

#[test]
fn the_later_start_counts() {
    use Verdict::{Refuse, Serve, Stop};
    let table = [
        // known, said, mine, wanted
        ((0, 1, 1, 0), Serve, "nothing known of one another"),
        ((3, 3, 2, 2), Serve, "both as known"),
        ((3, 4, 2, 2), Serve, "it has started again"),
        ((3, 3, 2, 1), Serve, "this one has started again"),
        ((3, 2, 2, 2), Refuse, "a twin of it started later"),
        ((3, 2, 2, 0), Refuse, "the same, and it knows nothing"),
        ((3, 3, 2, 3), Stop, "a twin of this one started later"),
        ((3, 2, 2, 3), Stop, "twins of both started later"),
        (
            (u32::MAX, u32::MAX, u32::MAX, u32::MAX),
            Serve,
            "at the end",
        ),
    ];
    for ((known, said, mine, wanted), verdict, why) in table {
        assert_eq!(judge(known, said, mine, wanted), verdict, "{why}");
    }
}

#[test]
fn of_two_that_meet_the_earlier_never_stays_served_while_the_later_is_refused() {
    for later in 1..6 {
        for earlier in 0..later {
            // Whoever knows the later one refuses the earlier, and is refused by nobody for it.
            assert_eq!(judge(later, earlier, 7, 7), Verdict::Refuse);
            assert_eq!(judge(later, later, 7, 7), Verdict::Serve);
            assert_eq!(judge(earlier, later, 7, 7), Verdict::Serve);
            // The earlier one ends as soon as anybody tells it; the later one never does.
            assert_eq!(judge(7, 7, earlier, later), Verdict::Stop);
            assert_eq!(judge(7, 7, later, earlier), Verdict::Serve);
        }
    }
}

#[test]
fn what_is_known_only_grows() {
    let mut latest = Latest::default();
    assert_eq!(latest.of(1), 0);
    assert!(latest.learn(1, 4));
    assert!(!latest.learn(1, 4));
    assert!(
        !latest.learn(1, 3),
        "from a store put back to an earlier state"
    );
    assert_eq!(latest.of(1), 4);
    assert!(latest.learn(1, 5));
    assert_eq!((latest.of(1), latest.of(2)), (5, 0));
}
