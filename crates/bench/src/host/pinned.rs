//! Threads with a processor each, and the CPU time of a thread.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

/// The CPU time of a thread of this process.
#[derive(Debug, Clone, Copy)]
pub struct ThreadClock(Pid);

impl ThreadClock {
    /// That of the thread that calls this.
    pub fn of_this() -> ThreadClock {
        ThreadClock(gettid())
    }

    /// User and system time so far; zero when the thread has ended.
    pub fn total(self) -> Duration {
        let path = format!("/proc/self/task/{}/schedstat", self.0.as_raw_pid());
        let stat = fs::read_to_string(path).unwrap_or_default();
        Duration::from_nanos(on_processor_ns(&stat).unwrap_or(0))
    }
}

/// The first field of a `schedstat` line, in nanoseconds.
fn on_processor_ns(stat: &str) -> Option<u64> {
    stat.split_whitespace().next()?.parse().ok()
}

/// Has this thread run on the processor of this number alone, counted among those that the process may use: one that
/// there is not is the last.
///
/// # Errors
/// When the system refuses it.
pub fn pin(number: usize) -> io::Result<()> {
    sched_setaffinity(Some(gettid()), &only(number)?)?;
    Ok(())
}

fn only(number: usize) -> io::Result<CpuSet> {
    let may_use = sched_getaffinity(Some(rustix::process::getpid()))?;
    let mut usable = (0..CpuSet::MAX_CPU).filter(|cpu| may_use.is_set(*cpu));
    let last = usable.clone().next_back().unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(usable.nth(number).unwrap_or(last));
    Ok(one)
}

/// Has all threads of a process, and those that they will start, run on the processor of this number alone. One that has ended
/// needs none.
///
/// # Errors
/// When the system refuses it.
pub fn pin_process(pid: u32, number: usize) -> io::Result<()> {
    let one = only(number)?;
    let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        tasks => tasks?,
    };
    for task in tasks.flatten() {
        let name = task.file_name();
        let thread = name.to_str().and_then(|name| name.parse().ok());
        if let Some(thread) = thread.and_then(Pid::from_raw) {
            // A thread may have ended meanwhile.
            sched_setaffinity(Some(thread), &one).ok();
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "pinned_tests.rs"]
mod tests;
