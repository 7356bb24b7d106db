//! Frames waiting to be written to one stream: appended by calls or replies, taken all at once.
use crate::error::CallError;
use crate::frame::{self, FRAME_OVERHEAD_BYTES, Kind};
use bytes::BytesMut;
use std::cell::RefCell;
use std::task::{Context, Waker};

/// A buffer that grew above this for a burst is given back once it is empty.
const KEPT_CAPACITY_BYTES: usize = 1 << 20;

/// Why a frame was not queued.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PushError {
    Closed,
    Full,
    TooLarge { bytes: usize, bytes_max: usize },
}

impl From<PushError> for CallError {
    fn from(error: PushError) -> Self {
        match error {
            PushError::Closed => CallError::Disconnected,
            PushError::Full => CallError::Overloaded,
            PushError::TooLarge { bytes, bytes_max } => CallError::TooLarge { bytes, bytes_max },
        }
    }
}

/// The frames that one connection has still to write.
pub(crate) struct Outbox {
    inner: RefCell<Inner>,
    frame_bytes_max: usize,
}

#[derive(Default)]
struct Inner {
    buffer: BytesMut,
    /// Bytes taken by the writer and not yet accepted by the stream.
    writing_bytes: usize,
    open: bool,
    waker: Option<Waker>,
}

impl Outbox {
    /// A closed outbox: what is pushed before `open` is refused.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self {
            inner: RefCell::default(),
            frame_bytes_max,
        }
    }

    pub fn open(&self) {
        self.inner.borrow_mut().open = true;
    }

    /// Refuses further frames and drops those not yet taken.
    pub fn close(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.open = false;
        inner.buffer = BytesMut::new();
        inner.writing_bytes = 0;
    }

    pub fn is_open(&self) -> bool {
        self.inner.borrow().open
    }

    /// Whether the next turn to write is anybody's.
    pub fn is_empty(&self) -> bool {
        self.inner.borrow().buffer.is_empty()
    }

    /// Bytes queued and not yet accepted by the stream.
    pub fn queued_bytes(&self) -> usize {
        let inner = self.inner.borrow();
        inner.buffer.len() + inner.writing_bytes
    }

    /// Queues a frame whose body `encode` writes, about `weight` bytes of it. Into an empty outbox
    /// any frame goes; otherwise no more than `queued_bytes_max` are queued in all.
    pub fn push(
        &self,
        kind: Kind,
        call: u64,
        weight: usize,
        queued_bytes_max: usize,
        encode: impl FnOnce(&mut BytesMut),
    ) -> Result<(), PushError> {
        let waker = {
            let mut inner = self.inner.borrow_mut();
            if !inner.open {
                return Err(PushError::Closed);
            }
            let queued = inner.buffer.len() + inner.writing_bytes;
            let frame_bytes = weight.saturating_add(FRAME_OVERHEAD_BYTES);
            if queued > 0 && queued.saturating_add(frame_bytes) > queued_bytes_max {
                return Err(PushError::Full);
            }
            inner.buffer.reserve(frame_bytes.min(self.frame_bytes_max));
            frame::append(&mut inner.buffer, kind, call, self.frame_bytes_max, encode).map_err(
                |bytes| PushError::TooLarge {
                    bytes,
                    bytes_max: self.frame_bytes_max,
                },
            )?;
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Has the connection looked at again, although nothing is pushed.
    pub fn wake(&self) {
        let waker = self.inner.borrow_mut().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Has the writer woken by the next push.
    pub fn register(&self, cx: &Context<'_>) {
        let mut inner = self.inner.borrow_mut();
        match &inner.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => inner.waker = Some(cx.waker().clone()),
        }
    }

    /// Swaps all queued frames with the writer's empty buffer, so that neither allocates again.
    pub fn take_into(&self, writing: &mut BytesMut) {
        let mut inner = self.inner.borrow_mut();
        if writing.capacity() > KEPT_CAPACITY_BYTES {
            *writing = BytesMut::new();
        }
        std::mem::swap(&mut inner.buffer, writing);
        inner.writing_bytes = writing.len();
    }

    /// Notes that the stream accepted `bytes`.
    pub fn accepted(&self, bytes: usize) {
        let mut inner = self.inner.borrow_mut();
        inner.writing_bytes = inner.writing_bytes.saturating_sub(bytes);
    }
}
