//! What the numbers were measured on.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::memory::kib_field;

/// A machine and the versions of what ran on it.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// CPU model as the kernel names it.
    pub cpu: String,
    /// CPUs this process may use.
    pub cores: usize,
    /// Whether the kernel runs under a hypervisor.
    pub virtual_machine: bool,
    /// Memory in all.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Distribution.
    pub system: String,
    /// Device and file system that hold the data.
    pub disk: String,
}

impl Machine {
    /// Describes this machine; what cannot be read is `unknown`.
    pub fn describe(data: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        Machine {
            cpu: or_unknown(colon_field(&cpuinfo, "model name")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            virtual_machine: colon_field(&cpuinfo, "flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory_bytes: kib_field(&read("/proc/meminfo"), "MemTotal:").unwrap_or(0) * 1024,
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            system: or_unknown(quoted_field(&read("/etc/os-release"), "PRETTY_NAME")),
            disk: or_unknown(mount_of(&read("/proc/mounts"), data)),
        }
    }
}

impl Machine {
    /// One line: CPU, cores, memory, and what is `kept` on which disk.
    pub fn line(&self, kept: &str) -> String {
        format!("{}; {kept} on {}", self.line_without_disk(), self.disk)
    }

    /// The same of a run that has nothing on a disk.
    pub fn line_without_disk(&self) -> String {
        format!(
            "{}, {} cores{}, {:.1} GB memory",
            self.cpu,
            self.cores,
            if self.virtual_machine {
                " (virtual)"
            } else {
                ""
            },
            self.memory_bytes as f64 / 1e9
        )
    }
}

/// The first line that a program prints for `--version`; `None` when it cannot be run.
pub fn version(program: &Path, name: &str) -> Option<String> {
    use std::os::unix::process::CommandExt;
    let output = Command::new(program)
        .arg0(name)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next()?.trim().to_owned())
}

/// The commit checked out in the current directory; `None` outside a repository.
pub fn revision() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=10"])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn or_unknown(text: Option<&str>) -> String {
    text.unwrap_or("unknown").to_owned()
}

fn colon_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn quoted_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"'))
}

/// `DEVICE FILESYSTEM` of the mount that holds `path`: the longest mount point above it, the
/// later of two equal ones.
fn mount_of<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter(|line| {
            let point = line.split(' ').nth(1);
            point.is_some_and(|point| path.starts_with(point))
        })
        .max_by_key(|line| line.split(' ').nth(1).map_or(0, str::len))
        .and_then(|line| {
            let options = line.match_indices(' ').nth(2)?.0;
            Some(&line[..options])
        })
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
