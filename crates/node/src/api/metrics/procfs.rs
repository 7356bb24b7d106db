//! What Linux tells of a process, under the names that every Prometheus client uses.

use std::fs::{read_dir, read_to_string};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

use super::gauges;

/// Ticks a second in what `/proc` tells programs, on every machine that Linux runs on today.
const USER_HZ: f64 = 100.0;

/// Figures of this process; what the system does not tell is left out.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Figures {
    cpu_s: Option<f64>,
    start_s: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
}

impl Figures {
    pub fn now() -> Figures {
        let file = |path| read_to_string(path).unwrap_or_default();
        Figures {
            // One is for looking.
            open_fds: read_dir("/proc/self/fd")
                .ok()
                .map(|files| (files.count() as u64).saturating_sub(1)),
            ..Figures::of(
                &file("/proc/self/stat"),
                &file("/proc/self/status"),
                &file("/proc/self/limits"),
                &file("/proc/stat"),
            )
        }
    }

    /// Out of the files of these names, the last of them the machine's.
    fn of(stat: &str, status: &str, limits: &str, machine: &str) -> Figures {
        // The name in front of it may hold anything, a bracket and spaces too.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        // Counted as proc(5) does: the state, which comes first, is the third.
        let ticks = |field: usize| -> Option<f64> {
            after_name.split_whitespace().nth(field - 3)?.parse().ok()
        };
        let booted_s = word_after(machine, "btime").and_then(|word| word.parse::<f64>().ok());
        let bytes = |name| Some(word_after(status, name)?.parse::<u64>().ok()? * 1024);
        Figures {
            cpu_s: ticks(14)
                .zip(ticks(15))
                .map(|(user, system)| (user + system) / USER_HZ),
            start_s: booted_s
                .zip(ticks(22))
                .map(|(booted_s, since)| booted_s + since / USER_HZ),
            resident_bytes: bytes("VmRSS:"),
            virtual_bytes: bytes("VmSize:"),
            open_fds: None,
            max_fds: word_after(limits, "Max open files").and_then(|word| word.parse().ok()),
        }
    }

    pub fn register(&self, registry: &mut Registry) {
        if let Some(cpu_s) = self.cpu_s {
            let counter = Counter::<f64, AtomicU64>::default();
            counter.inc_by(cpu_s);
            registry.register(
                "process_cpu_seconds",
                "CPU time of the process, user and system, in seconds",
                counter,
            );
        }
        if let Some(start_s) = self.start_s {
            let gauge = Gauge::<f64, AtomicU64>::default();
            gauge.set(start_s);
            registry.register(
                "process_start_time_seconds",
                "When the process started, in seconds since 1970",
                gauge,
            );
        }
        let figures = [
            (
                "process_resident_memory_bytes",
                "Memory of the process that is in RAM",
                self.resident_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Memory that the process has mapped",
                self.virtual_bytes,
            ),
            (
                "process_open_fds",
                "File descriptors that the process has open",
                self.open_fds,
            ),
            (
                "process_max_fds",
                "File descriptors that the process may open",
                self.max_fds,
            ),
        ];
        gauges(registry, figures);
    }
}

/// The first word after the name that a line begins with.
fn word_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()
}

#[cfg(test)]
#[path = "procfs_tests.rs"]
mod tests;
