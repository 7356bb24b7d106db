//! A report as data; its JSON form is exactly this.

use serde::Serialize;

use crate::host::machine::Machine;
use crate::report::model::Target;
use crate::wal::cause::Experiment;
use crate::wal::cell::Cell;
use crate::wal::device::Device;
use crate::wal::plan::Plan;
use crate::wal::read::Read;
use crate::wal::rival::Rival;

/// All that one run of `dunlin-bench wal` found.
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
    /// How much was measured.
    pub plan: Plan,
    /// What was to be reached.
    pub targets: Vec<Target>,
    /// The grid.
    pub cells: Vec<Cell>,
    /// The experiments.
    pub causes: Vec<Experiment>,
    /// Beside RocksDB's log; `None` when that was not measured.
    pub rival: Option<Rival>,
    /// Beside the disk; `None` when that was not measured.
    pub device: Option<Device>,
    /// Reading back.
    pub read: Vec<Read>,
    /// How long all of it took.
    pub wall_s: f64,
}

impl Report {
    /// The block sizes of the grid, smallest first.
    pub fn block_sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.cells.iter().map(|cell| cell.block_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The cells of a block size, by key + value.
    pub fn cells_of(&self, block_bytes: u32) -> Vec<&Cell> {
        let mut cells: Vec<&Cell> = self
            .cells
            .iter()
            .filter(|cell| cell.block_bytes == block_bytes)
            .collect();
        cells.sort_by_key(|cell| (cell.entry.user_bytes(), cell.entry.key_bytes));
        cells
    }
}
