#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

fn search(start: f64, capacity: f64) -> (Option<f64>, u32) {
    let mut sweep = Sweep::new(start, 0.05, 40);
    let mut probes = 0;
    while let Some(rate) = sweep.next_rate() {
        sweep.observe(rate <= capacity);
        probes += 1;
    }
    (sweep.best(), probes)
}

#[test]
fn one_bad_probe_does_not_decide() {
    let mut sweep = Sweep::new(1000.0, 0.05, 10);
    sweep.observe(true);
    assert_eq!(sweep.next_rate(), Some(2000.0));
    sweep.observe(false);
    assert_eq!(sweep.next_rate(), Some(2000.0), "tried again");
    sweep.observe(true);
    assert_eq!(sweep.next_rate(), Some(4000.0));
    sweep.observe(false);
    sweep.observe(false);
    assert_eq!(sweep.next_rate(), Some(3000.0), "two failures decide");
}

#[test]
fn probes_are_limited_and_nothing_may_pass() {
    let mut sweep = Sweep::new(1000.0, 0.001, 3);
    (0..3).for_each(|_| sweep.observe(true));
    assert_eq!((sweep.next_rate(), sweep.best()), (None, Some(4000.0)));
    assert_eq!(search(1000.0, 0.0).0, None);
}

#[test]
fn confirmation_steps_down_further_the_worse_it_is() {
    let after = |share: f64| {
        let mut confirm = Confirm::new(1000.0, 5);
        confirm.observe(false, share);
        confirm.next_rate()
    };
    assert_eq!(after(0.94), Some(950.0));
    assert_eq!(after(0.70), Some(850.0));
    assert_eq!(after(0.00), Some(700.0));
    let mut confirm = Confirm::new(1000.0, 5);
    confirm.observe(false, 0.94);
    confirm.observe(true, 0.99);
    assert_eq!(confirm.next_rate(), None, "950 and 1000 are close enough");
    assert_eq!(confirm.confirmed(), Some(950.0));
}

#[test]
fn a_wide_gap_is_halved() {
    let mut confirm = Confirm::new(1000.0, 5);
    confirm.observe(false, 0.1);
    confirm.observe(true, 0.99);
    assert_eq!(confirm.next_rate(), Some(850.0));
    confirm.observe(false, 0.9);
    assert_eq!(confirm.next_rate(), Some(775.0));
    confirm.observe(true, 0.96);
    assert_eq!(confirm.next_rate(), Some(813.0));
    confirm.observe(false, 0.9);
    assert_eq!(
        (confirm.next_rate(), confirm.confirmed()),
        (None, Some(775.0))
    );
}

#[test]
fn confirmation_steps_up_while_there_is_ample_room() {
    let mut confirm = Confirm::new(1000.0, 5);
    confirm.observe(true, 0.99);
    assert_eq!(confirm.next_rate(), Some(1060.0));
    confirm.observe(false, 0.80);
    assert_eq!(
        (confirm.next_rate(), confirm.confirmed()),
        (None, Some(1000.0))
    );
    let mut enough = Confirm::new(1000.0, 5);
    enough.observe(true, 0.955);
    assert_eq!(
        (enough.next_rate(), enough.confirmed()),
        (None, Some(1000.0))
    );
}

#[test]
fn confirmation_gives_up_after_its_rounds() {
    let mut confirm = Confirm::new(1000.0, 2);
    for _ in 0..3 {
        confirm.observe(false, 0.0);
        assert!(confirm.next_rate().is_some());
    }
    confirm.observe(false, 0.0);
    assert_eq!((confirm.next_rate(), confirm.confirmed()), (None, None));
}

#[test]
fn what_was_held_in_time_gets_no_more_rounds() {
    let mut confirm = Confirm::new(1000.0, 2);
    confirm.observe(true, 1.0);
    confirm.observe(false, 0.9);
    assert_eq!(
        (confirm.next_rate(), confirm.confirmed()),
        (None, Some(1000.0))
    );
}

proptest! {
    #[test]
    fn finds_any_capacity_within_its_precision(capacity in 60.0f64..500_000.0,
                                               start in 50.0f64..50_000.0) {
        let (best, probes) = search(start, capacity);
        let best = best.unwrap();
        prop_assert!(best <= capacity && best * 1.06 + 1.0 >= capacity, "{best} of {capacity}");
        prop_assert!(probes < 40, "{probes}");
    }
}
