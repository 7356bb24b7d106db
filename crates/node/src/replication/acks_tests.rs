#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;

use super::*;

/// The slots that have a bit.
fn slots(bits: u64) -> impl Iterator<Item = Slot> {
    (0..64).filter(move |slot| bits & 1 << slot != 0)
}

fn joint(ack: u8, replicas: u64, also: u64) -> Needs {
    Needs::new(ack, slots(replicas), slots(also), false)
}

fn needs(ack: u8, replicas: u64) -> Needs {
    joint(ack, replicas, 0)
}

fn acknowledge(tracker: &mut AckTracker<u64>, slot: Slot, up_to: u64) -> Vec<u64> {
    let mut done = Vec::new();
    tracker.acknowledge(slot, Version(up_to), Version(0), |_, payload| {
        done.push(payload)
    });
    done
}

#[test]
fn done_when_enough_of_the_right_replicas_have_it() {
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(2, 0b0011), 10);
    tracker.register(Version(20), needs(2, 0b0111), 20);
    assert!(acknowledge(&mut tracker, 2, 20).is_empty());
    assert_eq!(acknowledge(&mut tracker, 0, 20), [20]);
    assert_eq!(acknowledge(&mut tracker, 1, 15), [10]);
    assert_eq!(tracker.len(), 0);
}

#[test]
fn a_repeated_acknowledgement_counts_once() {
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(2, 0b11), 10);
    assert!(acknowledge(&mut tracker, 1, 10).is_empty());
    assert!(acknowledge(&mut tracker, 1, 10).is_empty());
    assert!(acknowledge(&mut tracker, 1, 12).is_empty());
    assert_eq!(acknowledge(&mut tracker, 0, 10), [10]);
}

#[test]
fn a_taken_write_is_not_completed() {
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(1, 0b1), 10);
    tracker.register(Version(11), needs(1, 0b1), 11);
    assert_eq!(tracker.take(Version(10)), Some(10));
    assert_eq!(tracker.take(Version(10)), None);
    assert_eq!(acknowledge(&mut tracker, 0, 11), [11]);
}

#[test]
fn while_replicas_change_both_sets_must_acknowledge() {
    let mut tracker = AckTracker::default();
    // Replica 2 gives way to replica 3.
    let both = joint(2, 0b0111, 0b1011);
    tracker.register(Version(10), both.clone(), 10);
    assert!(acknowledge(&mut tracker, 2, 10).is_empty());
    assert!(acknowledge(&mut tracker, 0, 10).is_empty());
    assert_eq!(acknowledge(&mut tracker, 3, 10), [10]);
    tracker.register(Version(20), both, 20);
    assert!(acknowledge(&mut tracker, 0, 20).is_empty());
    assert_eq!(acknowledge(&mut tracker, 1, 20), [20]);
    // A set of fewer must acknowledge as a whole.
    let fewer = joint(3, 0b0111, 0b0011);
    tracker.register(Version(30), fewer, 30);
    assert!(acknowledge(&mut tracker, 0, 30).is_empty());
    assert!(acknowledge(&mut tracker, 2, 30).is_empty());
    assert_eq!(acknowledge(&mut tracker, 1, 30), [30]);
}

fn acknowledge_unsure(
    tracker: &mut AckTracker<u64>,
    slot: Slot,
    up_to: u64,
    unsure: Version,
) -> Vec<u64> {
    let mut done = Vec::new();
    tracker.acknowledge(slot, Version(up_to), unsure, |_, payload| {
        done.push(payload);
    });
    done
}

#[test]
fn who_may_have_forgotten_newer_ones_does_not_count() {
    let mut tracker = AckTracker::default();
    for version in [10, 20, 30] {
        tracker.register(Version(version), needs(2, 0b111), version);
    }
    assert!(acknowledge(&mut tracker, 0, 30).is_empty());
    // Nothing counts before the others have been heard, then what is newer than all they know.
    assert!(acknowledge_unsure(&mut tracker, 1, 30, Version::MAX).is_empty());
    assert_eq!(acknowledge_unsure(&mut tracker, 1, 30, Version(20)), [30]);
    // It stays so, whatever it knows later: it was not asked then.
    assert!(acknowledge_unsure(&mut tracker, 1, 40, Version(20)).is_empty());
    assert_eq!(acknowledge(&mut tracker, 2, 10), [10]);
    tracker.register(Version(50), needs(2, 0b111), 50);
    assert!(acknowledge_unsure(&mut tracker, 1, 50, Version(20)).is_empty());
    assert_eq!(acknowledge(&mut tracker, 0, 50), [50]);
    assert_eq!(acknowledge(&mut tracker, 2, 50), [20]);
}

#[test]
fn the_next_life_of_one_that_was_unsure_counts_for_what_it_was_sent_again() {
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(2, 0b11), 10);
    tracker.register(Version(20), needs(2, 0b11), 20);
    assert!(acknowledge(&mut tracker, 0, 20).is_empty());
    assert!(acknowledge_unsure(&mut tracker, 1, 20, Version(30)).is_empty());
    assert!(acknowledge(&mut tracker, 1, 9).is_empty());
    assert_eq!(acknowledge(&mut tracker, 1, 15), [10]);
    assert_eq!(acknowledge(&mut tracker, 1, 20), [20]);
}

#[test]
fn who_began_to_doubt_later_does_not_count_from_then_on() {
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(2, 0b11), 10);
    tracker.register(Version(20), needs(2, 0b11), 20);
    assert!(acknowledge(&mut tracker, 1, 10).is_empty());
    assert!(acknowledge_unsure(&mut tracker, 1, 20, Version::MAX).is_empty());
    assert_eq!(acknowledge(&mut tracker, 0, 20), [10]);
    assert_eq!(acknowledge_unsure(&mut tracker, 1, 20, Version(15)), [20]);
}

