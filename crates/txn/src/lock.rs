//! Locks of hot keys at the leader: a request waits until it is its turn.

use std::pin::pin;

use bytes::Bytes;
use dunlin_entry::Version;
use futures_util::future::select;

use crate::queue::Turn;
use crate::request::Answer;
use crate::serve::{Here, Replica, World};

impl<W: World, R: Replica> Here<'_, W, R> {
    /// Waits for the lock of a key, and then reads at a new timestamp.
    pub(crate) async fn lock_and_read(
        &self,
        key: &Bytes,
        floor: Version,
        reads: Vec<Bytes>,
    ) -> Result<Answer, Answer> {
        let mut waiter = self.lock(key).await?;
        let at = self.world.timestamp(floor).await?;
        let number = waiter.number;
        (self.replica).with(|_, leader| leader.locks.give(number, at))?;
        let values = if reads.is_empty() {
            Vec::new()
        } else {
            self.values(at, reads).await?
        };
        waiter.is_kept = true;
        Ok(Answer::Locked {
            number,
            has_waited: waiter.has_waited,
            at,
            values,
        })
    }

    /// Waits for the lock of a key, which ends with what this returns.
    pub(crate) async fn lock(&self, key: &Bytes) -> Result<Waiter<'_, W, R>, Answer> {
        let now_ms = self.world.elapsed_ms();
        let number = (self.replica).with(|_, leader| leader.locks.add(key, now_ms))?;
        let number = number.ok_or(Answer::Busy)?;
        // Its client may give up at any time.
        let mut waiter = Waiter {
            here: self,
            number,
            has_waited: false,
            is_kept: false,
        };
        loop {
            let now_ms = self.world.elapsed_ms();
            match (self.replica).with(|_, leader| leader.locks.turn(number, now_ms))? {
                Turn::Now => {
                    return Ok(waiter);
                }
                Turn::Later(_) if self.world.left_ms() == 0 => return Err(Answer::Busy),
                Turn::Later(ms) => {
                    waiter.has_waited = true;
                    let over = self.world.pause(ms.min(self.world.left_ms()));
                    select(pin!(self.replica.woken(number)), pin!(over)).await;
                }
                Turn::Never => return Err(Answer::Busy),
            }
        }
    }

    /// A lock ends, or somebody does not wait for one any more.
    pub(crate) fn unlock(&self, number: u64) -> Result<Answer, Answer> {
        let now_ms = self.world.elapsed_ms();
        let next = (self.replica).with(|_, leader| leader.locks.end(number, now_ms))?;
        if let Some(next) = next {
            self.replica.wake(next);
        }
        Ok(Answer::Done(Version(0)))
    }
}

/// One that waits, or has its turn.
pub(crate) struct Waiter<'a, W: World, R: Replica> {
    here: &'a Here<'a, W, R>,
    number: u64,
    /// Others had the lock first.
    has_waited: bool,
    /// The lock lasts longer.
    is_kept: bool,
}

impl<W: World, R: Replica> Drop for Waiter<'_, W, R> {
    fn drop(&mut self) {
        self.here.replica.wake(self.number);
        if !self.is_kept {
            // A former leader has no locks.
            drop(self.here.unlock(self.number));
        }
    }
}
