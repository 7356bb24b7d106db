//! What a run came to.

use dunlin_tpcc::scale::Scale;
use serde::Serialize;

use super::case::{Engine, Medium, TpccCase, Workload};
use super::figures::TpccFigures;
use crate::rpc::Origin;
use crate::spread::{Runs, Spread};

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
    /// Rows that were loaded a second, of each case.
    pub loads_per_s: Vec<f64>,
}

impl WorkloadRuns {
    /// Dunlin with one replica.
    pub fn dunlin(&self, medium: Medium) -> Option<&TpccRuns> {
        let case = TpccCase {
            engine: Engine::Dunlin,
            medium,
            replicas: 1,
        };
        self.rows.iter().find(|row| row.case == case)
    }

    /// Its transactions a second beside another's on the same medium, round by round.
    pub fn beside(&self, medium: Medium, engine: Engine) -> Option<f64> {
        let is_it = |row: &&TpccRuns| row.case.engine == engine && row.case.medium == medium;
        let other = self.rows.iter().find(is_it)?;
        let rounds = self.dunlin(medium)?.runs.iter().zip(&other.runs);
        let parts = rounds.map(|(own, other)| own.per_s / other.per_s.max(1e-9));
        Some(Spread::of(parts).median)
    }
}
