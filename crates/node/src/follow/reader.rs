//! A place in a shard's log for who is no replica: each read waits for its turn.

use std::rc::Rc;

use dunlin_log::{CursorError, Index, Log};

use super::apart::Apart;
use super::source::Records;
use super::{Bound, Class, ReadTurns, Source};

type Read = Result<Option<Records>, CursorError>;

/// Reads a log as far as it is on disk for good. What is asked for once is read whether or not its owner
/// asks on: a turn is over when its read is, and what was read waits here.
pub(crate) struct Reader {
    log: Log,
    turns: Rc<ReadTurns>,
    /// The next record.
    position: Index,
    /// None while it reads.
    idle: Option<Source>,
    reading: Option<Apart<(Source, Read)>>,
}

impl Reader {
    pub fn new(log: Log, turns: Rc<ReadTurns>, from: Index) -> Reader {
        let mut reader = Reader {
            log,
            turns,
            position: from,
            idle: None,
            reading: None,
        };
        reader.seek(from);
        reader
    }

    /// Behind what was given.
    pub fn position(&self) -> Index {
        self.position
    }

    /// Goes on from another place.
    pub fn seek(&mut self, index: Index) {
        self.reading = None;
        let source = self.idle.get_or_insert_with(|| {
            // What it reads from disk goes after what replicas do.
            Source::new(self.log.clone(), index, Bound::Synced).going_after()
        });
        source.seek(index);
        self.position = source.position();
    }

    /// The next records: at least one, no more than `max_bytes` of payload else. Waits for more where there
    /// is none, and then for its turn. Dropped while it waits, nothing is lost.
    ///
    /// # Errors
    /// See [`CursorError`]; the same is read again then.
    pub async fn next(&mut self, max_bytes: usize) -> Result<Records, CursorError> {
        if let Some(source) = &self.idle {
            source.ready().await?;
        }
        if let Some(mut source) = self.idle.take() {
            let turns = self.turns.clone();
            self.reading = Some(Apart::begin(async move {
                let turn = turns.turn(Class::Follower).await;
                let read = source.next(max_bytes).await;
                turn.end_of(&read);
                (source, read)
            }));
        }
        let read = match &mut self.reading {
            Some(reading) => reading.end().await,
            None => None,
        };
        let Some((source, read)) = read else {
            self.seek(self.position);
            return Ok(Records::new());
        };
        self.reading = None;
        self.position = source.position();
        self.idle = Some(source);
        read.map(Option::unwrap_or_default)
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
