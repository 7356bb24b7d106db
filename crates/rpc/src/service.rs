//! What answers calls.
use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use bytes::{Buf, BufMut};
use dunlin_message::Message;
use tokio::time::Instant;

use crate::error::{CallError, refusal};
use crate::frame::Kind;
use crate::given_up::{GivenUp, Watches};
use crate::outbox::{Outbox, PushError};
use crate::queue::QueueReply;
use crate::stream::sink::Sink;

/// Requests of up to so many bytes arrive without room of their own.
pub const ROOM_BYTES_MIN: usize = 64 << 10;

/// Counts the bytes of a request for as long as it lives.
pub type Room = Box<dyn Any>;

/// Answers the calls that reach one shard.
pub trait Service<Q, R> {
    /// Takes a request, on the event loop and in order of arrival, so it must not block. It may
    /// answer at once or move `reply` into a task.
    fn handle(&self, request: Q, reply: Reply<R>);

    /// Room for a request of so many bytes that arrives, held until it is handled; none where there is not enough: then it is
    /// read on later. Those of up to [`ROOM_BYTES_MIN`] need none.
    fn room(&self, bytes: usize) -> Option<Room> {
        let _ = bytes;
        Some(Box::new(()))
    }

    /// The same for a request that is not answered. A service that knows of none leaves it out.
    fn notice(&self, request: Q) {
        drop(request);
        tracing::debug!("a request without an answer was left out");
    }

    /// The same for a request whose answer is to be a stream: see [`Sink::work`]. Who knows of none
    /// refuses.
    fn open(&self, request: Q, sink: Sink<R>) {
        drop(request);
        sink.refuse(refusal::NO_STREAM, "this is not answered with a stream");
    }
}

impl<Q, R, F: Fn(Q, Reply<R>)> Service<Q, R> for F {
    fn handle(&self, request: Q, reply: Reply<R>) {
        self(request, reply);
    }
}

/// The answer that a call waits for. Dropped without one, the call is refused.
pub struct Reply<R>(Option<Route<R>>);

enum Route<R> {
    Stream(StreamReply),
    Queue(QueueReply<R>, Rc<Watches>),
}

/// Why there is no answer, for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Below [`refusal::RESERVED`].
    pub code: u16,
    /// One line for people.
    pub text: Cow<'static, str>,
}

impl Refused {
    /// With a code below [`refusal::RESERVED`] and one line of text.
    pub fn new(code: u16, text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        Self { code, text }
    }
}

impl<R> Reply<R> {
    pub(crate) fn stream(reply: StreamReply) -> Self {
        Self(Some(Route::Stream(reply)))
    }

    pub(crate) fn queue(reply: QueueReply<R>, watches: &Rc<Watches>) -> Self {
        Self(Some(Route::Queue(reply, watches.clone())))
    }

    /// When the caller gives the call up; `None` where it has not said so.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.0 {
            Some(Route::Stream(reply)) => reply.deadline,
            Some(Route::Queue(reply, _)) => reply.deadline(),
            None => None,
        }
    }

    /// Ready when nobody waits for the answer any more. To be asked for while the call is handled:
    /// who asks later may miss that the caller has given up.
    pub fn given_up(&self) -> GivenUp {
        match &self.0 {
            Some(Route::Stream(reply)) => {
                let call = (0, reply.call);
                reply.debt.watches.watch(call, reply.deadline)
            }
            Some(Route::Queue(reply, watches)) => watches.watch(reply.id(), reply.deadline()),
            None => Rc::new(Watches::default()).watch((0, 0), None),
        }
    }

    /// Says nothing more: nobody waits.
    fn abandon(mut self) {
        match self.0.take() {
            Some(Route::Stream(reply)) => reply.abandon(),
            Some(Route::Queue(reply, _)) => reply.abandon(),
            None => {}
        }
    }

    /// Refuses the call, with a code below [`refusal::RESERVED`] and one line of text.
    pub fn refuse(mut self, code: u16, text: &str) {
        match self.0.take() {
            Some(Route::Stream(reply)) => reply.refuse(code, text),
            Some(Route::Queue(reply, _)) => {
                reply.send(Err(CallError::Refused {
                    code,
                    text: text.to_owned(),
                }));
            }
            None => {}
        }
    }
}

