//! Some seeds keep all promises, and between them exercise what the simulation is for.

use dunlin_sim::{Checked, Counts, Sabotage, run};

#[test]
fn every_promise_holds() {
    let mut counts = Counts::default();
    let mut checked = Checked::default();
    for seed in 1..=20 {
        let verdict = run(seed, Sabotage::None).unwrap();
        if let Some(failure) = verdict.failure {
            panic!("{failure}");
        }
        counts += verdict.counts;
        checked += verdict.checked;
    }
    println!("{checked}; {counts}");
    assert!(checked.exempt * 20 < checked.reads, "{checked}");
    assert!(checked.linear_exempt * 20 < checked.linear, "{checked}");
    // A key with many writes that may have happened again can be too much to try; its reads are judged.
    assert!(checked.undecided * 100 < checked.linear, "{checked}");
    assert!(counts.writes > 1_000);
    assert!(counts.crashes > 20);
    assert!(counts.flushes > 20);
    assert!(counts.released_segments > 20);
    assert!(counts.pulled > 0);
    assert!(counts.backfilled > 0);
    assert!(counts.restamps > 0);
    assert!(counts.repairs > 0);
    assert!(counts.hedges > 0);
}
