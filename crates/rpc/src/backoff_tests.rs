#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const MIN: Duration = Duration::from_millis(20);
const MAX: Duration = Duration::from_secs(1);

fn waits(seed: u64) -> Vec<Duration> {
    let mut backoff = Backoff::new(MIN, MAX, seed);
    (0..10).map(|_| backoff.next()).collect()
}

#[test]
fn waits_grow_to_the_longest_and_stay_within_half_of_it() {
    for seed in 0..100 {
        for (n, wait) in waits(seed).into_iter().enumerate() {
            let longest = (MIN * 2u32.pow(n as u32)).min(MAX);
            assert!(
                wait >= longest / 2 && wait <= longest,
                "seed {seed} wait {n}: {wait:?}"
            );
        }
    }
}

#[test]
fn the_same_seed_waits_the_same_and_another_does_not() {
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
}

#[test]
fn a_reset_starts_over() {
    let mut backoff = Backoff::new(MIN, MAX, 0);
    for _ in 0..10 {
        backoff.next();
    }
    backoff.reset();
    assert!(backoff.next() <= MIN);
}
