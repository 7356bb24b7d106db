//! What cursors have read from segments lately, for others that are near: read and decompressed once.

use crate::Index;
use bytes::Bytes;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// Reads that are kept, each of no more than its cursor asked for: usually 256 KiB. A slower cursor that is
/// further behind than these reads for itself.
const READS_MAX: usize = 8;

type Batch = Vec<(Index, Bytes)>;

/// The reads of a log that others may want. Nothing is kept while fewer than two cursors read from disk.
#[derive(Default)]
pub(crate) struct Near {
    readers: Cell<usize>,
    reads: RefCell<VecDeque<Batch>>,
}

impl Near {
    /// What is kept from a position on: at least one record, no more than `max_bytes` of payload else.
    pub(super) fn read(&self, position: Index, max_bytes: usize) -> Option<Batch> {
        let reads = self.reads.borrow();
        let has = |batch: &&Batch| {
            let (first, last) = (batch.first(), batch.last());
            first.is_some_and(|(first, _)| *first <= position)
                && last.is_some_and(|(last, _)| position <= *last)
        };
        let batch = reads.iter().find(has)?;
        // Indexes of a read follow each other.
        let begin = batch.partition_point(|(index, _)| *index < position);
        let mut bytes = 0;
        let fits = |(_, record): &&(Index, Bytes)| {
            bytes += record.len();
            bytes <= max_bytes
        };
        let rest = batch.get(begin..)?;
        let count = rest.iter().take_while(fits).count().max(1);
        Some(rest.get(..count)?.to_vec())
    }

    /// A cursor has read these from disk.
    pub(super) fn was_read(&self, batch: &Batch) {
        if self.readers.get() < 2 || batch.is_empty() {
            return;
        }
        let mut reads = self.reads.borrow_mut();
        reads.truncate(READS_MAX - 1);
        reads.push_front(batch.clone());
    }
}

/// A cursor that reads from disk.
pub(super) struct Reader(Rc<Near>);

impl Reader {
    pub(super) fn new(near: &Rc<Near>) -> Reader {
        near.readers.set(near.readers.get() + 1);
        Reader(Rc::clone(near))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.set(self.0.readers.get() - 1);
        if self.0.readers.get() < 2 {
            self.0.reads.borrow_mut().clear();
        }
    }
}

#[cfg(test)]
#[path = "near_tests.rs"]
mod tests;
