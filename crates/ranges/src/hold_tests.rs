#![allow(clippy::unwrap_used)]
use super::*;

/// Which ended so many seconds before `now`.
fn copy(index: u64, now: Instant, ended_s: Option<u64>) -> Copied {
    Copied {
        index,
        ended: ended_s.map(|ended_s| now - Duration::from_secs(ended_s)),
    }
}

fn now() -> Instant {
    Instant::now() + Duration::from_secs(3_600)
}

#[test]
fn entries_behind_a_copy_are_held_until_its_replica_takes_them() {
    let now = now();
    let copy = |index, ended_s| copy(index, now, ended_s);
    for (copy, matched, expected) in [
        (copy(50, None), Some(0), true),
        // A former copy: it is sent another.
        (copy(50, None), Some(60), true),
        (copy(50, Some(1)), Some(0), true),
        (copy(50, Some(1)), Some(50), true),
        (copy(50, Some(1)), Some(51), false),
        // Removed.
        (copy(50, Some(1)), None, false),
        // It never came back.
        (copy(50, Some(599)), Some(0), true),
        (copy(50, Some(600)), Some(0), false),
    ] {
        assert_eq!(
            is_needed(&copy, now, matched),
            expected,
            "{copy:?} {matched:?}"
        );
    }
}

#[test]
fn the_oldest_copy_that_is_needed_counts() {
    let now = now();
    let mut copies = BTreeMap::from([(4, copy(70, now, None)), (5, copy(50, now, Some(1)))]);
    assert_eq!(hold_from(&mut copies, now, |_| Some(0)), Some(50));
    let has_caught_up = |id| Some(if id == 5 { 90 } else { 0 });
    assert_eq!(hold_from(&mut copies, now, has_caught_up), Some(70));
    assert_eq!(hold_from(&mut BTreeMap::new(), now, |_| Some(0)), None);
}

#[test]
fn many_ranges_hold_less_each() {
    assert_eq!(hold_bytes(0), RANGE_BYTES);
    assert_eq!(hold_bytes(1), RANGE_BYTES);
    assert_eq!(hold_bytes(4), RANGE_BYTES);
    assert_eq!(hold_bytes(16), SHARD_BYTES / 16);
}
