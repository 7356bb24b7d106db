//! The I/O side of the commit path: turns groups of records into blocks, one write a group, and
//! syncs. It runs where the runner puts it and shares nothing with the event loop.
//!
//! Every step may be tried again where disk or file descriptors have run out: what is not yet on disk
//! stays in the queue or in the buffer. Any other failure is final.

mod behind;
mod housekeeping;
mod segment;
mod sync;

use crate::{
    Index, batch::Tally, block::RECYCLABLE_HEADER, disk::Disk, disk::DiskFile, disk::lack,
    error::Failure, error::Lack, options::Options,
};
use behind::Behind;
use bytes::Bytes;
use housekeeping::Retiring;
use segment::Active;
use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use behind::EarlySync;

/// A group larger than this, in bytes, is written in several writes, to bound the buffer.
const FLUSH_BYTES: usize = 4 << 20;

/// What the event loop asks to be logged, in order.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// A logical record.
    Record(Bytes),
    /// A new segment that begins with this record.
    Rotate(Bytes),
}

/// Why a group could not be finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Try again when there may be some.
    Lacks(Lack),
    /// Nothing more can be written.
    Failed(Failure),
}

impl Fault {
    fn of(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Fault {
        move |error| match lack(&error) {
            Some(lack) => Fault::Lacks(lack),
            None => Fault::fatal(what, path)(error),
        }
    }

    /// For what opens a file first, and where a full disk leaves it unknown what is durable.
    fn unless_opened(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Fault {
        let fatal = Fault::fatal(what, path);
        move |error| match lack(&error) {
            Some(Lack::Files) => Fault::Lacks(Lack::Files),
            _ => fatal(error),
        }
    }

    /// Where even a full disk leaves it unknown what is durable.
    fn fatal(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Fault {
        // Named only when it is said: this stands behind every write.
        move |error| {
            let place = path.display();
            Fault::Failed(Failure::new(format!("{what} {place}: {error}")))
        }
    }
}

/// What became of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grown {
    pub number: u64,
    pub bytes: u64,
    /// Whether it was begun with direct I/O.
    pub direct_io: bool,
}

/// How far the writer has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Last index written.
    pub written: Index,
    /// Last index synced.
    pub synced: Index,
    /// The segments that grew.
    pub grown: Vec<Grown>,
    /// Physical bytes written by this call.
    pub bytes: u64,
    /// Syncs done by this call.
    pub syncs: u64,
    /// Batches compressed by this call.
    pub tally: Tally,
    /// Whether the mark of the last sync is still to be written.
    pub mark_due: bool,
    /// Spare segments ready.
    pub spares: usize,
    /// Released segments are still to be recycled or removed.
    pub retiring: bool,
    /// What stopped it.
    pub fault: Option<Fault>,
    /// Whether what was asked for is done.
    pub done: bool,
    /// The emptied group, for its allocation.
    pub recycled: Vec<Item>,
}

pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    options: Options,
    active: Option<Active>,
    /// Earlier segments with unsynced bytes, oldest first.
    unsynced: Vec<(PathBuf, Arc<dyn DiskFile>)>,
    next_index: Index,
    next_number: u64,
    queue: VecDeque<Item>,
    buffer: Vec<u8>,
    sync_due: bool,
    behind: Behind,
    spares: Vec<PathBuf>,
    next_spare: u64,
    /// Released segments, oldest first, each with how far it has come.
    retiring: VecDeque<Retiring>,
    /// It was said that the file system refuses direct I/O.
    direct_refused: bool,
    outcome: Outcome,
}

impl Writer {
    /// For a log without segments.
    pub(crate) fn empty(disk: Arc<dyn Disk>, dir: &Path, options: &Options) -> Writer {
        Writer {
            disk,
            dir: dir.to_owned(),
            options: options.clone(),
            active: None,
            unsynced: Vec::new(),
            next_index: 1,
            next_number: 1,
            queue: VecDeque::new(),
            buffer: Vec::new(),
            sync_due: false,
            behind: Behind::default(),
            spares: Vec::new(),
            next_spare: 0,
            retiring: VecDeque::new(),
            direct_refused: false,
            outcome: Outcome::default(),
        }
    }

    /// Writes a group, and what an earlier call could not finish. Syncs when `sync`, now or ever
    /// since an unfinished call, was asked for.
    pub(crate) fn commit(&mut self, mut items: Vec<Item>, sync: bool) -> Outcome {
        self.queue.extend(items.drain(..));
        self.sync_due |= sync;
        let result = self.advance();
        self.report(result, items)
    }

    fn report(&mut self, result: Result<(), Fault>, recycled: Vec<Item>) -> Outcome {
        let mut outcome = self.outcome.clone();
        self.outcome.grown.clear();
        self.outcome.bytes = 0;
        self.outcome.syncs = 0;
        self.outcome.tally = Tally::default();
        if let Some(active) = &self.active {
            outcome.grown.push(active.grown());
            outcome.mark_due = active.mark_due;
        }
        outcome.spares = self.spares.len();
        outcome.retiring = !self.retiring.is_empty();
        outcome.done = result.is_ok();
        outcome.fault = result.err();
        outcome.recycled = recycled;
        outcome
    }

    fn advance(&mut self) -> Result<(), Fault> {
        while let Some(item) = self.queue.front() {
            match item {
                Item::Record(_) if self.buffer.len() >= FLUSH_BYTES => self.flush()?,
                Item::Record(record) => {
                    let Some(active) = &mut self.active else {
                        return Err(Fault::Failed(Failure::new("a record before any segment")));
                    };
                    self.outcome.tally += active.record(record, &mut self.buffer);
                    self.next_index += 1;
                    self.queue.pop_front();
                }
                Item::Rotate(preamble) => {
                    let preamble = preamble.clone();
                    self.flush()?;
                    self.begin_segment(&preamble)?;
                    self.queue.pop_front();
                }
            }
        }
        self.flush()?;
        if self.sync_due {
            self.sync()?;
            self.sync_due = false;
        }
        Ok(())
    }

    /// Writes the buffer, and behind it a zero header where there is room: the end is then known
    /// from a recycled file's old bytes.
    fn flush(&mut self) -> Result<(), Fault> {
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        self.outcome.tally += active.seal(&mut self.buffer);
        let length = self.buffer.len();
        if length == 0 {
            return Ok(());
        }
        let end = active.written + length as u64;
        let left = active.block_size - end % active.block_size;
        let header = RECYCLABLE_HEADER as u64;
        let terminator = if left < header { left + header } else { header };
        if end + terminator <= active.capacity {
            self.buffer.resize(length + terminator as usize, 0);
        }
        let result = active.file.write_at(&self.buffer, active.written);
        self.buffer.truncate(length);
        result.map_err(Fault::of("writing", &active.path))?;
        active.written = end;
        active.capacity = active.capacity.max(end);
        self.outcome.bytes += length as u64;
        self.outcome.written = self.next_index - 1;
        self.buffer.clear();
        // A single large group should not hold memory for ever.
        self.buffer.shrink_to(FLUSH_BYTES);
        Ok(())
    }
}
