//! A consumer's position in a log: reads from memory while it keeps up, from the segments when it
//! does not. Between calls it holds nothing but its position in memory, and in a segment what it read
//! last there: at most a chunk, a compressed batch and a record.

pub(crate) mod near;
mod read;

use crate::{
    Index,
    disk::is_out_of_files,
    error::{CursorError, Failure},
    log::Log,
    segment::name,
};
use bytes::Bytes;
use read::{Place, ReadError};
use std::time::Duration;
use tokio::time::sleep;

/// Pause before a segment that could not be opened for the lack of descriptors is opened again.
const FILES_PAUSE: Duration = Duration::from_millis(200);

/// What the in-memory tail has for a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// Nothing beyond the cursor.
    Empty,
    /// These records; the cursor has moved past them.
    Batch(Vec<(Index, Bytes)>),
    /// The record is no longer in memory: call `next`.
    NeedsDisk,
}

/// Reads a log's records in order.
pub struct Cursor {
    log: Log,
    position: Index,
    /// Where in a segment the position is, when that is known; it may be a little behind.
    place: Option<Place>,
    /// Its reads from disk go after those of others.
    goes_after: bool,
    /// Those that read from disk, while this one does.
    reads: Option<near::Reader>,
}

impl Cursor {
    pub(crate) fn new(log: Log, from: Index) -> Cursor {
        Cursor {
            log,
            position: from.max(1),
            place: None,
            goes_after: false,
            reads: None,
        }
    }

    /// From now on its reads from disk go after those of other cursors, on a thread of their own.
    #[must_use]
    pub fn going_after(mut self) -> Cursor {
        self.goes_after = true;
        self
    }

    /// Index of the next record.
    pub fn position(&self) -> Index {
        self.position
    }

    /// Moves to another record.
    pub fn seek(&mut self, index: Index) {
        if index != self.position {
            self.position = index.max(1);
            self.place = None;
            self.reads = None;
        }
    }

    /// Records from memory, also those not yet written: at least one if there is one, no more than
    /// `max_bytes` of payload else. Nothing is copied.
    pub fn try_next(&mut self, max_bytes: usize) -> Tail {
        let state = self.log.shared.state.borrow();
        if self.position > state.last {
            return Tail::Empty;
        }
        if self.position < state.tail.first() {
            return Tail::NeedsDisk;
        }
        let batch = state.tail.read(self.position, max_bytes);
        self.position += batch.len() as u64;
        self.place = None;
        self.reads = None;
        Tail::Batch(batch)
    }

    /// Waits for records: at least one, no more than `max_bytes` of payload else. Only written
    /// records come from disk; one that is kept keeps what was read with it, up to 256 KiB or a
    /// block. Where no file can be opened for the lack of descriptors it waits for one. Dropped
    /// while it waits, the cursor has not moved.
    ///
    /// # Errors
    /// See [`CursorError`]; the cursor has not moved then.
    pub async fn next(&mut self, max_bytes: usize) -> Result<Vec<(Index, Bytes)>, CursorError> {
        loop {
            let log = self.log.clone();
            let appended = log.shared.appended.notified();
            match self.try_next(max_bytes) {
                Tail::Batch(batch) => return Ok(batch),
                Tail::NeedsDisk => {
                    if let Some(batch) = self.read(max_bytes).await? {
                        return Ok(batch);
                    }
                }
                Tail::Empty => {
                    if let Some(failure) = log.failure() {
                        return Err(CursorError::Failed(failure));
                    }
                    if log.shared.state.borrow().closed {
                        return Err(CursorError::Failed(Failure::new("the log is closed")));
                    }
                    appended.await;
                }
            }
        }
    }

    /// Reads from a segment. None when it is to be tried again: what stands at the position has
    /// changed meanwhile, or no file could be opened.
    async fn read(&mut self, max_bytes: usize) -> Result<Option<Vec<(Index, Bytes)>>, CursorError> {
        let position = self.position;
        let shared = std::rc::Rc::clone(&self.log.shared);
        let segment = {
            let state = shared.state.borrow();
            let first = state.first();
            if position < first {
                return Err(CursorError::TooOld { first });
            }
            let after = state
                .segments
                .partition_point(|segment| segment.first_index <= position);
            match state.segments.get(after.saturating_sub(1)) {
                Some(segment) => (segment.number, segment.first_index, segment.bytes),
                None => return Err(CursorError::TooOld { first }),
            }
        };
        let (number, first_index, limit) = segment;
        self.reads
            .get_or_insert_with(|| near::Reader::new(&shared.near));
        if let Some(batch) = shared.near.read(position, max_bytes) {
            self.position = position + batch.len() as u64;
            return Ok(Some(batch));
        }
        let place = self
            .place
            .take()
            .filter(|place| place.leads_to(number, position));
        let (disk, path) = (
            std::sync::Arc::clone(&shared.disk),
            shared.dir.join(name::segment(number)),
        );
        let read = move || {
            let place = match place {
                Some(place) => place.grown(limit),
                None => Place::open(&*disk, &path, number, first_index, limit)?,
            };
            place.read(position, max_bytes)
        };
        let result = if self.goes_after {
            shared.runner.run_read_after(read).await
        } else {
            shared.runner.run_read(read).await
        };
        let result = result.map_err(|gone| CursorError::Failed(Failure::new(gone.to_string())))?;
        match result {
            Ok((batch, place)) => {
                self.position = position + batch.len() as u64;
                self.place = place;
                shared.near.was_read(&batch);
                Ok(Some(batch))
            }
            // Released while it was read: the bytes were already another segment's.
            Err(_) if shared.state.borrow().first() > position => Ok(None),
            Err(ReadError::Damaged(offset)) => Err(CursorError::Damaged {
                file: name::segment(number),
                offset,
            }),
            Err(ReadError::Io(error)) if is_out_of_files(&error) => {
                sleep(FILES_PAUSE).await;
                Ok(None)
            }
            Err(ReadError::Io(error)) => Err(CursorError::Failed(Failure::new(format!(
                "reading {}: {error}",
                name::segment(number)
            )))),
        }
    }
}
