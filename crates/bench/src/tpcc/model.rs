//! What a run came to.

use dunlin_tpcc::scale::Scale;
use serde::Serialize;

use super::case::{TpccCase, Workload};
use super::figures::TpccFigures;
use crate::rpc::Origin;
use crate::spread::Runs;

/// A case with its rounds.
pub type TpccRuns = Runs<TpccCase, TpccFigures>;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Tpcc {
    /// How it was made.
    pub origin: Origin,
    /// Whether terminals wait for people.
    pub keying: bool,
    /// Whether the leader is killed in each round.
    pub is_killed: bool,
    /// Items and customers of a district.
    pub scale: Scale,
    /// All workloads.
    pub workloads: Vec<WorkloadRuns>,
}

/// A workload with its cases.
#[derive(Debug, Clone, Serialize)]
pub struct WorkloadRuns {
    /// Which.
    pub workload: Workload,
    /// All cases.
    pub rows: Vec<TpccRuns>,
}
