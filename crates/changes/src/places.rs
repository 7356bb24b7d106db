//! Places for who catches up at another shard. There are few, for moves of partitions need the connection, too; each
//! is lent for a while, where others wait, whether or not what came is taken.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_node::Services;
use dunlin_proto::ShardAddress;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::held::{Hold, Holder};
use crate::item::{Item, Open};
use crate::source::{Broken, Own};

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
    /// Somebody waits.
    wanted: Notify,
}

/// One that is lent.
struct Place {
    at: Rc<At>,
    _permit: Option<OwnedSemaphorePermit>,
    since: Instant,
    bytes: usize,
}

/// An item, and that it is held.
type Given = (Result<Item, Broken>, Option<Hold>);

/// Somebody waits.
struct Waiting(Rc<At>);

/// What is read by who has a place, as long as he has it.
pub(crate) struct Lent {
    items: Receiver<Given>,
    reading: JoinHandle<()>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get().saturating_sub(1));
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Places {
    /// Reads from another shard, when there is a place.
    pub fn lend(
        self: &Rc<Self>,
        services: &Rc<Services>,
        at: ShardAddress,
        open: Open,
        holder: &Holder,
    ) -> Lent {
        let (told, items) = mpsc::channel(1);
        let to = (holder.clone(), told);
        let reading = read(self.clone(), services.clone(), at, open, to);
        Lent {
            items,
            reading: tokio::task::spawn_local(reading),
        }
    }

    /// Waits for a place; who waits longest has the next.
    async fn take(&self, shard: ShardAddress) -> Place {
        let at = {
            let mut at = self.at.borrow_mut();
            let new = || {
                Rc::new(At {
                    places: Arc::new(Semaphore::new(PLACES)),
                    waiting: Cell::new(0),
                    wanted: Notify::new(),
                })
            };
            at.entry(shard).or_insert_with(new).clone()
        };
        at.waiting.set(at.waiting.get() + 1);
        at.wanted.notify_waiters();
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
    /// Waits until it is somebody else's turn.
    async fn over(&self) {
        if self.bytes < LENT_BYTES {
            sleep_until(self.since + LENT_FOR).await;
        }
        loop {
            let wanted = self.at.wanted.notified();
            if self.at.waiting.get() > 0 {
                return;
            }
            wanted.await;
        }
    }
}

impl Lent {
    /// What comes next; `None` where the place has gone to somebody else. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Option<Result<Item, Broken>> {
        self.items.recv().await.map(|(item, _)| item)
    }
}

async fn read(
    places: Rc<Places>,
    services: Rc<Services>,
    at: ShardAddress,
    open: Open,
    (holder, told): (Holder, Sender<Given>),
) {
    let mut place = places.take(at).await;
    let mut own = match Own::open(&services, at, open).await {
        Ok(own) => own,
        Err(broken) => return drop(told.send((Err(broken), None)).await),
    };
    loop {
        let item = tokio::select! {
            biased;
            () = place.over() => return,
            Some(item) = own.next() => item,
            else => return,
        };
        let (bytes, is_last) = match &item {
            Ok(item) => (item.bytes(), item.is_done),
            Err(_) => (0, true),
        };
        place.bytes += bytes;
        let hold = holder.bytes(bytes);
        tokio::select! {
            biased;
            sent = told.send((item, hold)) => {
                if sent.is_err() || is_last {
                    return;
                }
            }
            // It comes again to who goes on from what he has taken.
            () = place.over() => return,
        }
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
