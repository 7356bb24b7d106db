//! A stream inside one process: the items themselves, bounded by their weight.
use super::{Ending, PART_COST_BYTES};
use crate::error::{CallError, refusal};
use crate::queue::Load;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// What the two ends share.
pub(crate) struct Near<R> {
    inner: Mutex<Inner<R>>,
    pub gone: Arc<Notify>,
}

struct Inner<R> {
    items: VecDeque<(R, usize)>,
    window_bytes: usize,
    held_bytes: usize,
    ending: Option<Ending>,
    is_stopped: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl<R> Near<R> {
    pub fn new(window_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                items: VecDeque::new(),
                window_bytes,
                held_bytes: 0,
                ending: None,
                is_stopped: false,
                reader: None,
                writer: None,
            }),
            gone: Arc::default(),
        })
    }

    /// A panic while the lock is held cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, Inner<R>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the item once there is room; one that is larger than the window waits until nothing is
    /// held. False where nobody reads.
    pub fn poll_send(&self, cx: &Context<'_>, item: &mut Option<R>, weight: usize) -> Poll<bool> {
        let cost = weight + PART_COST_BYTES;
        let reader = {
            let mut inner = self.lock();
            if inner.is_stopped {
                return Poll::Ready(false);
            }
            if inner.held_bytes > 0 && inner.held_bytes + cost > inner.window_bytes {
                inner.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let Some(item) = item.take() else {
                return Poll::Ready(true);
            };
            inner.held_bytes += cost;
            inner.items.push_back((item, cost));
            inner.reader.take()
        };
        wake(reader);
        Poll::Ready(true)
    }

    /// The first end counts.
    pub fn end(&self, ending: Ending) {
        let reader = {
            let mut inner = self.lock();
            inner.ending.get_or_insert(ending);
            inner.reader.take()
        };
        wake(reader);
    }

    /// The next item, or how it ended.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<R, Ending>> {
        let (item, writer) = {
            let mut inner = self.lock();
            let Some((item, cost)) = inner.items.pop_front() else {
                if let Some(ending) = &inner.ending {
                    return Poll::Ready(Err(ending.clone()));
                }
                inner.reader = Some(cx.waker().clone());
                return Poll::Pending;
            };
            inner.held_bytes -= cost;
            (item, inner.writer.take())
        };
        wake(writer);
        Poll::Ready(Ok(item))
    }

    /// No more is wanted than there is.
    pub fn finish(&self) {
        let (reader, writer) = {
            let mut inner = self.lock();
            inner.is_stopped = true;
            inner.ending.get_or_insert(Ok(()));
            (inner.reader.take(), inner.writer.take())
        };
        wake(reader);
        wake(writer);
        self.gone.notify_one();
    }

    /// Nobody reads any more.
    pub fn stop(&self) {
        let (dropped, writer) = {
            let mut inner = self.lock();
            inner.is_stopped = true;
            (std::mem::take(&mut inner.items), inner.writer.take())
        };
        drop(dropped);
        wake(writer);
        self.gone.notify_one();
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The end that is written; the stream ends with it.
pub(crate) struct NearEnd<R> {
    pub near: Arc<Near<R>>,
    load: Arc<dyn Load>,
    open: Arc<AtomicUsize>,
}

impl<R> NearEnd<R> {
    /// One of `open` streams, of which there may be `most`.
    pub fn new(
        near: Arc<Near<R>>,
        load: Arc<dyn Load>,
        open: Arc<AtomicUsize>,
        most: usize,
    ) -> Option<Self> {
        let before = open.fetch_add(1, Ordering::Relaxed);
        // From here on it counts itself out when it is dropped.
        let end = Self { near, load, open };
        (before < most).then_some(end)
    }
}

impl<R> Drop for NearEnd<R> {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.near.end(Err(if self.load.is_served() {
            CallError::Refused {
                code: refusal::DROPPED,
                text: super::sink::DROPPED_TEXT.to_owned(),
            }
        } else {
            CallError::Disconnected
        }));
    }
}
