use super::*;

#[test]
fn a_source_that_lost_its_log_is_copied_again() {
    // Where the copy began, the first record that the source's present start wrote, the start it
    // began with, the present one, whether it may have lost its log.
    let cases = [
        ("restarted with all it had synced", 100, 100, 3, 4, false),
        ("it has gone on since", 100, 250, 3, 4, false),
        ("emptied", 100, 1, 3, 4, true),
        ("an older copy", 100, 99, 3, 4, true),
        ("emptied, filled, and restarted", 100, 250, 3, 5, true),
        (
            "a source of a build that answers what was asked",
            100,
            100,
            3,
            4,
            false,
        ),
    ];
    for (what, begin, first, known, now, expected) in cases {
        assert_eq!(is_another_log(begin, first, known, now), expected, "{what}");
    }
}
