//! Processes and those that they started, from `/proc`.

use std::collections::BTreeMap;
use std::fs;

use super::memory::peak_bytes;

/// The process and all that descend from it and have not ended.
pub fn of(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().flat_map(str::parse::<u32>);
            found.extend(children);
        }
    }
    found
}

/// The most memory of a process and its descendants, each at its own most; what they share counts
/// in each.
#[derive(Debug, Clone, Default)]
pub struct Peak {
    by_pid: BTreeMap<u32, u64>,
}

impl Peak {
    /// Looks at the process and its descendants, to be done now and then while they run.
    pub fn look(&mut self, pid: u32) {
        for pid in of(pid) {
            if let Some(bytes) = peak_bytes(pid) {
                self.by_pid.insert(pid, bytes);
            }
        }
    }

    /// The sum of what was seen.
    pub fn bytes(&self) -> u64 {
        self.by_pid.values().sum()
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
