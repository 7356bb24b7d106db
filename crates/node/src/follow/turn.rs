//! Waiting for a turn to be read for.

use std::cell::RefCell;

use bytes::Bytes;
use dunlin_log::Index;
use tokio::sync::Notify;

use super::class::Class;
use super::turns::{QUANTUM_BYTES, Ticket, Turns};

/// The turns of one shard.
#[derive(Debug, Default)]
pub(crate) struct ReadTurns {
    turns: RefCell<Turns>,
    changed: Notify,
}

/// A turn: at most [`QUANTUM_BYTES`] are read while it is held.
pub(crate) struct Turn<'a> {
    reads: &'a ReadTurns,
    ticket: Ticket,
    bytes: usize,
}

impl ReadTurns {
    /// Waits for a turn. Who waits must go on waiting, or give it up: it may be its turn.
    pub async fn turn(&self, class: Class) -> Turn<'_> {
        let ticket = self.turns.borrow_mut().ask(class);
        // Gives the wait up, too, when it is dropped.
        let turn = Turn {
            reads: self,
            ticket,
            bytes: QUANTUM_BYTES,
        };
        loop {
            let changed = self.changed.notified();
            if self.turns.borrow_mut().begin(ticket) {
                return turn;
            }
            changed.await;
        }
    }
}

impl Turn<'_> {
    /// Ends it, so many bytes having been looked at.
    pub fn end(mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Ends it with what a source gave.
    pub fn end_of<E>(self, read: &Result<Option<Vec<(Index, Bytes)>>, E>) {
        let records = read.iter().flatten().flatten();
        self.end(records.map(|(_, record)| record.len()).sum());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.reads.turns.borrow_mut().end(self.ticket, self.bytes);
        self.reads.changed.notify_waiters();
    }
}
