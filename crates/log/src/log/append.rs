//! Accepting records: memory only.

use super::{Log, State};
use crate::{
    Index,
    block::{FRAGMENT_MAX, RECYCLABLE_HEADER},
    error::{AppendError, Lack},
    options::Options,
    segment::{SegmentInfo, SegmentSettings},
    writer::Item,
};
use bytes::Bytes;

impl Log {
    /// Accepts a record and gives it its index. It is in cursors' sight at once, and written by
    /// [`Log::drive`]; with `sync` the group it is written with is synced too. Never blocks.
    ///
    /// # Errors
    /// See [`AppendError`]; the record has not been accepted then.
    pub fn append(&self, record: Bytes, sync: bool) -> Result<Index, AppendError> {
        let options = &self.shared.options;
        let index = {
            let mut state = self.shared.state.borrow_mut();
            let size = physical(options, record.len());
            state.admit(options)?;
            if state.segments.is_empty() {
                return Err(AppendError::NoSegment);
            }
            let full = state.active_bytes + size > options.segment_bytes;
            if let Some(lack) = state.lack.filter(|_| full && state.spares == 0) {
                return Err(lack.into());
            }
            state.sync_wanted |= sync;
            state.accept(record, size, Item::Record)
        };
        self.wake();
        Ok(index)
    }

    /// Whether the active segment is full (or there is none yet), so that `rotate` should be called
    /// before the next record.
    pub fn should_rotate(&self) -> bool {
        let options = &self.shared.options;
        let state = self.shared.state.borrow();
        // A block is left for marks and for the record that does not quite fit.
        let limit = options.segment_bytes - u64::from(options.block_size_bytes);
        state.segments.is_empty() || state.active_bytes >= limit
    }

    /// Begins a new segment with `preamble` as its first record, and gives that its index.
    ///
    /// # Errors
    /// See [`AppendError`]; the active segment stays the active one then.
    pub fn rotate(&self, preamble: Bytes) -> Result<Index, AppendError> {
        let options = &self.shared.options;
        let index = {
            let mut state = self.shared.state.borrow_mut();
            state.admit(options)?;
            // Of the spares, those that rotations still in the queue will take are no longer free.
            let rotations = state
                .queue
                .iter()
                .filter(|item| matches!(item, Item::Rotate(_)))
                .count();
            if let Some(lack) = state.lack.filter(|_| state.spares <= rotations) {
                return Err(lack.into());
            }
            let first_index = state.last + 1;
            let number = state.segments.back().map_or(1, |last| last.number + 1);
            state.segments.push_back(SegmentInfo {
                number,
                first_index,
                last_index: first_index,
                bytes: 0,
                preamble: preamble.clone(),
                // Whether direct I/O is allowed is known when the writer begins it.
                settings: SegmentSettings::of(options),
            });
            state.active_bytes = 0;
            state.queued_bytes = 0;
            let size = physical(options, preamble.len()) + u64::from(options.block_size_bytes) / 64;
            state.accept(preamble, size, Item::Rotate)
        };
        self.wake();
        Ok(index)
    }

    /// Asks that what has been accepted so far be synced, whatever its records asked for.
    pub fn request_sync(&self) {
        self.shared.state.borrow_mut().sync_wanted = true;
        self.shared.work.notify_one();
    }

    fn wake(&self) {
        self.shared.work.notify_one();
        self.shared.appended.notify_waiters();
    }
}

impl State {
    /// Whether anything can be accepted now.
    fn admit(&self, options: &Options) -> Result<(), AppendError> {
        if let Some(failure) = &self.failed {
            return Err(AppendError::Failed(failure.clone()));
        }
        if self.closing {
            return Err(AppendError::Closed);
        }
        if self.blocked {
            return Err(self.lack.unwrap_or(Lack::Space).into());
        }
        if self.pending_bytes() > options.backlog_bytes {
            return Err(AppendError::Backlog);
        }
        Ok(())
    }

    fn accept(&mut self, record: Bytes, size: u64, item: impl FnOnce(Bytes) -> Item) -> Index {
        self.last += 1;
        self.active_bytes += size;
        self.queued_bytes += size;
        self.queue_bytes += record.len();
        if let Some(active) = self.segments.back_mut() {
            active.last_index = self.last;
        }
        self.tail.push(record.clone());
        self.queue.push(item(record));
        self.last
    }
}

/// Physical bytes of a record of this length, on average: its headers, nothing for padding, nothing
/// off for compression, so that a segment does not outgrow what was reserved for it. The writer's
/// true position corrects the sum after each group.
fn physical(options: &Options, length: usize) -> u64 {
    let body = (options.block_size_bytes as usize - RECYCLABLE_HEADER).min(FRAGMENT_MAX);
    (length + RECYCLABLE_HEADER * (1 + length / body)) as u64
}
