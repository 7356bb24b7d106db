#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::copy::samples::{case, run};

#[test]
fn costs_are_for_a_gigabyte_and_memory_is_the_most() {
    let mut runs = vec![run(100.0, 20), run(200.0, 40), run(400.0, 30)];
    runs[0].receiver = None;
    runs[1].rates = None;
    let taken = Taken::of(runs, 500_000_000);
    assert_eq!(taken.bytes_per_s.median, 200e6);
    assert_eq!(taken.sender_cpu_s_per_gb.median, 1.0);
    assert_eq!(taken.receiver_cpu_s_per_gb.unwrap().median, 1.5);
    assert_eq!(taken.sender_peak_bytes, 40_000_000);
    assert_eq!(taken.receiver_peak_bytes, Some(40_000_000));
    assert_eq!(taken.rate_cv.unwrap().median, 0.125);
    assert_eq!(taken.typical().unwrap().bytes_per_s, 200e6);
}

#[test]
fn where_one_process_does_both_there_is_no_receiver() {
    let mut alone = run(100.0, 20);
    (alone.receiver, alone.rates) = (None, None);
    let taken = Taken::of(vec![alone], 1_000_000_000);
    assert!(taken.receiver_cpu_s_per_gb.is_none() && taken.receiver_peak_bytes.is_none());
    assert!(taken.rate_cv.is_none());
    let case = case(256, &[(Way::Cp, &[100.0])]);
    assert!(case.ratio(Way::Cp, Way::Rsync).is_none() && case.way(Way::Files).is_none());
}

#[test]
fn every_way_begins_a_round() {
    let ways = [1, 2, 3];
    let first: Vec<i32> = (0..6).map(|round| in_turn(&ways, round)[0]).collect();
    assert_eq!(first, [1, 2, 3, 1, 2, 3]);
    assert_eq!(in_turn(&ways, 2), [3, 1, 2]);
    assert!(in_turn::<i32>(&[], 1).is_empty());
}
