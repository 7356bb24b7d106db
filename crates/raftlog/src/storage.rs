//! A group's log as the `raft` crate reads it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};

use crate::group::{GroupLog, Position};

/// What `raft` reads. Clones are the same.
#[derive(Clone)]
pub struct GroupStorage {
    log: Rc<RefCell<GroupLog>>,
    /// The configuration of the applied index.
    configuration: Rc<RefCell<ConfState>>,
    /// What the store has of the group.
    applied: Rc<Cell<Position>>,
}

impl GroupStorage {
    /// Of a group whose store has `applied`, and whose replicas are then those of `configuration`.
    pub fn new(
        log: Rc<RefCell<GroupLog>>,
        configuration: ConfState,
        applied: Position,
    ) -> GroupStorage {
        GroupStorage {
            log,
            configuration: Rc::new(RefCell::new(configuration)),
            applied: Rc::new(Cell::new(applied)),
        }
    }

    /// The entries.
    pub fn log(&self) -> &Rc<RefCell<GroupLog>> {
        &self.log
    }

    /// The store has more.
    pub fn set_applied(&self, applied: Position) {
        self.applied.set(applied);
    }

    /// The store has another configuration.
    pub fn set_configuration(&self, configuration: ConfState) {
        *self.configuration.borrow_mut() = configuration;
    }

    fn conf_state(&self) -> ConfState {
        self.configuration.borrow().clone()
    }

    /// A snapshot's head: what it holds is fetched apart. `raft` goes by this position alone.
    pub fn head(&self, position: Position) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        metadata.index = position.index;
        metadata.term = position.term;
        *metadata.mut_conf_state() = self.conf_state();
        snapshot
    }
}

impl Storage for GroupStorage {
    fn initial_state(&self) -> Result<RaftState> {
        let log = self.log.borrow();
        let hard_state = HardState {
            term: log.vote().term,
            vote: log.vote().vote,
            // What is applied was committed.
            commit: self.applied.get().index.max(log.commit()),
        };
        Ok(RaftState::new(hard_state, self.conf_state()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        let log = self.log.borrow();
        if low < log.first_index() {
            return Err(Error::Store(StorageError::Compacted));
        }
        let max_bytes = max_size.into().unwrap_or(u64::MAX);
        let entries = log.entries(low, high, max_bytes);
        if entries.is_empty() && low < high {
            Err(Error::Store(StorageError::Unavailable))
        } else {
            Ok(entries)
        }
    }

    fn term(&self, index: u64) -> Result<u64> {
        let log = self.log.borrow();
        if index < log.before().index {
            return Err(Error::Store(StorageError::Compacted));
        }
        let term = log.term(index);
        term.ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.log.borrow().first_index())
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.log.borrow().last().index)
    }

    fn snapshot(&self, request_index: u64, _: u64) -> Result<Snapshot> {
        let applied = self.applied.get();
        if applied.index >= request_index && applied.index > 0 {
            Ok(self.head(applied))
        } else {
            Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
        }
    }
}
