use super::*;

#[test]
fn timestamps_grow_and_follow_the_clock_within_the_window() {
    let mut oracle = Oracle::new(Version::new(100, 0));
    let now = Version::new(200, 0);
    let Err(Full { next_end }) = oracle.take(now, Version(0), 3) else {
        panic!("given out of a window that is over");
    };
    assert!(next_end >= now.plus_ms(1_000));
    oracle.extend(next_end);
    assert_eq!(oracle.take(now, Version(0), 3), Ok(now));
    // The clock stands still, or goes back.
    let back = Version::new(150, 0);
    assert_eq!(oracle.take(back, Version(0), 1), Ok(Version(now.0 + 3)));
    assert_eq!(oracle.take(back, Version(0), 1), Ok(Version(now.0 + 4)));
    let above = Version::new(300, 7);
    assert_eq!(oracle.take(back, above, 1), Ok(Version(above.0 + 1)));
    assert_eq!(oracle.take(now, Version(0), 1), Ok(Version(above.0 + 2)));
}

#[test]
fn a_new_leader_begins_above_the_last_window() {
    let mut before = Oracle::new(Version(0));
    before.extend(Version(1_000));
    assert_eq!(before.take(Version(10), Version(0), 1), Ok(Version(10)));
    let mut next = Oracle::new(Version(1_000));
    assert!(next.take(Version(10), Version(0), 1).is_err());
    next.extend(Version(2_000));
    assert_eq!(next.take(Version(10), Version(0), 1), Ok(Version(1_001)));
}

#[test]
fn more_than_is_left_is_not_given() {
    let mut oracle = Oracle::new(Version(0));
    oracle.extend(Version(10));
    assert_eq!(oracle.take(Version(1), Version(0), 10), Ok(Version(1)));
    assert!(oracle.take(Version(1), Version(0), 1).is_err());
}
