//! The handle that makes calls, the same whichever way they go.
use std::rc::Rc;
use std::time::Duration;

use dunlin_message::Message;
use dunlin_secret::Refusal;

use crate::call::Call;
use crate::connect::Link;
use crate::error::CallError;
use crate::queue::QueueLink;
use crate::stream::items::Items;

/// Makes calls to one shard. Cheap to clone; stays on its thread. The connection, if there is
/// one, is closed when the last clone and the last unfinished [`Call`] are gone.
pub struct Caller<Q, R>(Path<Q, R>);

pub(crate) enum Path<Q, R> {
    Link(Rc<Link<R>>),
    Queue(Rc<QueueLink<Q, R>>),
}

impl<Q, R> Clone for Caller<Q, R> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Path::Link(link) => Path::Link(link.clone()),
            Path::Queue(link) => Path::Queue(link.clone()),
        })
    }
}

/// What a caller has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallerStats {
    /// Bytes sent; for a queue, the weight of its requests.
    pub sent_bytes: u64,
    /// Bytes received; for a queue, the weight of its responses.
    pub received_bytes: u64,
    /// Bytes waiting to be sent; for a queue, the weight of requests that have no answer yet.
    pub queued_bytes: u64,
    /// Calls without an answer.
    pub outstanding: u64,
    /// Times the connection was made again after the first time.
    pub reconnects: u64,
}

impl<Q: Message, R: Message> Caller<Q, R> {
    pub(crate) fn new(path: Path<Q, R>) -> Self {
        Self(path)
    }

    /// Sends `request` now and gives a future of the response. The order of calls is the order of
    /// arrival, and any number of them may be outstanding up to the caller's limits. Timeouts are
    /// kept to about 5 ms.
    pub fn call(&self, request: Q, timeout: Duration) -> Call<R> {
        match &self.0 {
            Path::Link(link) => link.call(&request, timeout),
            Path::Queue(link) => link.call(request, timeout),
        }
    }

    /// Sends `request` now, which is not answered: in the order of calls, once at most. It may be lost, with its
    /// connection or with its taker.
    ///
    /// # Errors
    /// Where it is certain that it does not arrive.
    pub fn notify(&self, request: Q) -> Result<(), CallError> {
        match &self.0 {
            Path::Link(link) => link.notify(&request),
            Path::Queue(link) => link.notify(request),
        }
    }

    /// Sends `request` now and gives the stream that answers it. So many bytes of it, within
    /// [`crate::WINDOW_BYTES_MIN`] and [`crate::WINDOW_BYTES_MAX`], may be under way and wait here: what
    /// is not read costs no more than that, and keeps nothing else.
    pub fn stream(&self, request: Q, window_bytes: usize) -> Items<R> {
        match &self.0 {
            Path::Link(link) => link.stream(&request, window_bytes),
            Path::Queue(link) => link.stream(request, window_bytes),
        }
    }

    /// Whether a call made now would be sent.
    pub fn is_connected(&self) -> bool {
        match &self.0 {
            Path::Link(link) => link.is_connected(),
            Path::Queue(link) => link.is_connected(),
        }
    }

    /// Waits until the caller is connected. A queue whose inbox is gone never is again.
    pub async fn connected(&self) {
        match &self.0 {
            Path::Link(link) => link.connected().await,
            Path::Queue(link) if link.is_connected() => {}
            Path::Queue(_) => std::future::pending().await,
        }
    }

    /// Whether a connection that is not there may be in a moment: it broke less than a second ago,
    /// or the peer has shown itself and is being dialed.
    pub fn is_coming(&self) -> bool {
        match &self.0 {
            Path::Link(link) => link.is_coming(),
            Path::Queue(_) => false,
        }
    }

    /// Whether an attempt to connect has failed since there last was a connection: the peer is
    /// down, as far as can be told.
    pub fn has_failed(&self) -> bool {
        match &self.0 {
            Path::Link(link) => link.has_failed(),
            Path::Queue(link) => !link.is_connected(),
        }
    }

    /// Why the peer and this side do not trust each other: there is no connection, or one on which
    /// nothing was proven although this side could.
    pub fn distrust(&self) -> Option<Refusal> {
        match &self.0 {
            Path::Link(link) => link.distrust(),
            Path::Queue(_) => None,
        }
    }

    /// Connects at once if it waits for its next attempt: the peer has shown itself.
    pub fn retry_now(&self) {
        if let Path::Link(link) = &self.0 {
            link.retry_now();
        }
    }

    /// Gives up the connection, if there is one, and connects at once with a hello made anew.
    pub fn redial(&self) {
        if let Path::Link(link) = &self.0 {
            link.redial();
        }
    }

    /// What the caller has done so far.
    pub fn stats(&self) -> CallerStats {
        match &self.0 {
            Path::Link(link) => link.stats(),
            Path::Queue(link) => link.stats(),
        }
    }
}
