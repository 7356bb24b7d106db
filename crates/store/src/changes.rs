//! Changes: how often each keyspace was written to, for whoever keeps a view of it.
//!
//! Every step that brings records in or takes them away counts: entries applied, files taken over,
//! ranges dropped, records forgotten or thinned. Compactions do not: what they let go has died, and a
//! view that still shows it shows it dead. Nor do notes about the log: they move no record.

use std::collections::HashMap;

/// Counts since the opening. They are raised under the writer's lock, after what they count is
/// there to be read and before anybody is told.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    keyspaces: HashMap<u32, u64>,
    all: u64,
}

/// The counts at one moment, of one keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    keyspace: u64,
    all: u64,
}

impl Changes {
    /// Something was written to a keyspace.
    pub fn of(&mut self, keyspace: u32) {
        *self.keyspaces.entry(keyspace).or_default() += 1;
    }

    /// Something was changed, of whichever keyspace.
    pub fn of_any(&mut self) {
        self.all += 1;
    }

    /// Where the counts are. Another mark that equals it says that nothing was changed in between.
    pub fn mark(&self, keyspace: u32) -> Mark {
        Mark {
            keyspace: self.keyspaces.get(&keyspace).copied().unwrap_or(0),
            all: self.all,
        }
    }
}
