//! Long histories with much at once and dozens of open ends, within the limit and in little time.

use std::time::{Duration, Instant};

use super::judge;
use super::register::{Shape, history, spoil};

const LONG: Shape = Shape {
    processes: 10,
    operations: 10_000,
    unknown: 100,
    deletes: 4,
    swaps: 0,
};

fn quickly<T>(work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    // A hundred times what it takes.
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    done
}

#[test]
fn long_histories_are_accepted() {
    for seed in 0..5 {
        for swaps in [0, 5] {
            let operations = history(Shape { swaps, ..LONG }, seed);
            let report = quickly(|| judge(&operations));
            assert!(report.is_linearizable(), "{report}");
            println!("{} states", report.states);
        }
    }
}

#[test]
fn long_histories_are_refuted() {
    for seed in 0..3 {
        let operations = 4_000;
        let mut operations = history(Shape { operations, ..LONG }, seed);
        assert!(spoil(&mut operations, seed));
        let report = quickly(|| judge(&operations));
        assert_eq!(report.violations.len(), 1, "{report}");
        assert!(report.violations[0].proof.len() < 12, "{report}");
        println!("{report}");
    }
}
