//! CPU time of processes and of the machine, from `/proc`.

use std::fs;
use std::time::Duration;

/// Sums the CPU time of a set of processes, threads and ended threads included.
#[derive(Debug, Clone)]
pub struct Meter {
    pids: Vec<u32>,
    ticks_per_s: u64,
}

impl Meter {
    /// A meter of these processes.
    pub fn new(pids: Vec<u32>) -> Meter {
        Meter {
            pids,
            ticks_per_s: rustix::param::clock_ticks_per_second().max(1),
        }
    }

    /// User and system time so far; a process that has ended counts nothing.
    pub fn total(&self) -> Duration {
        self.sum(process_ticks)
    }

    /// The same of their children that have ended: a server may have a process for each connection.
    pub fn ended_children(&self) -> Duration {
        self.sum(children_ticks)
    }

    fn sum(&self, ticks: fn(&str) -> Option<u64>) -> Duration {
        let stats = self
            .pids
            .iter()
            .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        let ticks = stats.filter_map(|stat| ticks(&stat)).sum();
        time_of(ticks, self.ticks_per_s)
    }
}

/// CPU time of this process's children that have ended, with theirs.
pub fn children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks_per_s = rustix::param::clock_ticks_per_second().max(1);
    time_of(children_ticks(&stat).unwrap_or(0), ticks_per_s)
}

fn time_of(ticks: u64, ticks_per_s: u64) -> Duration {
    Duration::from_micros(ticks * 1_000_000 / ticks_per_s)
}

/// `utime + stime` of a `/proc/PID/stat` line.
pub fn process_ticks(stat: &str) -> Option<u64> {
    two_fields(stat, 11)
}

/// `cutime + cstime` of such a line.
fn children_ticks(stat: &str) -> Option<u64> {
    two_fields(stat, 13)
}

/// The sum of a field and the next, counted from behind the name.
fn two_fields(stat: &str, first: usize) -> Option<u64> {
    // The name in parentheses may hold anything, so fields are counted from its end.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(field(first)? + field(first + 1)?)
}

/// What all CPUs of the machine did so far, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Machine {
    total: u64,
    idle: u64,
    steal: u64,
}

impl Machine {
    /// Reads the counters; zeros when they cannot be read.
    pub fn read() -> Machine {
        fs::read_to_string("/proc/stat")
            .ok()
            .and_then(|stat| machine_ticks(&stat))
            .unwrap_or_default()
    }

    /// Shares of the time since `before`: (busy, stolen by the hypervisor), 0 to 1.
    pub fn shares_since(&self, before: &Machine) -> (f64, f64) {
        let total = self.total.saturating_sub(before.total).max(1) as f64;
        let idle = self.idle.saturating_sub(before.idle) as f64;
        let steal = self.steal.saturating_sub(before.steal) as f64;
        (((total - idle - steal) / total).max(0.0), steal / total)
    }
}

fn machine_ticks(stat: &str) -> Option<Machine> {
    let fields: Vec<u64> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    Some(Machine {
        // Guest time is already part of user time.
        total: fields.iter().take(8).sum(),
        idle: fields.get(3)? + fields.get(4)?,
        steal: *fields.get(7)?,
    })
}

#[cfg(test)]
#[path = "cpu_tests.rs"]
mod tests;
