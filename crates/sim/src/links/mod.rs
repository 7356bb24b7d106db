//! Clusters that follow one another, by the links that users make: several clusters in one network.

mod build;
mod faults;
mod history;
mod names;
mod plan;
mod run;
mod scene;
mod transport;
mod verify;

pub use plan::LinkPlan;
pub use run::run;
pub use transport::SimLines;

/// The keyspace that is linked.
const KEYSPACE: &str = "linked";
