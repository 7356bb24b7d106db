//! How long things take: shorter in the simulation, where deletes are forgotten soon.

use std::time::Duration;

/// The times of links. All clusters that are linked have the same.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// How long a batch counts from when its first entry was read.
    pub life: Duration,
    /// How often a round begins that says up to which time all is acknowledged.
    pub round: Duration,
    /// How often ages are checked and reported.
    pub ages: Duration,
    /// For so long a link from another cluster that is good is not checked again.
    pub known: Duration,
    /// How often progress is committed, at most.
    pub commit: Duration,
    /// The least tombstone grace of both keyspaces, in seconds.
    pub grace_s_min: u64,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            life: Duration::from_secs(60),
            round: Duration::from_secs(5),
            ages: Duration::from_secs(5),
            known: Duration::from_secs(10),
            commit: Duration::from_secs(2),
            grace_s_min: 86_400,
        }
    }
}

impl Times {
    pub(crate) fn life_ms(&self) -> u64 {
        self.life.as_millis() as u64
    }
}
