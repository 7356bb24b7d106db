//! The future of one call.
use crate::error::CallError;
use crate::pending::Pending;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::sync::Notify;

/// What keeps a caller's background task alive: its callers and its unfinished calls.
pub(crate) struct Owner<R> {
    pub pending: Rc<Pending<R>>,
    pub stop: Rc<Notify>,
    /// Tells the answerer that nobody waits for this call any more.
    pub cancel: Box<dyn Fn(u64)>,
}

impl<R> Drop for Owner<R> {
    fn drop(&mut self) {
        self.stop.notify_one();
    }
}

/// A call that has been made. It was queued when it was created; dropping it tells the
/// answerer that nobody waits, who may stop or may not.
pub struct Call<R>(State<R>);

enum State<R> {
    Failed(CallError),
    Waiting { owner: Rc<Owner<R>>, call: u64 },
    Finished,
}

impl<R> Call<R> {
    pub(crate) fn failed(error: CallError) -> Self {
        Self(State::Failed(error))
    }

    pub(crate) fn waiting(owner: Rc<Owner<R>>, call: u64) -> Self {
        Self(State::Waiting { owner, call })
    }
}

// Nothing in a call is ever pinned in place.
impl<R> Unpin for Call<R> {}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    /// Polled again after its end, a call is `Disconnected`.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::Waiting { owner, call } = &self.0 {
            let polled = owner.pending.poll(*call, cx);
            if polled.is_ready() {
                self.0 = State::Finished;
            }
            return polled;
        }
        match std::mem::replace(&mut self.0, State::Finished) {
            State::Failed(error) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Err(CallError::Disconnected)),
        }
    }
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        if let State::Waiting { owner, call } = &self.0 {
            let is_open = owner.pending.forget(*call);
            if is_open {
                (owner.cancel)(*call);
            }
        }
    }
}
