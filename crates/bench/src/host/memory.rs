//! Resident memory of processes, from `/proc`.

use std::fs;

/// Resident bytes of the processes together; shared pages count in each.
pub fn resident_bytes(pids: &[u32]) -> u64 {
    pids.iter()
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/status")).ok())
        .filter_map(|status| kib_field(&status, "VmRSS:"))
        .map(|kib| kib * 1024)
        .sum()
}

/// The most bytes that a process had resident so far; `None` when it has ended.
pub fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(kib_field(&status, "VmHWM:")? * 1024)
}

/// The number of a `Name:   123 kB` line; the unit need not be there.
pub fn kib_field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
