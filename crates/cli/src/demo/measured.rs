//! What a demo did and measured.

use serde::Serialize;

use crate::demo::verify::Verified;
use crate::import::report::Report;

/// The result of a demo.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// The load.
    pub load: Report,
    /// Records acknowledged when the node was killed.
    pub records_at_kill: u64,
    /// Records acknowledged when it was started again.
    pub records_at_return: u64,
    /// From the start of the killed node to the last entry it had missed, in seconds.
    pub catch_up_s: f64,
    /// Different keys that were acknowledged.
    pub keys: u64,
    /// The reading back, for each node.
    pub verified: Vec<Verified>,
    /// Records over all nodes that are not as they were acknowledged.
    pub mismatches: u64,
}
