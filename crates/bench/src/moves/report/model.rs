//! A report as data; its JSON form is exactly this.

use serde::Serialize;

use crate::host::machine::Machine;
use crate::moves::case::Case;
use crate::moves::plan::Plan;
use crate::report::model::Target;

/// All that one run of `dunlin-bench move` found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// When it began.
    pub date_utc: String,
    /// How it was called.
    pub command_line: String,
    /// Whether it was too short to be quoted.
    pub quick: bool,
    /// What it ran on.
    pub machine: Machine,
    /// The commit checked out here, `-dirty` when files differ from it.
    pub revision: Option<String>,
    /// What was measured.
    pub dunlin: String,
    /// What held its metadata.
    pub etcd: Option<String>,
    /// What nodes keep clients' 99th percentile at while they copy, in microseconds.
    pub bound_us_p99: u64,
    /// How much was measured.
    pub plan: Plan,
    /// What was to be reached.
    pub targets: Vec<Target>,
    /// Every condition.
    pub cases: Vec<Case>,
    /// How long all of it took.
    pub wall_s: f64,
}
