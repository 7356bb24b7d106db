use super::*;
use crate::load::generator::Answered;
use crate::load::outcome::Outcome;
use crate::moves::samples::run;

#[test]
#[allow(clippy::unwrap_used)]
fn a_part_feels_what_was_meant_to_start_in_it() {
    let mut parts = run([0; 5], 0).parts;
    parts.iter_mut().for_each(|part| part.felt = None);
    // The second second of the first step is slow, and the last one before it.
    let answers = (0..500u64).map(|tenth| Answered {
        intended_ns: tenth * 100_000_000,
        latency_ns: if [9, 11].contains(&(tenth / 10)) {
            30_000_000
        } else {
            1_000_000
        },
        is_expected: tenth != 0,
    });
    let keys = KeySet {
        tag: b'm',
        order: Order::Random,
    };
    let heard = Heard {
        answers: answers.collect(),
        outcome: Outcome::new().unwrap(),
        ledger: Ledger::new(keys, Values::new(32), 1),
    };
    let seconds = feel(&mut parts, &heard);
    assert_eq!(seconds.len(), 50);
    let over: Vec<u64> = parts.iter().filter_map(|part| part.seconds_over).collect();
    assert_eq!(over, [1, 1, 0, 0, 0]);
    let felt: Vec<Felt> = parts.iter().filter_map(|part| part.felt).collect();
    assert!(felt.iter().all(|felt| felt.requests == 100));
    assert_eq!((felt[0].failed, felt[1].failed), (1, 0));
    assert_eq!(
        (felt[1].latency_us_p99, felt[2].latency_us_p99),
        (30_000, 1_000)
    );
}

#[test]
fn the_cpu_of_a_move_is_what_comes_on_top() {
    let mut run = run([5; 5], 0);
    assert_eq!(run.cpu_s_per_gb(0), Some(2.0));
    run.parts[1].end_s = 30.0;
    assert_eq!(
        run.cpu_s_per_gb(0),
        Some(0.5),
        "7 s in 20 s that would have taken 6"
    );
    run.moves[1].bytes = 0;
    assert_eq!(run.cpu_s_per_gb(1), None);
    assert_eq!(run.moving().count(), 2);
}
