//! What a caller has of a stream: its items, as they come.
use super::near::Near;
use super::reading::{Part, Read, Reading};
use crate::call::Owner;
use crate::error::CallError;
use crate::frame::Kind;
use crate::outbox::Outbox;
use bytes::{BufMut, Bytes, BytesMut};
use dunlin_message::Message;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

/// The streams that one caller reads, and whence.
pub(crate) struct Reads {
    pub reading: RefCell<Reading>,
    pub outbox: Rc<Outbox>,
    pub item_bytes_max: usize,
}

impl Reads {
    fn push(&self, kind: Kind, stream: u64, encode: impl FnOnce(&mut BytesMut)) {
        // Few and small: one for each half of a window, and one for each stream.
        let pushed = self.outbox.push(kind, stream, 4, usize::MAX, encode);
        if pushed.is_err() {
            tracing::debug!(stream, "a stream has no connection any more");
        }
    }

    fn finish(&self, stream: u64) {
        let is_running = self.reading.borrow().is_running(stream);
        if is_running {
            self.push(Kind::Stop, stream, |_| {});
        }
    }

    fn stop(&self, stream: u64) {
        let is_running = self.reading.borrow_mut().stop(stream);
        if is_running {
            self.push(Kind::Stop, stream, |_| {});
        }
    }
}

/// The items of a stream. Dropped before its end, it tells the writer to stop.
pub struct Items<R>(Route<R>);

enum Route<R> {
    Line(Line<R>),
    Near(Arc<Near<R>>),
    Ended(Option<CallError>),
}

struct Line<R> {
    reads: Rc<Reads>,
    stream: u64,
    /// What has come of an item that is not whole.
    begun: BytesMut,
    /// Keeps the connection.
    _owner: Rc<Owner<R>>,
}

impl<R> Items<R> {
    pub(crate) fn failed(error: CallError) -> Self {
        Self(Route::Ended(Some(error)))
    }

    pub(crate) fn line(reads: &Rc<Reads>, stream: u64, owner: Rc<Owner<R>>) -> Self {
        Self(Route::Line(Line {
            reads: reads.clone(),
            stream,
            begun: BytesMut::new(),
            _owner: owner,
        }))
    }

    pub(crate) fn near(near: Arc<Near<R>>) -> Self {
        Self(Route::Near(near))
    }
}

impl<R: Message> Items<R> {
    /// The next item; `None` when the writer has sent all, and after an error. May be given up and asked
    /// again. While nobody asks, the writer sends no more than the window.
    pub async fn next(&mut self) -> Option<Result<R, CallError>> {
        let next = match &mut self.0 {
            Route::Line(line) => line.next().await,
            Route::Near(near) => poll_fn(|cx| near.poll_next(cx)).await,
            Route::Ended(error) => Err(error.take().map_or(Ok(()), Err)),
        };
        match next {
            Ok(item) => Some(Ok(item)),
            Err(ending) => {
                // Dropped, it tells the writer, if that has not ended by itself.
                drop(std::mem::replace(self, Self(Route::Ended(None))));
                ending.err().map(Err)
            }
        }
    }
}

impl<R> Items<R> {
    /// Wants no more than is on its way. What has come whole of that can still be read, then the end.
    pub fn finish(&mut self) {
        match &self.0 {
            Route::Line(line) => line.reads.finish(line.stream),
            Route::Near(near) => near.finish(),
            Route::Ended(_) => {}
        }
    }
}

impl<R: Message> Line<R> {
    async fn next(&mut self) -> Result<R, Result<(), CallError>> {
        let Self {
            reads,
            stream,
            begun,
            ..
        } = self;
        loop {
            match poll_fn(|cx| reads.reading.borrow_mut().poll(*stream, cx)).await {
                Read::End(ending) => return Err(ending),
                Read::Part(part, granted) => {
                    if let Some(bytes) = granted {
                        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                        reads.push(Kind::Credit, *stream, |out| out.put_u32_le(bytes));
                    }
                    if let Some(item) = joined(begun, part, reads.item_bytes_max)? {
                        let decoded = R::decode(item);
                        return decoded.map_err(|error| protocol(&error.to_string()));
                    }
                }
            }
        }
    }
}

/// The item that is whole with this part.
fn joined(
    begun: &mut BytesMut,
    part: Part,
    bytes_max: usize,
) -> Result<Option<Bytes>, Result<(), CallError>> {
    if begun.len() + part.bytes.len() > bytes_max {
        return Err(protocol("an item is larger than it may be"));
    }
    if begun.is_empty() && part.is_last {
        return Ok(Some(part.bytes));
    }
    begun.put_slice(&part.bytes);
    Ok(part.is_last.then(|| std::mem::take(begun).freeze()))
}

fn protocol(why: &str) -> Result<(), CallError> {
    Err(CallError::Protocol(why.to_owned()))
}

impl<R> Drop for Items<R> {
    fn drop(&mut self) {
        match &self.0 {
            Route::Line(line) => line.reads.stop(line.stream),
            Route::Near(near) => near.stop(),
            Route::Ended(_) => {}
        }
    }
}
