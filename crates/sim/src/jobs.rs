//! Many seeds beside one another, told in their order.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::harness::cluster::HarnessError;
use crate::run::Verdict;

/// Has `run` run `seeds`, `jobs` of them at a time, and tells each verdict in the order of the seeds, until
/// `tell` wants no more. What was begun by then is ended, but not told.
pub fn run_all(
    seeds: impl Iterator<Item = u64> + Send,
    jobs: usize,
    run: impl Fn(u64) -> Result<Verdict, HarnessError> + Sync,
    mut tell: impl FnMut(u64, Result<Verdict, HarnessError>) -> bool,
) {
    let seeds = Mutex::new(Some(seeds.enumerate()));
    let next = || {
        let mut seeds = seeds.lock().unwrap_or_else(PoisonError::into_inner);
        seeds.as_mut().and_then(Iterator::next)
    };
    let (done, verdicts) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let done = done.clone();
            scope.spawn(|| {
                let done = done;
                while let Some((place, seed)) = next() {
                    // Nobody listens any more: the run was for nothing.
                    let _ = done.send((place, seed, run(seed)));
                }
            });
        }
        drop(done);
        let mut early = BTreeMap::new();
        let mut told = 0;
        for (place, seed, verdict) in verdicts {
            early.insert(place, (seed, verdict));
            while let Some((seed, verdict)) = early.remove(&told) {
                told += 1;
                if !tell(seed, verdict) {
                    *seeds.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    return;
                }
            }
        }
    });
}
