//! How far the log has come, and waiting for it to come further.

use super::{Log, State};
use crate::{
    Index,
    error::{Failure, Lack},
};

/// A view of the log's progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Last index written.
    pub written: Index,
    /// Last index synced.
    pub synced: Index,
    /// Why the log has stopped: neither index will advance any more.
    pub failed: Option<Failure>,
    /// What there is too little of to go on, as far as known; all is tried again every second.
    pub lack: Option<Lack>,
}

impl State {
    fn progress(&self) -> Progress {
        Progress {
            written: self.written,
            synced: self.synced,
            failed: self.failed.clone(),
            lack: self.lack,
        }
    }
}

impl Log {
    /// The progress now.
    pub fn progress(&self) -> Progress {
        self.shared.state.borrow().progress()
    }

    /// Waits until the progress differs from what the caller has seen.
    pub async fn changed(&self, seen: &Progress) -> Progress {
        loop {
            let notified = self.shared.progressed.notified();
            let now = self.progress();
            if now != *seen {
                return now;
            }
            notified.await;
        }
    }

    /// Waits until a record is synced.
    ///
    /// # Errors
    /// The log has stopped; the record may or may not be on disk.
    pub async fn wait_synced(&self, index: Index) -> Result<(), Failure> {
        self.wait(|state| state.synced >= index).await
    }

    /// Waits until a record is written.
    ///
    /// # Errors
    /// The log has stopped; the record may or may not be on disk.
    pub async fn wait_written(&self, index: Index) -> Result<(), Failure> {
        self.wait(|state| state.written >= index).await
    }

    pub(super) async fn wait(&self, reached: impl Fn(&State) -> bool) -> Result<(), Failure> {
        loop {
            let notified = self.shared.progressed.notified();
            {
                let state = self.shared.state.borrow();
                if reached(&state) {
                    return Ok(());
                }
                if let Some(failure) = &state.failed {
                    return Err(failure.clone());
                }
            }
            notified.await;
        }
    }
}
