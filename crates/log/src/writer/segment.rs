//! The segment being written: going on in one, beginning the next.

use super::{Fault, Grown, Writer};
use crate::{
    Index,
    batch::{Packer, Tally},
    block::{Encoder, Form, Kind},
    disk::{Disk, DiskFile},
    error::Lack,
    options::Options,
    segment::{header::SegmentHeader, mark, name},
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The segment being written.
pub(super) struct Active {
    pub number: u64,
    pub path: PathBuf,
    pub file: Arc<dyn DiskFile>,
    pub block_size: u64,
    /// Bytes written; what is in the buffer comes next.
    pub written: u64,
    /// Bytes synced.
    pub synced: u64,
    /// Bytes that were given to the disk early.
    pub behind: u64,
    /// A sync happened that no mark tells of yet.
    pub mark_due: bool,
    /// Bytes the file is known to hold room for.
    pub capacity: u64,
    /// What its header says.
    direct_io: bool,
    encoder: Encoder,
    /// Records that are to be compressed together, when they are.
    packer: Option<Packer>,
}

impl Active {
    fn new(
        header: &SegmentHeader,
        path: PathBuf,
        file: Arc<dyn DiskFile>,
        capacity: u64,
        end: u64,
    ) -> io::Result<Active> {
        Ok(Active {
            number: header.number,
            path,
            file,
            block_size: u64::from(header.block_size_bytes),
            written: end,
            synced: end,
            behind: end,
            mark_due: end > 0,
            capacity,
            direct_io: header.direct_io,
            encoder: Encoder::new(
                header.block_size_bytes,
                header.padding,
                Form::Recyclable(header.number as u32),
                end,
            ),
            packer: Packer::new(header.compression)?,
        })
    }

    pub(super) fn grown(&self) -> Grown {
        Grown {
            number: self.number,
            bytes: self.written,
            direct_io: self.direct_io,
        }
    }

    /// Takes a record: into the buffer, or beside those it is compressed with.
    pub(super) fn record(&mut self, record: &[u8], buffer: &mut Vec<u8>) -> Tally {
        let mut tally = Tally::default();
        if let Some(packer) = &self.packer
            && !(packer.has_room(record.len()) && Packer::takes(record.len()))
        {
            tally = self.seal(buffer);
        }
        match &mut self.packer {
            Some(packer) if Packer::takes(record.len()) => packer.push(record),
            _ => {
                self.mark(buffer);
                self.encoder.record(record, buffer);
            }
        }
        tally
    }

    /// Puts the records that wait for compression into the buffer: as a batch, or by themselves
    /// where that takes fewer bytes.
    pub(super) fn seal(&mut self, buffer: &mut Vec<u8>) -> Tally {
        let Some(mut packer) = self.packer.take_if(|packer| !packer.is_empty()) else {
            return Tally::default();
        };
        self.mark(buffer);
        let packed = packer.pack().map(|(payload, tally)| {
            self.encoder.batch(payload, buffer);
            tally
        });
        if packed.is_none() {
            for record in packer.records() {
                self.encoder.record(record, buffer);
            }
        }
        packer.clear();
        self.packer = Some(packer);
        packed.unwrap_or_default()
    }

    /// The mark of the last sync, when it is still to be written: it opens the first write after.
    pub(super) fn mark(&mut self, buffer: &mut Vec<u8>) {
        if self.mark_due {
            self.encoder
                .own(Kind::SyncMark, &mark::encode(self.synced), buffer);
            self.mark_due = false;
        }
    }
}

impl Writer {
    /// Goes on in a segment of which `end` bytes are valid and synced.
    ///
    /// # Errors
    /// The file cannot be opened for direct I/O for another reason than that it is not allowed.
    pub(crate) fn resume(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: &Options,
        file: Arc<dyn DiskFile>,
        header: &SegmentHeader,
        end: u64,
        next_index: Index,
    ) -> io::Result<Writer> {
        let mut writer = Writer::empty(disk, dir, options);
        writer.next_index = next_index;
        writer.next_number = header.number + 1;
        writer.outcome.written = next_index - 1;
        writer.outcome.synced = next_index - 1;
        let capacity = file.len().unwrap_or(end);
        let path = dir.join(name::segment(header.number));
        let direct = if header.direct_io {
            writer.open_direct(&path)?
        } else {
            None
        };
        let file = direct.unwrap_or(file);
        writer.active = Some(Active::new(header, path, file, capacity, end)?);
        Ok(writer)
    }

    /// Begins the next segment. Its header and preamble are left in the buffer.
    pub(super) fn begin_segment(&mut self, preamble: &[u8]) -> Result<(), Fault> {
        let number = self.next_number;
        let path = self.dir.join(name::segment(number));
        if self.spares.is_empty() {
            self.make_spare()?;
        }
        let Some(spare) = self.spares.last().cloned() else {
            return Err(Fault::Lacks(Lack::Space));
        };
        let mut direct = None;
        if self.options.direct_io {
            direct = self
                .open_direct(&spare)
                .map_err(Fault::of("opening", &spare))?;
        }
        let direct_io = direct.is_some();
        let file = match direct {
            Some(file) => file,
            None => self
                .disk
                .open(&spare, false)
                .map_err(Fault::of("opening", &spare))?,
        };
        let capacity = file.len().map_err(Fault::of("reading", &spare))?;
        self.disk
            .rename(&spare, &path)
            .map_err(Fault::of("renaming", &spare))?;
        self.spares.pop();
        // Tried again, another spare takes the place of this one, which holds nothing.
        self.disk
            .sync_dir(&self.dir)
            .map_err(Fault::unless_opened("syncing", &self.dir))?;
        let mut header = SegmentHeader {
            number,
            first_index: self.next_index,
            block_size_bytes: self.options.block_size_bytes,
            padding: self.options.padding,
            previous_synced: false,
            previous_length: 0,
            compression: self.options.compression,
            direct_io,
        };
        if let Some(previous) = self.active.take() {
            header.previous_synced =
                previous.synced == previous.written && self.unsynced.is_empty();
            header.previous_length = previous.written;
            self.outcome.grown.push(previous.grown());
            if previous.synced < previous.written {
                self.unsynced.push((previous.path, previous.file));
            }
        }
        let mut active = Active::new(&header, path.clone(), file, capacity, 0)
            .map_err(Fault::fatal("beginning", &path))?;
        active
            .encoder
            .own(Kind::SegmentHeader, &header.encode(), &mut self.buffer);
        // By itself: it is read without the rest.
        active.encoder.record(preamble, &mut self.buffer);
        self.active = Some(active);
        self.next_number += 1;
        self.next_index += 1;
        Ok(())
    }

    /// None when the file system does not allow direct I/O, which is said once.
    fn open_direct(&mut self, path: &Path) -> io::Result<Option<Arc<dyn DiskFile>>> {
        let file = self.disk.open_direct(path)?;
        if file.is_none() && !self.direct_refused {
            self.direct_refused = true;
            tracing::warn!(
                dir = %self.dir.display(),
                "the file system allows no direct I/O; the log is written through the page cache"
            );
        }
        Ok(file)
    }
}
