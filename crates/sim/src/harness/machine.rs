//! A host as its node sees the machine: power losses count, files are never copied.

use std::path::Path;

use dunlin_node::Machine;

/// A machine that was switched on so often.
pub struct SimMachine {
    /// Times power came back.
    pub boots: u64,
}

impl Machine for SimMachine {
    fn boot(&self) -> Option<String> {
        Some(format!("boot {}", self.boots))
    }

    fn file(&self, _path: &Path) -> Option<String> {
        None
    }

    fn is_put_back(&self, _path: &Path) -> bool {
        false
    }
}
