//! Transactions of clients, and what became of them.

use std::cell::{Cell, RefCell};

use dunlin_history::Transaction;

/// All of a run.
#[derive(Default)]
pub struct Txns {
    /// Reads of lists and appends to them.
    pub history: RefCell<Vec<Transaction>>,
    /// Additions to counters.
    pub additions: Cell<Additions>,
}

/// Additions to the counters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Additions {
    /// Acknowledged ones.
    pub done: u64,
    /// Those whose fate is not known.
    pub unknown: u64,
    /// The counters at the end, if they were read.
    pub read: Option<[u64; 2]>,
}
