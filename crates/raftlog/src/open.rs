//! Recovery: every record of the log, in its order.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use dunlin_log::disk::Disk;
use dunlin_log::{Index, Log, Options, Runner};

use crate::RaftLog;
use crate::group::GroupLog;
use crate::record::{Malformed, PREAMBLE, Record};

/// Bytes that are read at once.
const STEP_BYTES: usize = 1 << 20;

/// Why a log of groups cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// See there.
    #[error(transparent)]
    Log(#[from] dunlin_log::OpenError),
    /// It cannot be read to its end; take this replica from others.
    #[error(transparent)]
    Read(#[from] dunlin_log::CursorError),
    /// A record is not what this version writes.
    #[error("record {index}: {error}")]
    Record {
        /// Which.
        index: Index,
        /// What is wrong.
        error: Malformed,
    },
}

impl RaftLog {
    /// Opens the log in a directory, making it when it is not there. Run [`Log::drive`] beside it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(
        disk: Arc<dyn Disk>,
        runner: Runner,
        dir: &Path,
        options: Options,
        keeps_higher: bool,
    ) -> Result<RaftLog, OpenError> {
        // Nobody reads it but here, from the disk.
        let options = Options {
            tail_bytes: 0,
            ..options
        };
        let (log, recovered) = Log::open(disk, runner, dir, options).await?;
        let mut groups: BTreeMap<u64, Rc<RefCell<GroupLog>>> = BTreeMap::new();
        let mut cursor = log.cursor(recovered.first_index);
        while cursor.position() <= recovered.last_index {
            for (index, bytes) in cursor.next(STEP_BYTES).await? {
                if bytes == PREAMBLE {
                    continue;
                }
                let record =
                    Record::decode(bytes).map_err(|error| OpenError::Record { index, error })?;
                let mut group = groups.entry(record.group).or_default().borrow_mut();
                if !keeps_higher {
                    group.take(record)
                } else {
                    group.take_keeping_higher(record)
                }
            }
        }
        groups.retain(|_, group| group.borrow().has_begun());
        Ok(RaftLog {
            log,
            groups: RefCell::new(groups),
            is_releasing: Cell::new(false),
        })
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
