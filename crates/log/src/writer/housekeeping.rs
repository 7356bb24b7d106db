//! Spare segments made ahead, released ones recycled or removed.

use super::{Fault, Outcome, Writer};
use crate::{disk::lack, error::Lack, segment::name};
use std::path::{Path, PathBuf};

/// A released segment on its way to be a spare one or gone. A step that could not open a file is
/// taken again.
pub(super) struct Retiring {
    number: u64,
    step: Step,
}

enum Step {
    /// Its file has its old name.
    Here,
    /// It has this one, or none, which is not yet durable.
    Renamed(Option<PathBuf>),
    /// It durably has this name.
    Spare(PathBuf),
}

impl Writer {
    /// Recycles or removes released segments (oldest first), then makes spare ones.
    pub(crate) fn housekeep(&mut self, released: &[u64]) -> Outcome {
        let released = released.iter().map(|&number| Retiring {
            number,
            step: Step::Here,
        });
        self.retiring.extend(released);
        let result = self.retire_all().and_then(|()| {
            while self.spares.len() < self.options.spare_segments {
                self.make_spare()?;
            }
            Ok(())
        });
        self.report(result, Vec::new())
    }

    fn retire_all(&mut self) -> Result<(), Fault> {
        while let Some(mut retiring) = self.retiring.pop_front() {
            if let Err(fault) = self.retire(&mut retiring) {
                self.retiring.push_front(retiring);
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Each is durably gone before the next goes, so that a crash leaves no hole between segments,
    /// and before its file is used again, so that no name leads to another's bytes.
    fn retire(&mut self, retiring: &mut Retiring) -> Result<(), Fault> {
        loop {
            retiring.step = match &mut retiring.step {
                Step::Here => Step::Renamed(self.give_away(retiring.number)?),
                Step::Renamed(spare) => {
                    self.disk
                        .sync_dir(&self.dir)
                        .map_err(Fault::unless_opened("syncing", &self.dir))?;
                    match spare.take() {
                        Some(spare) => Step::Spare(spare),
                        None => return Ok(()),
                    }
                }
                Step::Spare(spare) => {
                    self.fit(spare)?;
                    self.spares.push(std::mem::take(spare));
                    return Ok(());
                }
            }
        }
    }

    /// Takes a segment's name away; gives its new one if it is kept.
    fn give_away(&mut self, number: u64) -> Result<Option<PathBuf>, Fault> {
        let path = self.dir.join(name::segment(number));
        // One more than are made ahead: a recycled file needs no new extents, so it is worth more
        // than a fresh one, and is taken first.
        if self.options.recycle && self.spares.len() <= self.options.spare_segments {
            let spare = self.next_spare_path();
            self.disk
                .rename(&path, &spare)
                .map_err(Fault::fatal("renaming", &path))?;
            return Ok(Some(spare));
        }
        self.disk
            .remove(&path)
            .map_err(Fault::fatal("removing", &path))?;
        Ok(None)
    }

    /// Gives a file the length of a segment.
    fn fit(&self, spare: &Path) -> Result<(), Fault> {
        let file = self
            .disk
            .open(spare, false)
            .map_err(Fault::unless_opened("opening", spare))?;
        let length = file.len().map_err(Fault::fatal("reading", spare))?;
        if length > self.options.segment_bytes {
            return file
                .set_len(self.options.segment_bytes)
                .map_err(Fault::fatal("cutting", spare));
        }
        match file.allocate(self.options.segment_bytes) {
            // A shorter one, cut at an open, will do when there is no room.
            Err(error) if lack(&error) != Some(Lack::Space) => {
                Err(Fault::fatal("allocating", spare)(error))
            }
            _ => Ok(()),
        }
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

    fn next_spare_path(&mut self) -> PathBuf {
        self.next_spare += 1;
        self.dir.join(name::spare(self.next_spare))
    }
}
