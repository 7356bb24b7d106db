//! Syncs that nobody asked for, beside the commits, so that those asked for find little to do.

use super::{Fault, Writer};
use crate::{disk::DiskFile, error::Failure};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the last of them met. The operating system tells of a failed sync only once: one that told
/// it here would pass as done there.
#[derive(Clone, Default)]
pub(super) struct Behind {
    failed: Arc<Mutex<Option<String>>>,
}

impl Behind {
    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sync to be done behind the commits.
pub(crate) struct EarlySync {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    behind: Behind,
}

impl EarlySync {
    /// Syncs. What it meets is told by the next sync that is asked for. Blocks its thread.
    pub fn perform(self) {
        // Held meanwhile, so that no other sync is believed before this one has been heard.
        let mut failed = self.behind.lock();
        if let Err(error) = self.file.sync() {
            failed.get_or_insert(format!("syncing {}: {error}", self.path.display()));
        }
    }
}

impl Writer {
    /// One that is due now.
    pub(crate) fn early_sync(&mut self) -> Option<EarlySync> {
        let limit = self.options.write_behind_bytes;
        let active = self.active.as_mut().filter(|_| limit > 0)?;
        if active.written - active.behind.max(active.synced) < limit {
            return None;
        }
        active.behind = active.written;
        Some(EarlySync {
            path: active.path.clone(),
            file: active.file.clone(),
            behind: self.behind.clone(),
        })
    }

    /// To be asked after every sync and before it is believed.
    pub(super) fn check_behind(&self) -> Result<(), Fault> {
        if self.options.write_behind_bytes == 0 {
            return Ok(());
        }
        match &*self.behind.lock() {
            None => Ok(()),
            Some(failed) => Err(Fault::Failed(Failure::new(failed.clone()))),
        }
    }
}
