//! The handle: records of many groups in one log.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_log::{AppendError, Index, Log};

use crate::group::GroupLog;
use crate::record::{PREAMBLE, Record};

/// The log of all groups of a shard. Belongs to one event loop.
pub struct RaftLog {
    pub(crate) log: Log,
    pub(crate) groups: RefCell<BTreeMap<u64, Rc<RefCell<GroupLog>>>>,
    /// Segments are being released.
    pub(crate) is_releasing: Cell<bool>,
}

impl RaftLog {
    /// The log underneath: to be driven, waited for and looked at.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// A group's log; none where it was never written.
    pub fn group(&self, group: u64) -> Option<Rc<RefCell<GroupLog>>> {
        let groups = self.groups.borrow();
        let known = groups.get(&group);
        known.filter(|known| known.borrow().has_begun()).cloned()
    }

    /// Numbers of the groups there are.
    pub fn groups(&self) -> Vec<u64> {
        self.groups.borrow().keys().copied().collect()
    }

    /// Appends a record. It is on the disk when the log has synced the index.
    ///
    /// # Errors
    /// The log takes nothing now.
    pub fn append(&self, record: &Record) -> Result<Index, AppendError> {
        if self.log.should_rotate() {
            self.log.rotate(PREAMBLE.into())?;
        }
        self.log.append(record.encode(), true)
    }

    /// Takes a record over in memory, appended or not: one that the log does not take now is appended later, before
    /// any other of its group.
    pub fn take(&self, record: Record) {
        let mut groups = self.groups.borrow_mut();
        let group = groups.entry(record.group).or_default();
        group.borrow_mut().take(record);
    }

    /// Forgets a group that is gone for good.
    pub fn forget(&self, group: u64) {
        self.groups.borrow_mut().remove(&group);
    }
}
