use super::*;

#[test]
fn who_comes_later_waits_for_the_next_round() {
    let mut reads = Reads::default();
    assert_eq!(reads.begin(), None);
    reads.add("a");
    reads.add("b");
    assert_eq!(reads.begin(), Some(1));
    reads.add("c");
    assert_eq!(reads.begin(), None);
    reads.confirm(1, 5);
    assert_eq!(reads.take(4), [""; 0]);
    assert_eq!(reads.begin(), Some(2));
    assert_eq!(reads.take(5), ["a", "b"]);
    // An old answer ends nothing.
    reads.confirm(1, 5);
    reads.confirm(2, 5);
    assert_eq!(reads.take(5), ["c"]);
    assert!(reads.is_empty());
}

#[test]
fn a_round_that_is_lost_is_begun_anew() {
    let mut reads = Reads::default();
    reads.add("a");
    assert_eq!(reads.begin(), Some(1));
    reads.add("b");
    for _ in 0..TICKS_MAX {
        reads.tick();
        assert_eq!(reads.begin(), None);
    }
    reads.tick();
    assert_eq!(reads.begin(), Some(2));
    reads.confirm(1, 1);
    assert_eq!(reads.take(9), [""; 0]);
    reads.confirm(2, 1);
    assert_eq!(reads.take(9), ["a", "b"]);
}

#[test]
fn all_are_given_back_when_another_leads() {
    let mut reads = Reads::default();
    for (number, waiter) in [(1, "a"), (2, "b"), (3, "c")] {
        reads.add(waiter);
        assert_eq!(reads.begin(), Some(number));
        if number < 3 {
            reads.confirm(number, 10);
        }
    }
    reads.add("d");
    assert_eq!(reads.drain(), ["d", "c", "a", "b"]);
    assert!(reads.is_empty());
}
