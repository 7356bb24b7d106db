//! A report as data; its JSON form is exactly this.

use serde::Serialize;

use crate::copy::case::Case;
use crate::copy::plan::Plan;
use crate::copy::program::Programs;
use crate::copy::setting::Setting;
use crate::host::machine::Machine;
use crate::report::model::Target;

/// All that one run of `dunlin-bench copy` found.
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
    /// What ran.
    pub programs: Programs,
    /// How much was measured.
    pub plan: Plan,
    /// What was to be reached.
    pub targets: Vec<Target>,
    /// Every source in every way.
    pub cases: Vec<Case>,
    /// A larger source, copied by values of 256 B; `None` when that was not asked for.
    pub long: Option<Case>,
    /// One source with other settings; none when that source was not asked for.
    pub settings: Vec<Setting>,
    /// How long all of it took.
    pub wall_s: f64,
}
