//! Which segments of the log may go.

use std::cell::Cell;

use dunlin_log::AppendError;

use crate::RaftLog;
use crate::group::Position;

/// So many segments are kept: fewer are not worth the rewriting.
const SEGMENTS: usize = 2;

/// Why segments were not released. Tried again, it may succeed.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The log takes nothing now.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// It has stopped.
    #[error("the log has stopped: {0}")]
    Failed(dunlin_log::Failure),
}

impl RaftLog {
    /// Whether there is enough to be released.
    pub fn is_long(&self) -> bool {
        !self.is_releasing.get() && self.log.segments().len() > SEGMENTS
    }

    /// Releases all segments but the newest: first each group is written anew as it is behind what the store
    /// has flushed of it, which `flushed` tells. Whatever stands before is not needed then.
    ///
    /// # Errors
    /// See [`ReleaseError`]; nothing was released.
    pub async fn release(
        &self,
        flushed: impl Fn(u64) -> Option<Position>,
    ) -> Result<(), ReleaseError> {
        let _releasing = Releasing::begin(&self.is_releasing);
        let first = self.log.segments().last().map_or(0, |s| s.first_index);
        let mut last = self.log.last();
        for group in self.groups() {
            let Some(log) = self.group(group) else {
                continue;
            };
            // What the store did not have yet is written whole: it was made meanwhile.
            let position = flushed(group).unwrap_or_else(|| log.borrow().before());
            let Some(record) = log.borrow().rewritten(group, position) else {
                return Ok(());
            };
            // It changes nothing in memory: there is more there.
            last = self.append(&record)?;
        }
        self.log
            .wait_synced(last)
            .await
            .map_err(ReleaseError::Failed)?;
        self.log.release(first);
        Ok(())
    }
}

struct Releasing<'a>(&'a Cell<bool>);

impl<'a> Releasing<'a> {
    fn begin(cell: &'a Cell<bool>) -> Self {
        cell.set(true);
        Releasing(cell)
    }
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
