//! How often processes gave a processor up or had it taken away, from `/proc`.

use std::fs;

use super::memory::kib_field;

/// Context switches of all threads of the processes that have not ended, wanted and unwanted ones.
pub fn switches(pids: &[u32]) -> u64 {
    let tasks = pids
        .iter()
        .filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
    tasks
        .flatten()
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .map(|status| of_task(&status))
        .sum()
}

fn of_task(status: &str) -> u64 {
    let fields = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
    let fields = fields.map(|name| kib_field(status, name).unwrap_or(0));
    fields.iter().sum()
}

#[cfg(test)]
#[path = "switches_tests.rs"]
mod tests;
