//! Letting go of old segments.

use super::{Log, State};
use crate::Index;

impl Log {
    /// Lets go of the segments wholly below an index; their files are recycled or removed by
    /// [`Log::drive`]. The active segment stays, and a segment stays until the next one's beginning
    /// is synced (a sync is asked for), so that a power loss never leaves the log without any.
    pub fn release(&self, before: Index) {
        {
            let mut state = self.shared.state.borrow_mut();
            state.release_before = state.release_before.max(before);
            state.release();
        }
        self.shared.work.notify_one();
    }
}

impl State {
    /// Moves what may go to `released`.
    pub(super) fn release(&mut self) {
        while let (Some(oldest), true) = (self.segments.front(), self.segments.len() > 1) {
            if oldest.last_index >= self.release_before {
                return;
            }
            if oldest.last_index >= self.synced {
                self.sync_wanted = true;
                return;
            }
            self.released.push(oldest.number);
            self.segments.pop_front();
        }
    }
}