impl<R: Message> Reply<R> {
    /// Answers the call. An answer to a connection that is gone is dropped.
    pub fn send(mut self, response: R) {
        match self.0.take() {
            Some(Route::Stream(reply)) => reply.send(&response),
            Some(Route::Queue(reply, _)) => reply.send(Ok(response)),
            None => {}
        }
    }

    /// What the peer has not taken of answers before this one.
    pub fn backlog(&self) -> Backlog {
        match &self.0 {
            Some(Route::Stream(reply)) => Backlog(Some(reply.debt.outbox.clone())),
            _ => Backlog(None),
        }
    }

    /// Answers the call with what `work` comes to, in a task of its own. When nobody waits for the
    /// answer any more, `work` is dropped wherever it is: only for what may end anywhere.
    pub fn work(self, work: impl Future<Output = Result<R, Refused>> + 'static) {
        let given_up = self.given_up();
        tokio::task::spawn_local(async move {
            tokio::select! {
                biased;
                () = given_up => self.abandon(),
                worked = work => match worked {
                    Ok(response) => self.send(response),
                    Err(Refused { code, text }) => self.refuse(code, &text),
                },
            }
        });
    }
}

impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        const TEXT: &str = "the call was dropped without an answer";
        match self.0.take() {
            Some(Route::Stream(reply)) => reply.refuse(refusal::DROPPED, TEXT),
            Some(Route::Queue(reply, _)) => reply.send_dropped(CallError::Refused {
                code: refusal::DROPPED,
                text: TEXT.to_owned(),
            }),
            None => {}
        }
    }
}

/// Answers over one connection that its peer has not taken. Between threads there are none: they are taken at once.
pub struct Backlog(Option<Rc<Outbox>>);

impl Backlog {
    /// Their bytes; none where the connection has ended.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |outbox| outbox.queued_bytes())
    }
}

/// What one served connection owes its peer.
pub(crate) struct Debt {
    pub outbox: Rc<Outbox>,
    pub calls: Cell<usize>,
    pub request_bytes: Cell<usize>,
    pub watches: Rc<Watches>,
}

/// The way back over a stream.
pub(crate) struct StreamReply {
    debt: Rc<Debt>,
    call: u64,
    request_bytes: usize,
    deadline: Option<Instant>,
}

impl StreamReply {
    pub fn new(
        debt: &Rc<Debt>,
        call: u64,
        request_bytes: usize,
        deadline: Option<Instant>,
    ) -> Self {
        debt.calls.set(debt.calls.get() + 1);
        debt.request_bytes
            .set(debt.request_bytes.get() + request_bytes);
        Self {
            debt: debt.clone(),
            call,
            request_bytes,
            deadline,
        }
    }

    fn settle(&self) {
        self.debt.calls.set(self.debt.calls.get() - 1);
        self.debt
            .request_bytes
            .set(self.debt.request_bytes.get() - self.request_bytes);
    }

    pub fn abandon(self) {
        self.settle();
        // The connection may be read on for this.
        self.debt.outbox.wake();
    }

    pub fn send(self, response: &impl Message) {
        let weight = response.weight();
        // What waits here is bounded by what is read: a connection that owes much is not read.
        let pushed = self
            .debt
            .outbox
            .push(Kind::Response, self.call, weight, usize::MAX, |out| {
                response.encode(out);
            });
        match pushed {
            Err(PushError::TooLarge { bytes, bytes_max }) => {
                let text = format!("response of {bytes} bytes is over the limit of {bytes_max}");
                self.refuse(refusal::TOO_LARGE, &text);
            }
            Ok(()) | Err(PushError::Closed | PushError::Full) => self.settle(),
        }
    }

    pub fn refuse(self, code: u16, text: &str) {
        self.settle();
        let weight = text.len() + 2;
        let pushed = self
            .debt
            .outbox
            .push(Kind::Refusal, self.call, weight, usize::MAX, |out| {
                out.put_u16_le(code);
                out.put_slice(text.as_bytes());
            });
        if let Err(error) = pushed {
            tracing::debug!(
                call = self.call,
                code,
                ?error,
                "a refusal found no connection"
            );
        }
    }
}

/// Reads the body of a refusal.
pub(crate) fn refusal_from(mut body: &[u8]) -> CallError {
    match body.try_get_u16_le() {
        Ok(code) => CallError::Refused {
            code,
            text: String::from_utf8_lossy(body).into_owned(),
        },
        Err(_) => CallError::Protocol("a refusal without a code".to_owned()),
    }
}
