//! Spare segments made ahead, released ones recycled or removed.

use super::{Fault, Outcome, Writer};
use crate::{disk::is_full, segment::name};

impl Writer {
    /// Recycles or removes released segments (oldest first), then makes spare ones.
    pub(crate) fn housekeep(&mut self, released: &[u64]) -> Outcome {
        let result = released
            .iter()
            .try_for_each(|&number| self.retire(number))
            .and_then(|()| {
                while self.spares.len() < self.options.spare_segments {
                    self.make_spare()?;
                }
                Ok(())
            });
        self.report(result, Vec::new())
    }

    /// Each is durably gone before the next goes, so that a crash leaves no hole between segments,
    /// and before its file is used again, so that no name leads to another's bytes.
    fn retire(&mut self, number: u64) -> Result<(), Fault> {
        let path = self.dir.join(name::segment(number));
        // One more than are made ahead: a recycled file needs no new extents, so it is worth more
        // than a fresh one, and is taken first.
        if self.options.recycle && self.spares.len() <= self.options.spare_segments {
            let spare = self.next_spare_path();
            self.disk
                .rename(&path, &spare)
                .map_err(Fault::fatal("renaming", &path))?;
            self.disk
                .sync_dir(&self.dir)
                .map_err(Fault::fatal("syncing", &self.dir))?;
            let file = self
                .disk
                .open(&spare, false)
                .map_err(Fault::fatal("opening", &spare))?;
            let length = file.len().map_err(Fault::fatal("reading", &spare))?;
            if length > self.options.segment_bytes {
                file.set_len(self.options.segment_bytes)
                    .map_err(Fault::fatal("cutting", &spare))?;
            } else if let Err(error) = file.allocate(self.options.segment_bytes)
                && !is_full(&error)
            {
                // A shorter one, cut at an open, will do when there is no room.
                return Err(Fault::fatal("allocating", &spare)(error));
            }
            self.spares.push(spare);
        } else {
            self.disk
                .remove(&path)
                .map_err(Fault::fatal("removing", &path))?;
            self.disk
                .sync_dir(&self.dir)
                .map_err(Fault::fatal("syncing", &self.dir))?;
        }
        Ok(())
    }

    /// Preallocates a segment. Leaves nothing behind when there is no room.
    pub(super) fn make_spare(&mut self) -> Result<(), Fault> {
        let path = self.next_spare_path();
        let file = self
            .disk
            .open(&path, true)
            .map_err(Fault::of("creating", &path))?;
        let allocated = file
            .allocate(self.options.segment_bytes)
            .and_then(|()| file.sync());
        if let Err(error) = allocated {
            self.disk
                .remove(&path)
                .map_err(Fault::fatal("removing", &path))?;
            return Err(Fault::of("allocating", &path)(error));
        }
        self.spares.push(path);
        Ok(())
    }

    fn next_spare_path(&mut self) -> std::path::PathBuf {
        self.next_spare += 1;
        self.dir.join(name::spare(self.next_spare))
    }
}
