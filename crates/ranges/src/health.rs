//! The state of a shard's disk and clock, and whether its replicas may lead with it.
//!
//! A leader whose disk hangs gets no entry done, and one of the oracle whose clock is wrong gives no timestamps: others
//! that can are to lead, and it does not stand for election until it can serve.

use std::cell::Cell;
use std::time::Duration;

use dunlin_log::{Lack, Progress};
use dunlin_versions::{Store, StoreError};

/// Raft's unit of time.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// Ticks without a sync that something waits for, or without a trusted clock, after which another replica is to lead.
const UNFIT_TICKS: u32 = 15;
/// Ticks after which it leads no longer, whether or not another can.
const STEP_DOWN_TICKS: u32 = 25;

/// The duty of a replica at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// It leads, or stands for election when its time has come.
    Lead,
    /// It does not stand for election.
    Wait,
    /// Another replica is to lead at once.
    Transfer,
    /// It leads no longer: the others elect one.
    StepDown,
}

/// The duty of a replica that has not been fit to lead for so many ticks.
fn duty(unfit_ticks: u32, leads: bool, is_alone: bool) -> Duty {
    if is_alone || unfit_ticks < UNFIT_TICKS {
        Duty::Lead
    } else if !leads {
        Duty::Wait
    } else if unfit_ticks < STEP_DOWN_TICKS {
        Duty::Transfer
    } else {
        Duty::StepDown
    }
}

/// The state of the disk and the clock of a shard.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Whether the store has found no space, and has not found any since.
    is_store_full: Cell<bool>,
    /// Whether the log has found no space.
    is_log_full: Cell<bool>,
    /// The last index that the log had synced at the last tick.
    synced: Cell<u64>,
    /// Ticks in which the log has synced nothing, though something waits.
    stalled_ticks: Cell<u32>,
    /// Ticks in which the clock was not trusted.
    clock_ticks: Cell<u32>,
}

impl Health {
    /// Whether nothing with values is to be proposed, for lack of space.
    pub fn is_full(&self) -> bool {
        self.is_store_full.get() || self.is_log_full.get()
    }

    /// The store has found no space.
    pub fn store_is_full(&self, why: &str) {
        if !self.is_store_full.replace(true) {
            tracing::warn!(
                why,
                "no space left for the store of ranges: it waits for some"
            );
        }
    }

    /// Whether nothing can be applied, for lack of space.
    pub fn is_store_full(&self) -> bool {
        self.is_store_full.get()
    }

    /// Looks once a tick whether a store that has found no space has some again.
    pub fn tick_store(&self, store: &Store) {
        if !self.is_store_full.get() || matches!(store.check(), Err(StoreError::NoSpace(_))) {
            return;
        }
        self.is_store_full.set(false);
        tracing::info!("the store of ranges has space again");
    }

    /// Takes note of the log and of the clock, once a tick. `last` is the last index that the log was given.
    pub fn tick(&self, progress: &Progress, last: u64, is_clock_trusted: bool) {
        self.is_log_full
            .set(matches!(progress.lack, Some(Lack::Space)));
        let before = self.synced.replace(progress.synced);
        // A log without space waits for more than its disk.
        let is_stalled =
            last > progress.synced && before == progress.synced && progress.lack.is_none();
        count(&self.stalled_ticks, is_stalled);
        count(&self.clock_ticks, !is_clock_trusted);
    }

    /// The duty of a replica; of the oracle's, with its clock.
    pub fn duty(&self, is_oracle: bool, leads: bool, is_alone: bool) -> Duty {
        let (stalled, clock) = (self.stalled_ticks.get(), self.clock_ticks.get());
        let unfit = if is_oracle {
            stalled.max(clock)
        } else {
            stalled
        };
        duty(unfit, leads, is_alone)
    }

    /// Seconds for which the log has synced nothing, though something waits.
    pub fn stalled_s(&self) -> f64 {
        f64::from(self.stalled_ticks.get()) * TICK.as_secs_f64()
    }

    /// The reason why ranges are not served from here, if there is one.
    pub fn trouble(&self) -> Option<String> {
        if self.is_full() {
            return Some(
                "no space left for ranges: make room on its disk; they go on by themselves"
                    .to_owned(),
            );
        }
        (self.stalled_ticks.get() >= UNFIT_TICKS).then(|| {
            format!(
                "the log of ranges has synced nothing for {:.0} s: its disk hangs, and other nodes lead its ranges",
                self.stalled_s()
            )
        })
    }
}

fn count(ticks: &Cell<u32>, goes_on: bool) {
    ticks.set(if goes_on {
        ticks.get().saturating_add(1)
    } else {
        0
    });
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
