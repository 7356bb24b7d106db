//! Accepts that fail: how long to wait after each, and which to tell of. Usually the process has run
//! out of file descriptors, and each failure is followed by the next.
use std::time::Duration;
use tokio::time::Instant;

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// No two are told of within this.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Failures of one listener.
#[derive(Debug, Default)]
pub struct FailedAccepts {
    pause: Option<Duration>,
    told: Option<Instant>,
    untold: u64,
}

impl FailedAccepts {
    /// One has failed: how long to wait, and how many there were since this was last told of, if it
    /// is time to tell.
    pub fn failed(&mut self, now: Instant) -> (Duration, Option<u64>) {
        let pause = self.pause.unwrap_or(PAUSE_MIN);
        self.pause = Some((pause * 2).min(PAUSE_MAX));
        self.untold += 1;
        let is_due = self.told.is_none_or(|told| now - told >= TELL_EVERY);
        let tell = is_due.then(|| {
            self.told = Some(now);
            std::mem::take(&mut self.untold)
        });
        (pause, tell)
    }

    /// One has not.
    pub fn passed(&mut self) {
        self.pause = None;
    }

    /// Tells of a failure, now and then, and waits.
    pub async fn pause_after(&mut self, what: &str, error: &std::io::Error) {
        let (pause, tell) = self.failed(Instant::now());
        if let Some(times) = tell {
            tracing::warn!(%error, times, "{what} could not be accepted");
        }
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
#[path = "failed_tests.rs"]
mod tests;
