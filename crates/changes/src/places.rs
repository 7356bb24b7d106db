//! Places for who catches up at another shard. There are few, for moves of partitions need the connection, too; each
//! is lent for a while, where others wait.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_proto::ShardAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Places at each shard.
const PLACES: usize = 16;
/// For how long one is lent, where others wait.
const LENT_FOR: Duration = Duration::from_secs(5);
/// And for how many bytes.
const LENT_BYTES: usize = 16 << 20;

/// The places at all other shards.
#[derive(Default)]
pub(crate) struct Places {
    at: RefCell<BTreeMap<ShardAddress, Rc<At>>>,
}

struct At {
    places: Arc<Semaphore>,
    waiting: Cell<usize>,
}

/// One that is lent.
pub(crate) struct Place {
    at: Rc<At>,
    _permit: Option<OwnedSemaphorePermit>,
    since: Instant,
    bytes: usize,
}

/// Somebody waits.
struct Waiting(Rc<At>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get().saturating_sub(1));
    }
}

impl Places {
    /// Waits for a place; who waits longest has the next.
    pub async fn take(&self, shard: ShardAddress) -> Place {
        let at = {
            let mut at = self.at.borrow_mut();
            let new = || {
                Rc::new(At {
                    places: Arc::new(Semaphore::new(PLACES)),
                    waiting: Cell::new(0),
                })
            };
            at.entry(shard).or_insert_with(new).clone()
        };
        at.waiting.set(at.waiting.get() + 1);
        let waiting = Waiting(at.clone());
        let permit = at.places.clone().acquire_owned().await;
        drop(waiting);
        Place {
            at,
            // It is never closed.
            _permit: permit.ok(),
            since: Instant::now(),
            bytes: 0,
        }
    }
}

impl Place {
    /// So much has come.
    pub fn count(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Whether it is somebody else's turn.
    pub fn is_over(&self) -> bool {
        let was_long = self.since.elapsed() >= LENT_FOR || self.bytes >= LENT_BYTES;
        was_long && self.at.waiting.get() > 0
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
