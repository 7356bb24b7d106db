//! Clusters that follow one another, by the links that users make: several clusters in one network.

mod build;
mod faults;
mod history;
mod plan;
mod run;
mod transport;
mod world;

use std::time::Duration;

use dunlin_links::Times;

pub use plan::LinkPlan;
pub use run::run;
pub use transport::SimLines;

/// The keyspace that is linked.
const KEYSPACE: &str = "linked";

/// Shorter than in real life, as the time is after which deletes are forgotten.
pub const TIMES: Times = Times {
    life: Duration::from_secs(3),
    round: Duration::from_millis(500),
    ages: Duration::from_millis(500),
    known: Duration::from_secs(1),
    commit: Duration::from_millis(500),
    grace_s_min: 30,
};
