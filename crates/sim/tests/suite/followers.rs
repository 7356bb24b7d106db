//! Whoever follows a keyspace goes on from its token at any replica, and misses nothing.

use dunlin_sim::{Counts, Plan, Sabotage, run};

#[test]
fn a_token_goes_on_at_any_replica() {
    let follows = |seed: &u64| Plan::new(*seed, Sabotage::None).follows;
    let mut counts = Counts::default();
    for seed in (1..).filter(follows).take(8) {
        let verdict = run(seed, Sabotage::None).unwrap();
        if let Some(failure) = verdict.failure {
            panic!("{failure}");
        }
        counts += verdict.counts;
    }
    println!("{counts}");
    assert!(counts.followed_again > 100, "{counts}");
    assert!(counts.followed_log > 100, "{counts}");
    assert!(counts.followed_delta > 0, "{counts}");
    assert!(counts.followed_complete > 10, "{counts}");
    assert!(counts.followed_checked > 100, "{counts}");
    let since = counts.resumed;
    assert!(since.all > 1_000 && since.elsewhere > 500, "{counts}");
    let rare = [since.ingested, since.purged, since.sealed, since.restarted];
    assert!(rare.iter().all(|count| *count > 10), "{counts}");
}
