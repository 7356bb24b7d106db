use dunlin_entry::Version;

use super::Wall;

const BOUND_MS: u64 = 10_000;

fn at(ms: u64) -> Version {
    Version::new(ms, 7)
}

fn until(ms: u64) -> Version {
    Version::new(ms, u16::MAX)
}

#[test]
fn times_of_clients_are_timestamps_while_these_follow_the_clock() {
    let wall = Wall {
        now_ms: 100_000,
        bound_ms: BOUND_MS,
    };
    // The timestamp, the deadline or floor, is it late, does it wait.
    let cases = [
        (100_000, 103_000, false),
        (103_000, 103_000, false),
        (103_001, 103_000, true),
        (110_000, 109_999, true),
        (90_000, 89_999, true),
    ];
    for (given, time, is_late) in cases {
        assert_eq!(
            wall.is_late(at(given), until(time)),
            is_late,
            "{given} {time}"
        );
        assert_eq!(wall.wait_ms(at(given), until(time)), 0, "{given} {time}");
    }
    assert!(!wall.is_late(at(110_000), Version::MAX));
}

#[test]
fn they_are_compared_with_the_clock_while_timestamps_are_ahead_beyond_the_bound() {
    let ahead = at(3_700_000);
    let wall = |now_ms| Wall {
        now_ms,
        bound_ms: BOUND_MS,
    };
    assert!(!wall(100_000).is_late(ahead, until(103_000)));
    assert!(!wall(103_000).is_late(ahead, until(103_000)));
    assert!(wall(103_001).is_late(ahead, until(103_000)));
    assert!(!wall(103_001).is_late(ahead, Version::MAX));
    // Whoever has the deadline as a floor waits until nothing may have it any more.
    assert_eq!(wall(100_000).wait_ms(ahead, until(103_000)), 3_001);
    assert_eq!(wall(103_000).wait_ms(ahead, until(103_000)), 1);
    assert_eq!(wall(103_001).wait_ms(ahead, until(103_000)), 0);
    assert_eq!(wall(100_000).wait_ms(ahead, Version(0)), 0);
}

#[test]
fn a_write_with_anothers_deadline_as_its_floor_has_the_greater_timestamp() {
    // Timestamps are ahead by so much, then the clock goes on; they grow by one with each.
    for ahead_ms in [0, 2_000, BOUND_MS, BOUND_MS + 1, 3_600_000] {
        let deadline = until(103_000);
        let (mut last, mut first, mut second) = (at(100_000 + ahead_ms), None, None);
        for now_ms in 100_000..104_000 {
            let wall = Wall {
                now_ms,
                bound_ms: BOUND_MS,
            };
            last = Version(last.0 + 1).max(at(now_ms));
            if !wall.is_late(last, deadline) {
                first = Some(last);
            }
            let above = last.max(Version(deadline.0 + 1));
            if second.is_none() && wall.wait_ms(above, deadline) == 0 {
                second = Some(above);
                last = above;
            }
        }
        // The greatest that the first may still get, the least that the second gets.
        assert!(first < second, "{ahead_ms}: {first:?} {second:?}");
        assert!(second.is_some(), "{ahead_ms}");
    }
}
