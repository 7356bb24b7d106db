//! A stream by a named cursor: it ends when another consumer has the cursor, and gives the cursor back at its end.
//! The consumer renews its lease, not the stream: a stream goes on while its consumer hangs.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Services;
use dunlin_node::http::{LocalFuture, Rejected};
use hyper::StatusCode;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep_until, timeout};

use crate::cursors::Cursors;

/// How often a stream reads its cursor.
const LOOK: Duration = Duration::from_secs(5);
/// A cursor that cannot be given back in time is free when its lease is over.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// A cursor that is to be given back.
#[derive(Debug)]
pub(crate) struct Leaving {
    keyspace: u32,
    name: String,
    generation: u64,
}

/// A cursor that a stream has.
pub(crate) struct Lease {
    services: Rc<Services>,
    leaving: Option<Leaving>,
    /// Who gives it back where nobody waits for that.
    behind: UnboundedSender<Leaving>,
    next: Instant,
    reading: Option<LocalFuture<Result<bool, Rejected>>>,
}

impl Lease {
    pub fn new(
        services: &Rc<Services>,
        keyspace: u32,
        name: String,
        generation: u64,
        behind: UnboundedSender<Leaving>,
    ) -> Lease {
        Lease {
            services: services.clone(),
            leaving: Some(Leaving {
                keyspace,
                name,
                generation,
            }),
            behind,
            next: Instant::now() + LOOK,
            reading: None,
        }
    }

    /// Its name, and which consumer has it.
    pub fn holder(&self) -> (&str, u64) {
        let leaving = self.leaving.as_ref();
        leaving.map_or(("", 0), |leaving| (&*leaving.name, leaving.generation))
    }

    /// Ends when another consumer has the cursor, or it was given back or dropped. Dropped while it waits, nothing
    /// is lost.
    pub async fn lost(&mut self) {
        loop {
            if let Some(reading) = &mut self.reading {
                let is_own = reading.await;
                self.reading = None;
                self.next = Instant::now() + LOOK;
                // What cannot be read now is tried again.
                let is_own = is_own.unwrap_or_else(|r| r.status != StatusCode::NOT_FOUND);
                if !is_own {
                    self.leaving = None;
                    return;
                }
            }
            sleep_until(self.next).await;
            let Some(leaving) = &self.leaving else {
                return std::future::pending().await;
            };
            let services = self.services.clone();
            let (keyspace, name) = (leaving.keyspace, leaving.name.clone());
            let generation = leaving.generation;
            self.reading = Some(Box::pin(async move {
                let cursors = Cursors::of(&services, keyspace);
                let (cursor, _) = cursors.named(&name).await?;
                Ok(cursor.is_of(generation))
            }));
        }
    }

    /// Gives the cursor back.
    pub async fn release(mut self) {
        if let Some(leaving) = self.leaving.take() {
            release(&self.services, leaving).await;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(leaving) = self.leaving.take() {
            // Nobody is there any more where the shard ends.
            drop(self.behind.send(leaving));
        }
    }
}

async fn release(services: &Rc<Services>, leaving: Leaving) {
    let Leaving {
        keyspace,
        name,
        generation,
    } = leaving;
    let cursors = Cursors::of(services, keyspace);
    let released = cursors.change(&name, |cursor| cursor.release(generation));
    if let Ok(Err(rejected)) = timeout(RELEASE_TIMEOUT, released).await {
        tracing::debug!(
            cursor = name,
            why = rejected.line,
            "a cursor is not given back"
        );
    }
}

/// Cursors whose streams broke off are given back by whoever has the other end.
pub(crate) fn channel() -> (UnboundedSender<Leaving>, UnboundedReceiver<Leaving>) {
    mpsc::unbounded_channel()
}

/// Gives back what comes.
pub(crate) async fn release_all(
    services: std::rc::Weak<Services>,
    mut leaving: UnboundedReceiver<Leaving>,
) {
    while let Some(leaving) = leaving.recv().await {
        let Some(services) = services.upgrade() else {
            return;
        };
        release(&services, leaving).await;
    }
}
