//! What a service has of a stream: where its items go.
use super::near::NearEnd;
use super::writing::{Out, Writing};
use super::{Ending, put_ending};
use crate::error::{CallError, refusal};
use crate::frame::Kind;
use crate::outbox::Outbox;
use bytes::{BufMut, BytesMut};
use dunlin_message::Message;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;

pub(crate) const DROPPED_TEXT: &str = "the stream was dropped before its end";

/// Why an item did not go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// Nobody reads any more: the reader has stopped, or the connection is gone. Do no more for it.
    #[error("nobody reads the stream any more")]
    Gone,
    /// The item is larger than may be sent; the stream goes on without it. Split it.
    #[error("item of {bytes} bytes is over the limit of {bytes_max}")]
    TooLarge {
        /// The size of the encoded item.
        bytes: usize,
        /// The largest that is sent.
        bytes_max: usize,
    },
}

/// The streams that one connection writes, and where to.
pub(crate) struct Writes {
    pub writing: RefCell<Writing>,
    pub outbox: Rc<Outbox>,
    pub item_bytes_max: usize,
}

impl Writes {
    /// Pushes the next quantum; false when there is none.
    pub fn push_next(&self) -> bool {
        let out = self.writing.borrow_mut().next();
        let Some(out) = out else {
            return false;
        };
        match out {
            Out::Part {
                stream,
                bytes,
                is_last,
            } => self.push(Kind::Item, stream, bytes.len() + 1, |out| {
                out.put_u8(u8::from(is_last));
                out.put_slice(&bytes);
            }),
            Out::End { stream, ending } => self.push_end(stream, &ending),
        }
        true
    }

    /// Says at once that a stream has ended.
    pub fn push_end(&self, stream: u64, ending: &Ending) {
        self.push(Kind::End, stream, 64, |out| put_ending(out, ending));
    }

    fn push(&self, kind: Kind, stream: u64, weight: usize, encode: impl FnOnce(&mut BytesMut)) {
        let pushed = self.outbox.push(kind, stream, weight, usize::MAX, encode);
        if let Err(error) = pushed {
            tracing::debug!(stream, ?error, "a stream found no connection");
        }
    }
}

/// Where the items of a stream go. Dropped without an end, the stream ends with a refusal.
pub struct Sink<R> {
    route: Route<R>,
    gone: Arc<Notify>,
    has_ended: bool,
}

enum Route<R> {
    Line { writes: Rc<Writes>, stream: u64 },
    Near(NearEnd<R>),
}

impl<R> Sink<R> {
    pub(crate) fn line(writes: &Rc<Writes>, stream: u64, gone: Arc<Notify>) -> Self {
        let writes = writes.clone();
        Self {
            route: Route::Line { writes, stream },
            gone,
            has_ended: false,
        }
    }

    pub(crate) fn near(end: NearEnd<R>) -> Self {
        Self {
            gone: end.near.gone.clone(),
            route: Route::Near(end),
            has_ended: false,
        }
    }

    /// All has been sent.
    pub fn end(mut self) {
        self.end_with(Ok(()));
    }

    /// Ends the stream behind what was sent, with a code below [`refusal::RESERVED`] and one line of text.
    pub fn refuse(mut self, code: u16, text: &str) {
        self.end_with(Err(CallError::Refused {
            code,
            text: text.to_owned(),
        }));
    }

    fn end_with(&mut self, ending: Ending) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        match &self.route {
            Route::Line { writes, stream } => {
                writes.writing.borrow_mut().end(*stream, ending);
                writes.outbox.wake();
            }
            Route::Near(end) => end.near.end(ending),
        }
    }
}

impl<R: Message> Sink<R> {
    /// Sends an item: ready when all of it is on its way, for which the reader must have room. Of one
    /// that is given up half way the rest goes all the same.
    ///
    /// # Errors
    /// When nobody reads any more, or the item is too large.
    pub async fn send(&mut self, item: R) -> Result<(), SinkError> {
        let is_open = match &self.route {
            Route::Line { writes, stream } => send_on_line(writes, *stream, &item).await?,
            Route::Near(end) => {
                let weight = item.weight();
                let mut item = Some(item);
                poll_fn(|cx| end.near.poll_send(cx, &mut item, weight)).await
            }
        };
        is_open.then_some(()).ok_or(SinkError::Gone)
    }

    /// Has `work` write the stream, in a task of its own. When nobody reads any more, `work` is dropped
    /// wherever it is.
    pub fn work<F>(self, work: impl FnOnce(Sink<R>) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        let gone = self.gone.clone();
        let work = work(self);
        tokio::task::spawn_local(async move {
            tokio::select! {
                biased;
                () = gone.notified() => {}
                () = work => {}
            }
        });
    }
}

async fn send_on_line(
    writes: &Writes,
    stream: u64,
    item: &impl Message,
) -> Result<bool, SinkError> {
    let sent = || poll_fn(|cx| writes.writing.borrow_mut().poll_sent(stream, cx));
    // One may have been given up half way.
    if !sent().await {
        return Ok(false);
    }
    let mut out = BytesMut::with_capacity(item.weight());
    item.encode(&mut out);
    let (bytes, bytes_max) = (out.len(), writes.item_bytes_max);
    if bytes > bytes_max {
        return Err(SinkError::TooLarge { bytes, bytes_max });
    }
    writes.writing.borrow_mut().offer(stream, out.freeze());
    writes.outbox.wake();
    Ok(sent().await)
}

impl<R> Drop for Sink<R> {
    fn drop(&mut self) {
        // Inside the process the end knows better why it goes.
        if matches!(self.route, Route::Line { .. }) {
            self.end_with(Err(CallError::Refused {
                code: refusal::DROPPED,
                text: DROPPED_TEXT.to_owned(),
            }));
        }
    }
}
