//! A place in a shard's log that goes on, as far as whoever reads may see.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use dunlin_log::{Cursor, CursorError, Index, Log, Tail};
use tokio::time::{Instant, timeout_at};

use crate::limits::SYNC_AFTER;

/// Records in the log's order.
pub(super) type Records = Vec<(Index, Bytes)>;

/// How far a source goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// All that is accepted, before it is written even.
    Accepted,
    /// What is on disk for good. It asks for a sync where nobody else does for a while.
    Synced,
    /// Up to this record; what is known of it (that it is applied, say) is the asker's matter.
    UpTo(Index),
}

type Reading = Pin<Box<dyn Future<Output = (Cursor, Result<Records, CursorError>)>>>;

/// Reads a log. A read goes on when nobody polls it for a while: what its owner does in between takes nothing
/// from it, and a read from disk begun anew would start at its segment's beginning.
pub(crate) struct Source {
    log: Log,
    bound: Bound,
    /// The next record.
    position: Index,
    idle: Option<Cursor>,
    reading: Option<Reading>,
    goes_after: bool,
}

impl Source {
    pub fn new(log: Log, from: Index, bound: Bound) -> Source {
        let cursor = log.cursor(from);
        Source {
            log,
            bound,
            position: cursor.position(),
            idle: Some(cursor),
            reading: None,
            goes_after: false,
        }
    }

    /// Its reads from disk go after those of replicas, on a thread of their own.
    #[must_use]
    pub fn going_after(mut self) -> Source {
        self.goes_after = true;
        self.idle = self.idle.map(Cursor::going_after);
        self
    }

    /// Behind what was given.
    pub fn position(&self) -> Index {
        self.position
    }

    /// Goes on from another place.
    pub fn seek(&mut self, index: Index) {
        match &mut self.idle {
            Some(cursor) => cursor.seek(index),
            None => {
                let cursor = self.log.cursor(index);
                self.idle = Some(if self.goes_after {
                    cursor.going_after()
                } else {
                    cursor
                });
                self.reading = None;
            }
        }
        self.position = index.max(1);
    }

    /// Waits until there may be something to read, for who should not be in anybody's way until then.
    ///
    /// # Errors
    /// As [`Source::next`].
    pub async fn ready(&self) -> Result<(), CursorError> {
        match self.bound {
            Bound::Synced => self.synced().await.map(drop),
            Bound::Accepted | Bound::UpTo(_) => Ok(()),
        }
    }

    /// The next records: at least one, no more than `max_bytes` of payload else; `None` at the end of what
    /// it goes to. Waits for more where it has none. Dropped while it waits, nothing is lost.
    ///
    /// # Errors
    /// See [`CursorError`]; the same is read again then.
    pub async fn next(&mut self, max_bytes: usize) -> Result<Option<Records>, CursorError> {
        let end = match self.bound {
            Bound::Accepted => Index::MAX,
            Bound::Synced => self.synced().await?,
            Bound::UpTo(end) => end,
        };
        if self.position > end {
            return Ok(None);
        }
        let mut records = self.read(max_bytes).await?;
        let behind = records.partition_point(|(index, _)| *index <= end);
        let is_cut = behind < records.len();
        records.truncate(behind);
        match records.last() {
            Some((last, _)) if is_cut => self.seek(last + 1),
            Some((last, _)) => self.position = last + 1,
            None => self.seek(self.position),
        }
        Ok(Some(records))
    }

    async fn read(&mut self, max_bytes: usize) -> Result<Records, CursorError> {
        if let Some(mut cursor) = self.idle.take() {
            if let Tail::Batch(records) = cursor.try_next(max_bytes) {
                self.idle = Some(cursor);
                return Ok(records);
            }
            self.reading = Some(Box::pin(async move {
                let records = cursor.next(max_bytes).await;
                (cursor, records)
            }));
        }
        let Some(reading) = &mut self.reading else {
            // One of the two is always there.
            return std::future::pending().await;
        };
        let (cursor, records) = reading.await;
        self.reading = None;
        self.idle = Some(cursor);
        records
    }

    /// Waits until the next record is synced; up to where all are.
    async fn synced(&self) -> Result<Index, CursorError> {
        let mut progress = self.log.progress();
        let mut due = None;
        while progress.synced < self.position {
            if let Some(failure) = progress.failed {
                return Err(CursorError::Failed(failure));
            }
            let changed = self.log.changed(&progress);
            if self.log.last() < self.position {
                progress = changed.await;
                continue;
            }
            // Who wants no syncs for his writes is not to have one for each because somebody reads them.
            let due = *due.get_or_insert_with(|| Instant::now() + SYNC_AFTER);
            progress = match timeout_at(due, changed).await {
                Ok(progress) => progress,
                Err(_) => {
                    self.log.request_sync();
                    self.log.changed(&progress).await
                }
            };
        }
        Ok(progress.synced)
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
pub(super) mod tests;
