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
fn entries_behind_a_copy_are_held_until_its_replica_has_caught_up() {
    let now = now();
    let copy = |index, ended_s| copy(index, now, ended_s);
    for (copy, matched, expected) in [
        (copy(50, None), Some(0), true),
        // A former copy: it is sent another.
        (copy(50, None), Some(60), true),
        (copy(50, Some(1)), Some(0), true),
        (copy(50, Some(1)), Some(50), true),
        // It takes entries, and many are missing.
        (copy(50, Some(1)), Some(51), true),
        (copy(50, Some(1)), Some(743), true),
        (copy(50, Some(1)), Some(744), false),
        // Removed.
        (copy(50, Some(1)), None, false),
        // It never came back.
        (copy(50, Some(599)), Some(0), true),
        (copy(50, Some(600)), Some(0), false),
    ] {
        assert_eq!(
            is_needed(&copy, now, 1_000, matched),
            expected,
            "{copy:?} {matched:?}"
        );
    }
}

#[test]
fn the_oldest_entry_that_is_needed_counts() {
    let now = now();
    let mut copies = BTreeMap::from([(4, copy(70, now, None)), (5, copy(50, now, Some(1)))]);
    let held = |copies: &mut _, of_5| {
        let matched = move |id| Some(if id == 5 { of_5 } else { 0 });
        hold_from(copies, now, 1_000, matched)
    };
    assert_eq!(held(&mut copies, 0), Some(50));
    assert_eq!(held(&mut copies, 60), Some(60));
    assert_eq!(held(&mut copies, 90), Some(70));
    assert_eq!(held(&mut copies, 900), Some(70));
    assert_eq!(copies.len(), 1);
    assert_eq!(held(&mut BTreeMap::new(), 0), None);
}

#[test]
fn writes_are_slowed_so_that_entries_can_be_held() {
    let most = RANGE_BYTES;
    assert_eq!(allowance(0, most), Some(usize::MAX));
    assert_eq!(allowance(most / 2, most), Some(usize::MAX));
    // A byte more, and the rest would last for sixteen seconds.
    let half = allowance(most / 2 + 1, most).unwrap();
    assert_eq!(half, (most / 2 - 1) / 160);
    assert_eq!(allowance(most, most), Some(LEAST_BYTES / 10));
    assert_eq!(allowance(most + 1, most), None);
    // From the half on it lasts for so many ticks, however much clients write.
    let (mut held, mut ticks) = (most / 2 + 1, 0);
    while let Some(bytes) = allowance(held, most) {
        held += bytes;
        ticks += 1;
    }
    assert!((250..300).contains(&ticks), "{ticks}");
}

#[test]
fn copies_in_vain_are_made_ever_more_rarely() {
    let mut pauses = vec![next_pause(Duration::ZERO)];
    while pauses.len() < 7 {
        pauses.push(next_pause(pauses[pauses.len() - 1]));
    }
    let seconds: Vec<u64> = pauses.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [2, 4, 8, 16, 32, 64, 64]);
}

#[test]
fn many_ranges_hold_less_each() {
    assert_eq!(hold_bytes(0), RANGE_BYTES);
    assert_eq!(hold_bytes(1), RANGE_BYTES);
    assert_eq!(hold_bytes(4), RANGE_BYTES);
    assert_eq!(hold_bytes(16), SHARD_BYTES / 16);
}
