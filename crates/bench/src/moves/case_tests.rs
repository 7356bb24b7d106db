#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::cluster::Sync;
use crate::moves::samples::run;
use crate::options::Pacing;

const CONDITION: Condition = Condition {
    sync: Sync::Never,
    pacing: Pacing::Bounded,
};

#[test]
fn parts_and_steps_are_medians_over_the_runs() {
    let runs = vec![
        run([5, 30, 5, 12, 5], 2),
        run([6, 18, 5, 14, 5], 0),
        run([7, 19, 5, 13, 5], 1),
    ];
    let case = Case::of(CONDITION, runs);
    let names: Vec<&str> = case.felt.iter().map(|part| part.part.as_str()).collect();
    assert_eq!(names, ["before", "add n4", "between", "drain n1", "after"]);
    let moving: Vec<bool> = case.felt.iter().map(|part| part.is_moving).collect();
    assert_eq!(moving, [false, true, false, true, false]);
    let add = &case.felt[1];
    let p99 = add.latency_us_p99;
    assert_eq!((p99.median, p99.min, p99.max), (19e3, 18e3, 30e3));
    assert_eq!((add.failed, add.requests), (3, 3_000));
    assert_eq!(add.rate_per_s.median, 100.0);
    assert_eq!(add.share_of_seconds_over.max, 1.0);
    assert_eq!(case.failed(), (3, 15_000));
    let [add, drain] = &case.steps[..] else {
        panic!("two steps")
    };
    assert_eq!(
        (add.step.as_str(), drain.step.as_str()),
        ("add n4", "drain n1")
    );
    assert_eq!(add.bytes_per_s.median, 0.5e9);
    // 7 s of CPU in ten seconds that would have taken 3, for 2 GB.
    assert_eq!(add.cpu_s_per_gb.unwrap().median, 2.0);
    let typical = case.typical().unwrap().parts[1].felt.unwrap();
    assert_eq!(typical.latency_us_p99, 19_000);
}

#[test]
fn without_clients_nothing_is_felt() {
    let mut idle = run([5, 5, 5, 5, 5], 0);
    idle.parts.iter_mut().for_each(|part| part.felt = None);
    let case = Case::of(CONDITION, vec![idle]);
    assert!(case.felt.is_empty());
    assert_eq!((case.steps.len(), case.failed()), (2, (0, 0)));
    assert!(Case::of(CONDITION, Vec::new()).typical().is_none());
}
