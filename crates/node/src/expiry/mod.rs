//! Values whose time is over: that is logged as a delete, so that all who follow the log see it.
//!
//! The delete has the stamp of the very value it ends, and beats that and nothing newer (decision 36).
//! Each replica finds what is over by its store's list; one of them logs it.
//!
//! | file | duty |
//! |---|---|
//! | `turn` | pure: which of the replicas |
//! | `tidy` | pure: when names that stand for nothing are looked for |

mod tidy;
mod turn;

use std::cell::Cell;
use std::rc::Rc;

use dunlin_store::{Expired, Store};
use tokio::time::Instant;

use crate::limits::{EXPIRY_INTERVAL, EXPIRY_LATE, EXPIRY_LOOKED, EXPIRY_PAUSE};
use crate::shard::Shard;
use tidy::Tidy;
use turn::is_turn;

/// A shard's part in ending values.
pub(crate) struct Expiry {
    shard: Rc<Shard>,
    /// What was over by then has had its turn; milliseconds since 1970.
    looked_ms: Cell<u64>,
    /// When what others had left undone was looked for last.
    swept: Cell<Option<Instant>>,
    tidy: Cell<Tidy>,
}

impl Expiry {
    /// Of a shard that does not run yet.
    pub fn new(shard: Rc<Shard>) -> Rc<Expiry> {
        Rc::new(Expiry {
            shard,
            looked_ms: Cell::default(),
            swept: Cell::default(),
            tidy: Cell::default(),
        })
    }

    /// Begins its duties.
    pub fn run(self: &Rc<Self>) {
        tokio::task::spawn_local(self.clone().expiry_loop());
    }

    async fn expiry_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            if let Err(error) = self.round().await {
                tracing::debug!(error, "what is over is not ended yet");
            }
        }
    }

    /// Ends what is over by now, as far as that is this shard's turn.
    async fn round(&self) -> Result<(), String> {
        if !self.shard.may_end() {
            return Ok(());
        }
        let now_ms = self.shard.clock().now_ms();
        let late = EXPIRY_LATE.as_millis() as u64;
        let is_due = self
            .swept
            .get()
            .is_none_or(|at| at.elapsed() > EXPIRY_LATE / 2);
        if is_due {
            let done = self.end_all(0, now_ms.saturating_sub(late), true).await?;
            self.swept.set(done.then(Instant::now));
            self.tidy().await?;
        }
        // A clock that was set back since leaves a gap: what is in it is ended when it is late.
        if self.end_all(self.looked_ms.get(), now_ms, false).await? {
            self.looked_ms.set(now_ms);
        }
        Ok(())
    }

    /// Ends what was over between two times; false when it had to stop.
    async fn end_all(&self, from_ms: u64, until_ms: u64, is_late: bool) -> Result<bool, String> {
        let mut start = Some(Store::expired_from(from_ms));
        while let Some(from) = start {
            let read = self
                .shard
                .store_behind(move |store| store.expired_page(&from, until_ms, EXPIRY_LOOKED));
            let page = read.await?;
            start = page.next;
            for value in page.items {
                if self.is_turn(&value, is_late) && !self.shard.end_value(value) {
                    return Ok(false);
                }
            }
            if start.is_some() {
                tokio::time::sleep(EXPIRY_PAUSE).await;
            }
        }
        Ok(true)
    }

    /// Strikes off what stands for nothing although its time has not come: renewals, deletes and drops
    /// leave such names behind.
    async fn tidy(&self) -> Result<(), String> {
        let names = self.shard.store_behind(Store::expiry_names).await?;
        let now = Instant::now();
        if !self.tidy.get().is_due(names, now) {
            return Ok(());
        }
        let mut standing = 0;
        let mut start = Some(Store::expired_from(0));
        while let Some(from) = start {
            let read = self
                .shard
                .store_behind(move |store| store.expired_page(&from, u64::MAX, EXPIRY_LOOKED));
            let page = read.await?;
            standing += page.items.len() as u64;
            start = page.next;
            tokio::time::sleep(EXPIRY_PAUSE).await;
        }
        self.tidy.set(Tidy::done(standing, now));
        Ok(())
    }

    fn is_turn(&self, value: &Expired, is_late: bool) -> bool {
        let placement = self.shard.placement();
        let Some(keyspace) = placement.keyspace(value.keyspace) else {
            return false;
        };
        let replicas = keyspace.replicas(value.partition, keyspace.width(value.from));
        is_turn(replicas, self.shard.address(), is_late, |other| {
            let peer = self.shard.peer(other);
            peer.is_some_and(|peer| peer.caller.is_connected())
        })
    }
}
