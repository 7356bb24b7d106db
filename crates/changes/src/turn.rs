//! Whose turn it is to write much to a client. One has it at a time, and between two the event loop looks at all
//! connections: replication and requests go first, however many streams have something to say at once. While
//! there are any, what streams write takes no more than half of the loop's time.

use std::cell::Cell;
use std::time::Duration;

use dunlin_log::Index;
use dunlin_node::Services;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Less is written at once.
const LITTLE_BYTES: usize = 4 << 10;
/// So much is made good at a time: timers are no finer.
const DEBT: Duration = Duration::from_millis(1);
/// What is measured is how long lines take to be made; the connection takes as long again to send them.
const WITH_SENDING: u32 = 2;

/// The turns of a shard.
pub(crate) struct Turns {
    running: Semaphore,
    /// What streams have taken of the loop's time and is not made good.
    debt: Cell<Duration>,
    /// The end of the log when that was looked at last.
    log_last: Cell<Index>,
}

/// A turn.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    begun: Instant,
    _permit: SemaphorePermit<'t>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            running: Semaphore::new(1),
            debt: Cell::default(),
            log_last: Cell::default(),
        }
    }
}

impl Turns {
    /// Waits for a turn to write so many bytes; none is needed for a few.
    pub async fn take(&self, services: &Services, bytes: usize) -> Option<Turn<'_>> {
        if bytes < LITTLE_BYTES {
            return None;
        }
        // It is never closed.
        let permit = self.running.acquire().await.ok()?;
        let debt = self.debt.get();
        if debt >= DEBT {
            self.debt.set(Duration::ZERO);
            let last = services.log_last();
            let is_written = self.log_last.replace(last) != last;
            if is_written || services.has_requests() {
                tokio::time::sleep(debt).await;
            }
        }
        tokio::task::yield_now().await;
        Some(Turn {
            turns: self,
            begun: Instant::now(),
            _permit: permit,
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let spent = self.begun.elapsed() * WITH_SENDING;
        self.turns.debt.set(self.turns.debt.get() + spent);
    }
}
