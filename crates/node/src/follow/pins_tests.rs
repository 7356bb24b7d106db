use std::time::Duration;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn mover(name: &str) -> Holder {
    Holder {
        class: Class::Move,
        keyspace: None,
        name: name.into(),
    }
}

#[test]
fn the_least_position_counts_until_its_lease_is_over() {
    let pins = Pins::default();
    let begun = Instant::now();
    assert_eq!(pins.least(begun), None);
    pins.hold(mover("a"), 70, begun);
    pins.hold(mover("b"), 90, begun + 10 * SECOND);
    assert_eq!(pins.least(begun + PIN_LEASE - SECOND), Some(70));
    // One that has ended is no longer told either, before anybody asks what may go.
    let told = pins.status(begun + PIN_LEASE, |from| 1_000 - from);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].holder.as_str(), told[0].bytes), ("b", 910));
    assert_eq!(
        told[0].held_ms,
        (PIN_LEASE - 10 * SECOND).as_millis() as u64
    );
    assert_eq!(pins.least(begun + PIN_LEASE), Some(90));
    pins.hold(mover("b"), 90, begun + PIN_LEASE);
    assert_eq!(pins.least(begun + 2 * PIN_LEASE - SECOND), Some(90));
    pins.end(Class::Move);
    assert_eq!(pins.least(begun + PIN_LEASE), None);
}

#[test]
fn one_that_stands_still_keeps_nothing_before_it_moves() {
    let pins = Pins::default();
    let begun = Instant::now();
    let mut now = begun;
    while now < begun + PIN_STILL {
        pins.hold(mover("a"), 70, now);
        assert_eq!(pins.least(now), Some(70));
        now += PIN_LEASE / 2;
    }
    pins.hold(mover("a"), 70, now);
    assert_eq!(pins.least(now), None);
    pins.hold(mover("a"), 70, now + SECOND);
    assert_eq!(pins.least(now + SECOND), None);
    pins.hold(mover("a"), 71, now + SECOND);
    assert_eq!(pins.least(now + SECOND), Some(71));
    assert_eq!(pins.cut_count(), 0);
}

#[test]
fn one_that_is_cut_is_counted_and_keeps_nothing_before_it_moves() {
    let pins = Pins::default();
    let now = Instant::now();
    pins.hold(mover("a"), 70, now);
    pins.hold(mover("b"), 90, now);
    pins.cut(71);
    assert_eq!(pins.least(now), Some(90));
    pins.cut(80);
    assert_eq!(pins.cut_count(), 1);
    let told = pins.status(now, |_| 5);
    assert_eq!((told[0].let_go, told[0].bytes), (true, 0));
    assert_eq!((told[1].let_go, told[1].bytes), (false, 5));
    pins.hold(mover("a"), 70, now);
    assert_eq!(pins.least(now), Some(90));
    pins.hold(mover("a"), 85, now);
    assert_eq!(pins.least(now), Some(85));
}
