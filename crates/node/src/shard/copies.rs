//! Copies: entries that come without their place in their origin's log.

use std::cell::RefCell;

use dunlin_entry::{Entry, Origin, Vector, Version};
use tokio::sync::oneshot;

use super::Shard;

/// Copies that are logged while all else waits.
const APPEND_ENTRIES: usize = 512;

/// Copies of a shard that the vector does not show.
#[derive(Default)]
pub(crate) struct Copies {
    /// The newest that came.
    came: RefCell<Vector>,
    /// Up to which all who should hold them do.
    spread: RefCell<Vector>,
}

impl Copies {
    /// Of a shard whose log was found to hold these.
    pub fn found(came: Vector) -> Copies {
        Copies {
            came: RefCell::new(came),
            spread: RefCell::default(),
        }
    }

    pub fn came(&self, origin: Origin, version: Version) {
        self.came.borrow_mut().advance(origin, version);
    }

    /// Whether any stamped above this came.
    pub fn is_beyond(&self, origin: Origin, after: Version) -> bool {
        self.came.borrow().get(origin) > after
    }

    /// The newest of each origin.
    pub fn newest(&self) -> Vector {
        self.came.borrow().clone()
    }

    /// The newest that others may lack.
    pub fn pending(&self) -> Vector {
        let spread = self.spread.borrow();
        let is_pending = |(origin, version): &(Origin, Version)| *version > spread.get(*origin);
        self.came.borrow().iter().filter(is_pending).collect()
    }

    /// All who should hold these do.
    pub fn done(&self, spread: impl Iterator<Item = (Origin, Version)>) {
        let mut held = self.spread.borrow_mut();
        for (origin, up_to) in spread {
            held.advance(origin, up_to);
        }
    }
}

impl Shard {
    /// Logs copies of one keyspace and waits until they are applied.
    pub(crate) async fn copies_applied(&self, mut entries: Vec<Entry>) -> Result<(), String> {
        if let Some(newest) = entries.iter().max_by_key(|entry| entry.stamp.version)
            && !self.take_over(newest.stamp.version)
        {
            return Err(self.to_be_mended(newest.keyspace, newest.stamp.version));
        }
        loop {
            let rest = entries.split_off(entries.len().min(APPEND_ENTRIES));
            let (tell, told) = oneshot::channel();
            self.append_copies(entries, move || tell.send(()).unwrap_or_default())
                .map_err(|error| error.to_string())?;
            if rest.is_empty() {
                // All before are applied before the last.
                return told.await.map_err(|_| "the own log failed".to_owned());
            }
            entries = rest;
            // Clients' requests in between.
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
