//! The I/O side of the commit path: turns groups of records into blocks, one write a group, and
//! syncs. It runs where the runner puts it and shares nothing with the event loop.
//!
//! Every step may be tried again after "no space": what is not yet on disk stays in the queue or in
//! the buffer. Any other failure is final.

mod housekeeping;
mod sync;

use crate::{
    Index,
    block::{Encoder, Form, Kind, RECYCLABLE_HEADER},
    disk::{Disk, DiskFile, is_full},
    error::Failure,
    options::Options,
    segment::{header::SegmentHeader, mark, name},
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

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
    /// Try again when there may be room.
    NoSpace,
    /// Nothing more can be written.
    Failed(Failure),
}

impl Fault {
    fn of(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Fault {
        let place = format!("{what} {}", path.display());
        move |error| {
            if is_full(&error) {
                Fault::NoSpace
            } else {
                Fault::Failed(Failure::new(format!("{place}: {error}")))
            }
        }
    }

    /// Where even a full disk leaves it unknown what is durable.
    fn fatal(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Fault {
        let place = format!("{what} {}", path.display());
        move |error| Fault::Failed(Failure::new(format!("{place}: {error}")))
    }
}

/// The segment being written.
struct Active {
    number: u64,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    encoder: Encoder,
    block_size: u64,
    /// Bytes written; what is in the buffer comes next.
    written: u64,
    /// Bytes synced.
    synced: u64,
    /// A sync happened that no mark tells of yet.
    mark_due: bool,
    /// Bytes the file is known to hold room for.
    capacity: u64,
}

/// How far the writer has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Last index written.
    pub written: Index,
    /// Last index synced.
    pub synced: Index,
    /// Number and length in bytes of each segment that grew.
    pub lengths: Vec<(u64, u64)>,
    /// Physical bytes written by this call.
    pub bytes: u64,
    /// Syncs done by this call.
    pub syncs: u64,
    /// Whether the mark of the last sync is still to be written.
    pub mark_due: bool,
    /// Spare segments ready.
    pub spares: usize,
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
    spares: Vec<PathBuf>,
    next_spare: u64,
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
            spares: Vec::new(),
            next_spare: 0,
            outcome: Outcome::default(),
        }
    }

    /// Goes on in a segment of which `end` bytes are valid and synced.
    pub(crate) fn resume(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: &Options,
        file: Arc<dyn DiskFile>,
        header: &SegmentHeader,
        end: u64,
        next_index: Index,
    ) -> Writer {
        let mut writer = Writer::empty(disk, dir, options);
        writer.next_index = next_index;
        writer.next_number = header.number + 1;
        writer.outcome.written = next_index - 1;
        writer.outcome.synced = next_index - 1;
        let capacity = file.len().unwrap_or(end);
        writer.active = Some(Active {
            number: header.number,
            path: dir.join(name::segment(header.number)),
            file,
            encoder: Encoder::new(
                header.block_size_bytes,
                header.padding,
                Form::Recyclable(header.number as u32),
                end,
            ),
            block_size: u64::from(header.block_size_bytes),
            written: end,
            synced: end,
            mark_due: true,
            capacity,
        });
        writer
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
        self.outcome.lengths.clear();
        self.outcome.bytes = 0;
        self.outcome.syncs = 0;
        if let Some(active) = &self.active {
            outcome.lengths.push((active.number, active.written));
            outcome.mark_due = active.mark_due;
        }
        outcome.spares = self.spares.len();
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
                    active.mark(&mut self.buffer);
                    active.encoder.record(record, &mut self.buffer);
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

    /// Begins the next segment. Its header and preamble are left in the buffer.
    fn begin_segment(&mut self, preamble: &[u8]) -> Result<(), Fault> {
        let number = self.next_number;
        let path = self.dir.join(name::segment(number));
        if self.spares.is_empty() {
            self.make_spare()?;
        }
        let Some(spare) = self.spares.last() else {
            return Err(Fault::NoSpace);
        };
        let file = self
            .disk
            .open(spare, false)
            .map_err(Fault::of("opening", spare))?;
        let capacity = file.len().map_err(Fault::of("reading", spare))?;
        self.disk
            .rename(spare, &path)
            .map_err(Fault::of("renaming", spare))?;
        self.spares.pop();
        self.disk
            .sync_dir(&self.dir)
            .map_err(Fault::fatal("syncing", &self.dir))?;
        let mut header = SegmentHeader {
            number,
            first_index: self.next_index,
            block_size_bytes: self.options.block_size_bytes,
            padding: self.options.padding,
            previous_synced: false,
            previous_length: 0,
        };
        if let Some(previous) = self.active.take() {
            header.previous_synced =
                previous.synced == previous.written && self.unsynced.is_empty();
            header.previous_length = previous.written;
            self.outcome
                .lengths
                .push((previous.number, previous.written));
            if previous.synced < previous.written {
                self.unsynced.push((previous.path, previous.file));
            }
        }
        let mut encoder = Encoder::new(
            header.block_size_bytes,
            header.padding,
            Form::Recyclable(number as u32),
            0,
        );
        encoder.own(Kind::SegmentHeader, &header.encode(), &mut self.buffer);
        encoder.record(preamble, &mut self.buffer);
        self.active = Some(Active {
            number,
            path,
            file,
            encoder,
            block_size: u64::from(header.block_size_bytes),
            written: 0,
            synced: 0,
            mark_due: false,
            capacity,
        });
        self.next_number += 1;
        self.next_index += 1;
        Ok(())
    }
}

impl Active {
    /// The mark of the last sync, when it is still to be written: it opens the first write after.
    fn mark(&mut self, buffer: &mut Vec<u8>) {
        if self.mark_due {
            self.encoder
                .own(Kind::SyncMark, &mark::encode(self.synced), buffer);
            self.mark_due = false;
        }
    }
}
