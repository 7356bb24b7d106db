//! Lines that say what is being done.

use std::time::{Duration, Instant};

/// Prints lines with the time since the start to standard error.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    start: Instant,
}

impl Progress {
    /// Starts the time.
    pub fn start() -> Progress {
        Progress {
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Prints one line.
    pub fn say(&self, line: &str) {
        eprintln!("[{:5.0} s] {line}", self.elapsed().as_secs_f64());
    }
}
