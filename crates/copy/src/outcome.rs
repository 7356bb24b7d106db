//! What has been done in the end.

use std::time::Duration;

use crate::plan::{Hex, Mode};
use crate::wire::pair::Tally;

/// A copy that is whole.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How the data travelled.
    pub mode: Mode,
    /// What distinguishes what was copied from anything else.
    pub fingerprint: Hex,
    /// Column families.
    pub column_families: Vec<String>,
    /// Units of the plan.
    pub units: usize,
    /// Units that earlier runs had sent.
    pub units_done_before: usize,
    /// Pairs and bytes that this run sent and the target has compared, and their checksum.
    pub sent: Tally,
    /// From the first unit's beginning to the last one's end, on disk.
    pub send_time: Duration,
    /// From then until the target was whole.
    pub finish_time: Duration,
    /// What of the copy was compared with its source.
    pub check: Check,
}

/// What of a copy was compared with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Each unit, by its checksum, as it arrived.
    Units,
    /// Every pair, once all were sent.
    Pairs {
        /// What the source holds.
        tally: Tally,
        /// How long it took.
        time: Duration,
    },
    /// Nothing, as the settings wanted it.
    Nothing,
}

/// What was compared and found equal.
#[derive(Debug, Clone)]
pub struct Verified {
    /// Ranges compared.
    pub ranges: usize,
    /// Column families.
    pub column_families: Vec<String>,
    /// What they hold.
    pub tally: Tally,
}
