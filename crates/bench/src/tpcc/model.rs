//! What a run came to.

use dunlin_tpcc::scale::Scale;
use serde::Serialize;

use super::case::TpccCase;
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
    /// The mix.
    pub mix: &'static str,
    /// Warehouses.
    pub warehouses: u32,
    /// Terminals.
    pub terminals: u32,
    /// Whether terminals wait for people.
    pub keying: bool,
    /// Whether the leader is killed in each round.
    pub is_killed: bool,
    /// Items and customers of a district.
    pub scale: Scale,
    /// All cases.
    pub rows: Vec<TpccRuns>,
}
