//! A queue between threads whose reader takes everything at once and is woken once a batch.
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Many writers, one reader. What may be queued is bounded by those who push.
pub(crate) struct Mailbox<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    items: Vec<T>,
    waker: Option<Waker>,
    closed: bool,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Inner {
                items: Vec::new(),
                waker: None,
                closed: false,
            }),
        }
    }
}

impl<T> Mailbox<T> {
    /// A panic while the lock is held cannot leave the queue half changed.
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an item, or gives it back when the mailbox is closed.
    pub fn push(&self, item: T) -> Result<(), T> {
        let waker = {
            let mut inner = self.lock();
            if inner.closed {
                return Err(item);
            }
            inner.items.push(item);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Swaps everything queued with `batch`, which is empty; false when the mailbox is closed and
    /// will never hold anything again.
    pub fn poll_take(&self, cx: &Context<'_>, batch: &mut Vec<T>) -> Poll<bool> {
        let mut inner = self.lock();
        if !inner.items.is_empty() {
            std::mem::swap(&mut inner.items, batch);
            return Poll::Ready(true);
        }
        if inner.closed {
            return Poll::Ready(false);
        }
        match &inner.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => inner.waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Takes nothing more; what is queued is still there to be taken.
    pub fn close(&self) {
        let waker = {
            let mut inner = self.lock();
            inner.closed = true;
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Closes and gives what was never taken.
    pub fn close_and_take(&self) -> Vec<T> {
        self.close();
        std::mem::take(&mut self.lock().items)
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }
}
