use super::*;

fn key(name: &str) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

#[test]
fn the_lock_of_a_key_goes_from_one_to_the_next_in_order() {
    let mut locks = Locks::new(100);
    let numbers: Vec<u64> = (0..3).filter_map(|_| locks.add(&key("a"), 0)).collect();
    let other = locks.add(&key("b"), 0);
    assert_eq!((numbers[0], other), (101, Some(104)));
    assert_eq!(locks.turn(101, 10), Turn::Now);
    assert_eq!(locks.turn(102, 10), Turn::Later(LOCK_MS - 10));
    assert_eq!(locks.turn(104, 10), Turn::Now);
    assert_eq!(locks.waiting(), 2);
    assert_eq!(locks.end(101, 20), Some(102));
    assert_eq!(locks.turn(101, 20), Turn::Never);
    assert_eq!(locks.turn(103, 30), Turn::Later(LOCK_MS - 10));
    assert_eq!(locks.end(102, 30), Some(103));
    assert_eq!(locks.end(103, 30), None);
    assert_eq!(locks.end(103, 30), None);
    assert_eq!(locks.waiting(), 0);
}

#[test]
fn a_waiter_that_leaves_is_passed_over() {
    let mut locks = Locks::new(0);
    for _ in 0..3 {
        locks.add(&key("a"), 0);
    }
    assert_eq!(locks.end(2, 1), None);
    assert_eq!(locks.end(1, 2), Some(3));
}

#[test]
fn a_lock_ends_with_the_commit_at_its_timestamp() {
    let mut locks = Locks::new(0);
    for _ in 0..3 {
        locks.add(&key("a"), 0);
    }
    // One that waits has no timestamp.
    locks.give(2, Version(6));
    assert_eq!(locks.end_given(Version(6), 1), None);
    locks.give(1, Version(7));
    assert_eq!(locks.end_given(Version(8), 1), None);
    assert_eq!(locks.end_given(Version(7), 1), Some(2));
    // A repeat ends nobody else's.
    assert_eq!(locks.end_given(Version(7), 1), None);
    locks.give(2, Version(9));
    assert_eq!(locks.end(2, 2), Some(3));
    assert_eq!(locks.end_given(Version(9), 2), None);
    assert_eq!(locks.turn(3, 2), Turn::Now);
}

#[test]
fn a_lock_ends_after_its_time_and_not_before() {
    let mut locks = Locks::new(0);
    for _ in 0..3 {
        locks.add(&key("a"), 0);
    }
    assert_eq!(locks.turn(3, LOCK_MS - 1), Turn::Later(1));
    // The next in the queue has it, whoever asks.
    assert_eq!(locks.turn(3, LOCK_MS), Turn::Later(LOCK_MS));
    assert_eq!(locks.turn(2, LOCK_MS), Turn::Now);
    assert_eq!(locks.turn(1, LOCK_MS), Turn::Never);
    // The last one goes on where there are no waiters.
    assert_eq!(locks.end(2, LOCK_MS), Some(3));
    assert_eq!(locks.turn(3, 9 * LOCK_MS), Turn::Now);
}

#[test]
fn there_are_so_many_and_old_ones_make_room() {
    let mut locks = Locks::new(0);
    for number in 0..NUMBERS_MAX {
        assert!(locks.add(&key(&format!("{number}")), 0).is_some());
    }
    assert_eq!(locks.add(&key("a"), 0), None);
    assert!(locks.add(&key("a"), LOCK_MS).is_some());
    assert_eq!((locks.waiting(), locks.keys.len()), (0, 1));
    let more = (0..NUMBERS_MAX).filter_map(|_| locks.add(&key("a"), LOCK_MS));
    assert_eq!(more.count(), NUMBERS_MAX - 1);
}
