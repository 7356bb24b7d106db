//! Syncs, and the marks that tell of them.

use super::{Fault, Outcome, Writer};

impl Writer {
    /// Syncs what is written, oldest segment first, so that whatever vouches for a later byte
    /// vouches for all before it.
    pub(super) fn sync(&mut self) -> Result<(), Fault> {
        for (path, file) in &self.unsynced {
            file.sync().map_err(Fault::fatal("syncing", path))?;
            self.outcome.syncs += 1;
        }
        self.unsynced.clear();
        if let Some(active) = &mut self.active
            && active.synced < active.written
        {
            active
                .file
                .sync()
                .map_err(Fault::fatal("syncing", &active.path))?;
            self.outcome.syncs += 1;
            active.synced = active.written;
            active.mark_due = true;
        }
        self.check_behind()?;
        self.outcome.synced = self.outcome.written;
        Ok(())
    }

    /// Writes the mark of the last sync when nothing else is written for a while. Not synced.
    pub(crate) fn write_mark(&mut self) -> Outcome {
        let result = self.mark_now();
        self.report(result, Vec::new())
    }

    /// Finishes: everything written and synced, and the mark of that on disk too.
    pub(crate) fn close(&mut self) -> Outcome {
        self.sync_due = true;
        let result = self.advance().and_then(|()| {
            self.mark_now()?;
            match &self.active {
                Some(active) => active
                    .file
                    .sync()
                    .map_err(Fault::fatal("syncing", &active.path)),
                None => Ok(()),
            }
        });
        self.report(result, Vec::new())
    }

    fn mark_now(&mut self) -> Result<(), Fault> {
        if let Some(active) = &mut self.active {
            active.mark(&mut self.buffer);
        }
        self.flush()
    }
}
