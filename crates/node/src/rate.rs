//! Bytes a second over the last seconds.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(2);

/// A count of bytes, and how fast it grew in the last window.
#[derive(Debug, Default)]
pub struct Rate {
    bytes: Cell<u64>,
    window: Cell<Option<(Instant, u64)>>,
    bytes_per_s: Cell<u64>,
}

impl Rate {
    /// Counts bytes.
    pub fn add(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes as u64);
    }

    /// Closes the window when it is over.
    pub fn tick(&self, now: Instant) {
        match self.window.get() {
            Some((since, bytes)) if now - since >= WINDOW => {
                let rate = (self.bytes.get() - bytes) as f64 / (now - since).as_secs_f64();
                self.bytes_per_s.set(rate as u64);
                self.window.set(Some((now, self.bytes.get())));
            }
            Some(_) => {}
            None => self.window.set(Some((now, self.bytes.get()))),
        }
    }

    /// The rate of the last window that is over.
    pub fn bytes_per_s(&self) -> u64 {
        self.bytes_per_s.get()
    }
}
