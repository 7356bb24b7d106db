//! The keys of a run, and the records that reads find.

use std::time::Duration;

use super::Session;
use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::load::generator::{self, Pace, Plan};
use crate::load::http::{Copies, HttpWorkload, ONE_COPY, THREE_COPIES, Verb};
use crate::load::key::{Choice, KeySet, Order};
use crate::load::value::Values;
use crate::progress::Progress;

/// Numbers of keys that one run may write.
const RUN_KEYS: u64 = 1 << 32;
const FILL_CONNECTIONS: usize = 64;

/// Makes workloads; no key is written twice over the whole run.
#[derive(Debug)]
pub struct Workloads {
    values: Values,
    order: Order,
    runs: u64,
    filled: u64,
}

impl Workloads {
    /// Workloads with values of this size.
    pub fn new(value_bytes: usize, order: Order) -> Workloads {
        Workloads {
            values: Values::new(value_bytes),
            order,
            runs: 0,
            filled: 0,
        }
    }

    /// The next workload of a kind: new keys to write, or any of the filled ones to read.
    pub fn next(&mut self, verb: Verb, copies: Copies) -> HttpWorkload {
        let fresh = self.fresh();
        match verb {
            Verb::Put => {
                let keys = self.keys(if copies.from == 1 { b'p' } else { b'q' });
                HttpWorkload::new(verb, copies, keys, fresh, self.values.clone())
            }
            Verb::Get => {
                let choice = Choice::Any {
                    count: self.filled,
                    state: self.runs,
                };
                HttpWorkload::new(
                    verb,
                    copies,
                    self.fill_keys(copies),
                    choice,
                    self.values.clone(),
                )
            }
        }
    }

    fn fresh(&mut self) -> Choice {
        let next = self.runs * RUN_KEYS;
        self.runs += 1;
        Choice::Each {
            next,
            end: next + RUN_KEYS,
        }
    }

    fn keys(&self, tag: u8) -> KeySet {
        KeySet {
            tag,
            order: self.order,
        }
    }

    fn fill_keys(&self, copies: Copies) -> KeySet {
        self.keys(if copies.from == 1 { b'f' } else { b'g' })
    }

    fn each_filled(&self, verb: Verb, copies: Copies, count: u64) -> HttpWorkload {
        let choice = Choice::Each {
            next: 0,
            end: count,
        };
        HttpWorkload::new(
            verb,
            copies,
            self.fill_keys(copies),
            choice,
            self.values.clone(),
        )
    }
}

/// Writes the records that reads find, once for each number of copies, and reads every one back.
///
/// # Errors
/// [`BenchError::Unsound`] when a record cannot be written or is not read back as written.
pub fn fill(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<(), BenchError> {
    let count = session.timing.fill;
    for copies in [ONE_COPY, THREE_COPIES] {
        workloads.fill(
            copies,
            count,
            cluster,
            &session.interrupt,
            &session.progress,
        )?;
    }
    Ok(())
}

impl Workloads {
    /// Writes the records that reads of so many copies find, and reads every one back.
    ///
    /// # Errors
    /// [`BenchError::Unsound`] when a record cannot be written or is not read back as written.
    pub fn fill(
        &mut self,
        copies: Copies,
        count: u64,
        cluster: &mut Cluster,
        interrupt: &Interrupt,
        progress: &Progress,
    ) -> Result<(), BenchError> {
        let plan = Plan {
            addresses: cluster.addresses.clone(),
            connections: FILL_CONNECTIONS,
            pace: Pace::Closed,
            warmup: Duration::ZERO,
            duration: Duration::from_secs(3600),
        };
        for verb in [Verb::Put, Verb::Get] {
            let mut workload = self.each_filled(verb, copies, count);
            let outcome = generator::run(&plan, &mut workload, interrupt, &mut |_| {})?;
            cluster.check()?;
            let what = format!(
                "fill, {} of {count} records with {} of {} copies",
                verb.name(),
                copies.ack,
                copies.from
            );
            if outcome.errors() > 0 || outcome.measured() != count {
                return Err(BenchError::Unsound {
                    what,
                    errors: outcome.errors(),
                    requests: outcome.measured(),
                    detail: outcome.errors_text(),
                });
            }
            let rate = outcome.rate_per_s();
            progress.say(&format!("{what}: {rate:.0}/s"));
        }
        self.filled = count;
        Ok(())
    }
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