#[test]
fn a_shard_that_alone_stores_the_key_counts_for_itself() {
    let mut tracker = AckTracker::default();
    let alone = Needs {
        is_alone: true,
        ..needs(1, 0b1)
    };
    tracker.register(Version(10), alone, 10);
    tracker.register(Version(20), needs(1, 0b11), 20);
    // That no other one is asked says nothing of who holds something newer.
    tracker.register(Version(30), needs(1, 0b1), 30);
    assert_eq!(acknowledge_unsure(&mut tracker, 0, 40, Version::MAX), [10]);
    assert_eq!(acknowledge(&mut tracker, 1, 30), [20]);
    tracker.register(Version(50), needs(1, 0b1), 50);
    assert_eq!(acknowledge_unsure(&mut tracker, 0, 50, Version(45)), [50]);
}

#[test]
fn a_refused_acknowledgement_does_not_count_and_ends_what_cannot_be_done() {
    // Sets of replicas, what is needed; who refuses, and what is left of it after each.
    let both = joint(2, 0b0111, 0b1011);
    type Case = (&'static str, Needs, &'static [(Slot, Option<u8>)]);
    let cases: &[Case] = &[
        ("one of three", needs(2, 0b111), &[(1, None)]),
        ("two of three", needs(2, 0b111), &[(1, None), (2, Some(1))]),
        ("the same twice", needs(2, 0b111), &[(1, None), (1, None)]),
        ("all must have it", needs(3, 0b111), &[(2, Some(1))]),
        (
            "it alone is enough",
            needs(1, 0b111),
            &[(1, None), (2, None)],
        ),
        (
            "one whose word is not asked for",
            needs(2, 0b011),
            &[(2, None)],
        ),
        (
            "enough of one set, not of the other",
            both,
            &[(3, None), (1, Some(1))],
        ),
    ];
    for (what, needs, refusals) in cases {
        let mut tracker = AckTracker::default();
        tracker.register(Version(10), needs.clone(), 10);
        tracker.register(Version(20), needs.clone(), 20);
        let is_done = !acknowledge(&mut tracker, 0, 10).is_empty();
        for (slot, given_up) in *refusals {
            let refused = tracker.refuse(*slot, Version(10));
            let expected = given_up.filter(|_| !is_done).map(|got| (got, 10));
            assert_eq!(refused, expected, "{what}: {slot} refuses");
        }
        let is_over = is_done || refusals.iter().any(|(_, given_up)| given_up.is_some());
        let refusing = refusals.iter().map(|(slot, _)| *slot);
        for slot in refusing {
            assert!(acknowledge(&mut tracker, slot, 10).is_empty(), "{what}");
        }
        // The next one is not touched, nor what is refused when it is no longer there.
        assert_eq!(tracker.len(), if is_over { 1 } else { 2 }, "{what}");
        assert_eq!(tracker.refuse(1, Version(5)), None);
    }
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(2, 0b111), 10);
    tracker.register(Version(11), needs(2, 0b111), 11);
    assert_eq!(tracker.refuse(1, Version(10)), None);
    assert!(acknowledge(&mut tracker, 0, 11).is_empty());
    assert_eq!(acknowledge(&mut tracker, 1, 11), [11]);
    assert_eq!(acknowledge(&mut tracker, 2, 11), [10]);
}

#[test]
fn of_very_many_replicas_the_first_count() {
    let mut tracker = AckTracker::default();
    let many = Needs::new(2, 0..200, [], false);
    tracker.register(Version(10), many, 10);
    let last = REPLICAS_MAX as Slot;
    assert!(acknowledge(&mut tracker, last, 10).is_empty());
    assert!(acknowledge(&mut tracker, last - 1, 10).is_empty());
    assert_eq!(acknowledge(&mut tracker, 0, 10), [10]);
}

#[test]
fn what_counted_once_counts_although_it_is_refused_later() {
    let mut tracker = AckTracker::default();
    tracker.register(Version(10), needs(2, 0b011), 10);
    assert!(acknowledge(&mut tracker, 1, 10).is_empty());
    assert_eq!(tracker.refuse(1, Version(10)), None);
    assert_eq!(acknowledge(&mut tracker, 0, 10), [10]);
}

proptest! {
    #[test]
    fn agrees_with_counting(
        writes in prop::collection::vec((1u8..4, 1u64..16, prop_oneof![Just(0), 1u64..16]), 1..40),
        acks in prop::collection::vec((0u16..4, 0u64..45), 0..60),
    ) {
        let mut tracker = AckTracker::default();
        for (i, (ack, replicas, also)) in writes.iter().enumerate() {
            // Any four of very many shards are told apart.
            let at = |bits: u64| slots(bits).map(|slot| slot * 1_000);
            let needs = Needs::new(*ack, at(*replicas), at(*also), false);
            tracker.register(Version(i as u64 + 1), needs, i as u64 + 1);
        }
        let mut done = Vec::new();
        let mut reached = [0u64; 4];
        for (slot, up_to) in acks {
            done.extend(acknowledge(&mut tracker, slot * 1_000, up_to));
            reached[slot as usize] = reached[slot as usize].max(up_to);
        }
        let mut expected: Vec<u64> = Vec::new();
        for (i, (ack, replicas, also)) in writes.iter().enumerate() {
            let version = i as u64 + 1;
            let got = |set: u64| (0..4).filter(|s| set & (1 << s) != 0 && reached[*s as usize] >= version).count();
            let of = (0..4).filter(|s| also & (1 << s) != 0).count();
            if got(*replicas) >= *ack as usize && got(*also) >= of.min(*ack as usize) { expected.push(version); }
        }
        done.sort_unstable();
        prop_assert_eq!(done, expected);
    }
}
