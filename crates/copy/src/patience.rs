//! The time for which what fails is tried again.

use std::time::{Duration, Instant};

use dunlin_client::ClientError;

use crate::CopyError;
use crate::error::RefusalCode;
use crate::watch::Watch;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks at whether somebody wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whether an error may go away by itself.
fn is_passing(error: &CopyError) -> bool {
    match error {
        // A full disk wants somebody who makes room.
        CopyError::Cluster(ClientError::Unavailable { status: 507, .. }) => false,
        CopyError::Cluster(error) => error.is_retryable(),
        CopyError::Lost { .. }
        | CopyError::Receiver {
            code: RefusalCode::Busy,
            ..
        } => true,
        _ => false,
    }
}

/// The time within which something must succeed again, from its first failure on.
pub(crate) struct Patience {
    retry_for: Duration,
    lost: Option<Instant>,
    pause: Duration,
}

impl Patience {
    pub fn new(retry_for: Duration) -> Patience {
        Patience {
            retry_for,
            lost: None,
            pause: FIRST_PAUSE,
        }
    }

    /// Waits before the next attempt, or gives the error back when there is to be none.
    pub fn bear(&mut self, error: CopyError, watch: &Watch) -> Result<(), CopyError> {
        let lost = *self.lost.get_or_insert_with(Instant::now);
        if !is_passing(&error) || lost.elapsed() >= self.retry_for {
            return Err(error);
        }
        watch.retry();
        watch.failed(&error, lost + self.retry_for);
        rest(self.pause, watch)?;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}

/// Sleeps, but not through a wish to stop.
pub(crate) fn rest(duration: Duration, watch: &Watch) -> Result<(), CopyError> {
    let end = Instant::now() + duration;
    loop {
        watch.check()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(LOOK_EVERY));
    }
}
