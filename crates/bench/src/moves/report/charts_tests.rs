#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::moves::samples::run;

#[test]
fn rates_begin_and_end_with_nothing_and_are_over_a_second_each() {
    let run = run([5, 15, 5, 15, 5], 0);
    let points = rates(&run.moves[0]);
    assert_eq!(points[0], (10.0, 0.0));
    assert_eq!(*points.last().unwrap(), (20.0, 0.0));
    // 2 GB in four seconds, then nothing.
    let (early, late) = (points[1], points[points.len() - 2]);
    assert!(
        (early.0 - 11.0).abs() < 0.11 && (early.1 - 500.0).abs() < 1.0,
        "{early:?}"
    );
    assert!(late.0 > 18.0 && late.1 == 0.0, "{late:?}");
    let mb: f64 = points
        .windows(2)
        .map(|two| two[1].1 * (two[1].0 - two[0].0))
        .sum();
    assert!((mb - 2_000.0).abs() < 1.0, "{mb} MB in all");
}

#[test]
fn a_step_is_framed() {
    let run = run([5, 15, 5, 15, 5], 0);
    let (name, corners) = frame(&run.moves[1], 40.0);
    assert_eq!(name, "drain n1");
    assert_eq!(
        corners,
        [(30.0, 0.0), (30.0, 40.0), (40.0, 40.0), (40.0, 0.0)]
    );
}

#[test]
fn what_is_allowed_is_drawn_by_shard_and_cut() {
    let mut run = run([5, 15, 5, 15, 5], 0);
    for look in &mut run.moves[1].looks {
        look.bytes_per_s_max.insert("n2/0".into(), 7_000_000);
    }
    let lines = allowed(&run, 500.0);
    let [(n2, low), (n4, high)] = &lines[..] else {
        panic!("two shards: {lines:?}")
    };
    assert_eq!((n2.as_str(), n4.as_str()), ("allowed n2/0", "allowed n4/0"));
    assert_eq!((low[0], low[1]), ((30.0, 0.0), (30.0, 7.0)));
    assert_eq!(*low.last().unwrap(), (34.9, 0.0), "the end of the phase");
    assert_eq!((top(high), top(low)), (500.0, 7.0));
    let zeros = high.iter().filter(|point| point.1 == 0.0);
    assert_eq!(zeros.count(), 4, "nothing between the moves");
}
