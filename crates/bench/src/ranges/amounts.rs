//! How much is measured, and with what.

use std::path::PathBuf;

use serde::Serialize;

use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// How much is measured.
#[derive(Debug, Clone, Serialize)]
pub struct Amounts {
    /// Rounds, each on a cluster of its own.
    pub repeats: usize,
    /// Values in the range that is copied.
    pub values: u64,
    /// Bytes in each.
    pub value_bytes: usize,
    /// Requests a second beside the copy: a quarter puts, the others gets.
    pub rate_per_s: f64,
    /// Bytes of the values of clients.
    pub small_bytes: usize,
    /// Seconds of load before the copy.
    pub before_s: u64,
    /// Changes of leader.
    pub transfers: usize,
}

/// What a round needs.
#[derive(Debug)]
pub struct Given<'a> {
    /// The program.
    pub dunlin: PathBuf,
    /// Where nodes keep their data.
    pub data: PathBuf,
    /// How much.
    pub amounts: Amounts,
    /// The user's.
    pub interrupt: &'a Interrupt,
    /// Lines on the way.
    pub progress: Progress,
}
