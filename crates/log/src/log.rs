//! The log's front, on the event loop: accepts records into memory, hands groups to the writer,
//! and tells how far they have come. Never blocks.

mod append;
mod drive;
mod progress;
mod release;
mod state;
mod stats;
mod tail;

pub use progress::Progress;
pub use stats::{SYNC_BUCKETS, Stats};

pub(crate) use state::State;

use crate::{
    Index,
    cursor::{Cursor, near::Near},
    disk::Disk,
    error::{Failure, OpenError},
    options::Options,
    recover::{Recovered, Recovery, recover},
    runner::Runner,
    segment::SegmentInfo,
};
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};
use tokio::sync::Notify;

/// A shard's log. Clones are the same log. Not `Send`: it belongs to one event loop.
#[derive(Clone)]
pub struct Log {
    pub(crate) shared: Rc<Shared>,
}

/// What the clones and cursors of a log share.
pub(crate) struct Shared {
    pub disk: Arc<dyn Disk>,
    pub runner: Runner,
    pub dir: PathBuf,
    /// Whether writing and syncing never waits.
    pub is_memory: bool,
    pub options: Options,
    pub state: RefCell<State>,
    /// There is work for `drive`.
    pub work: Notify,
    /// Records were appended, or the log has stopped.
    pub appended: Notify,
    /// `Progress` changed.
    pub progressed: Notify,
    /// What cursors have read from segments lately.
    pub near: Rc<Near>,
}

impl Log {
    /// Opens the log in a directory, making it when it is not there. Recovers: a write that a
    /// crash cut short is cut off and said; damage is refused. What remains is synced.
    ///
    /// Nothing is written before [`Log::drive`] runs.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing has been changed when damage is refused.
    pub async fn open(
        disk: Arc<dyn Disk>,
        runner: Runner,
        dir: &Path,
        options: Options,
    ) -> Result<(Log, Recovered), OpenError> {
        options.validate()?;
        let recovery = {
            let (disk, dir, options) = (Arc::clone(&disk), dir.to_owned(), options.clone());
            runner.run(move || recover(disk, &dir, &options)).await??
        };
        let Recovery {
            segments,
            torn,
            writer,
        } = recovery;
        let state = State::new(writer, segments);
        let recovered = Recovered {
            first_index: state.first(),
            last_index: state.last,
            torn,
            segments: state.segments.len(),
        };
        let log = Log {
            shared: Rc::new(Shared {
                is_memory: disk.is_memory(dir),
                disk,
                runner,
                dir: dir.to_owned(),
                options,
                state: RefCell::new(state),
                work: Notify::new(),
                appended: Notify::new(),
                progressed: Notify::new(),
                near: Rc::default(),
            }),
        };
        Ok((log, recovered))
    }

    /// Index of the last record accepted; 0 when there never was one.
    pub fn last(&self) -> Index {
        self.shared.state.borrow().last
    }

    /// Index of the last record written (not yet safe from a power loss).
    pub fn written(&self) -> Index {
        self.shared.state.borrow().written
    }

    /// Index of the last record synced.
    pub fn synced(&self) -> Index {
        self.shared.state.borrow().synced
    }

    /// Index of the oldest record still there; `last() + 1` when the log is empty.
    pub fn first(&self) -> Index {
        self.shared.state.borrow().first()
    }

    /// The segments, oldest first, the active one last.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        self.shared
            .state
            .borrow()
            .segments
            .iter()
            .cloned()
            .collect()
    }

    /// Bytes of records accepted and not yet written.
    pub fn pending_bytes(&self) -> usize {
        self.shared.state.borrow().pending_bytes()
    }

    /// Why the log has stopped, when it has.
    pub fn failure(&self) -> Option<Failure> {
        self.shared.state.borrow().failed.clone()
    }

    /// A cursor whose next record is `from`.
    pub fn cursor(&self, from: Index) -> Cursor {
        Cursor::new(self.clone(), from)
    }
}
