//! What the machine gives this process: file descriptors, memory and processors.

use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How much there is of what runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Files and connections that may be open at a time.
    pub descriptors: u64,
    /// Bytes of memory that the process may use.
    pub memory_bytes: u64,
    /// Processors that it may use.
    pub processors: usize,
}

/// Where nobody says how much memory there is.
const MEMORY_BYTES: u64 = 1 << 30;

impl Machine {
    /// Looks, and takes all descriptors that may be had: the lower limit of most systems is meant
    /// for programs of another age.
    pub fn take() -> Machine {
        let limit = getrlimit(Resource::Nofile);
        let most = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        // Refused, it stays as it was.
        let _ = setrlimit(Resource::Nofile, most);
        let now = getrlimit(Resource::Nofile).current;
        Machine {
            descriptors: now.unwrap_or(u64::MAX),
            memory_bytes: memory_bytes(),
            // Where nobody says, one is enough for all there is to do.
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

fn memory_bytes() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let total = total_bytes(&read(Path::new("/proc/meminfo")));
    let groups = read(Path::new("/proc/self/cgroup"));
    let limits = limit_files(&groups)
        .into_iter()
        .filter_map(|path| read(Path::new(&path)).trim().parse().ok());
    limits.chain(total).min().unwrap_or(MEMORY_BYTES)
}

/// `MemTotal` out of `/proc/meminfo`.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// The files that limit the memory of the groups named in `/proc/self/cgroup` and of those above
/// them. In a container the group's own path may not be there, but the root is.
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut group = group.trim_end_matches('/');
        loop {
            files.push(format!("{root}{group}/{file}"));
            match group.rfind('/') {
                Some(end) => group = &group[..end],
                None => break,
            }
        }
    }
    files
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
