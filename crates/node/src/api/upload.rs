//! What a client sends behind a request's head, and what becomes of it when nobody reads it: a
//! client that still sends when its connection is closed may never see the answer.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::timeout;

use super::error::Rejected;

/// So much of a body that nobody wants is read, for the connection's sake.
const LITTLE_BYTES: u64 = 256 << 10;
/// And for so long.
const LITTLE_TIME: Duration = Duration::from_secs(2);

/// The body of a request. Its connection holds a second handle, for what is left of it.
pub(crate) struct Upload(Rc<RefCell<Arriving>>);

struct Arriving {
    body: Incoming,
    /// Somebody has begun to read it: a client that asked is told to go on.
    is_begun: bool,
    /// Its end has been read, or it broke off.
    is_over: bool,
    /// Whether what it asks for may still be done, for when all of it has come.
    still: Option<Still>,
}

/// A look at what may have changed while a body came in.
type Still = Box<dyn Fn() -> Result<(), Rejected>>;

/// The connection's handle.
pub(super) struct Rest(Rc<RefCell<Arriving>>);

/// What is to become of a body that was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing is left.
    Nothing,
    /// It is read to its end, and the connection goes on.
    Little,
    /// The answer says that it is the connection's last.
    Much,
}

/// Whether reading on is worth a connection. `bytes_most`: what may still come, if that is known;
/// `is_held_back`: the client waits for word before it sends.
pub(super) fn left(is_over: bool, is_held_back: bool, bytes_most: Option<u64>) -> Left {
    match (is_over, is_held_back, bytes_most) {
        (true, _, _) => Left::Nothing,
        // Whether it will send the body now it alone knows.
        (false, true, _) => Left::Much,
        (false, false, Some(bytes)) if bytes <= LITTLE_BYTES => Left::Little,
        (false, false, _) => Left::Much,
    }
}

impl Upload {
    /// Both handles of a request's body.
    pub(super) fn new(body: Incoming) -> (Upload, Rest) {
        let arriving = Arriving {
            is_over: body.is_end_stream(),
            body,
            is_begun: false,
            still: None,
        };
        let arriving = Rc::new(RefCell::new(arriving));
        (Upload(arriving.clone()), Rest(arriving))
    }

    /// Sets what is to be asked when all of it has come.
    pub(super) fn ask_again(&self, still: impl Fn() -> Result<(), Rejected> + 'static) {
        self.0.borrow_mut().still = Some(Box::new(still));
    }

    /// Whether what it asks for may still be done.
    pub(super) fn may_still(&self) -> Result<(), Rejected> {
        match &self.0.borrow().still {
            Some(still) => still(),
            None => Ok(()),
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.0.borrow_mut().poll(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.borrow().is_over
    }

    fn size_hint(&self) -> SizeHint {
        self.0.borrow().body.size_hint()
    }
}

impl Arriving {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.is_begun = true;
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(frame) = &frame {
            self.is_over = !matches!(frame, Some(Ok(_))) || self.body.is_end_stream();
        }
        frame
    }
}

impl Rest {
    /// What is to become of what is left, the answer being at hand; `asks`: the client said that it
    /// waits for word. Reads on beside the answer where that is worth it.
    pub fn settle(self, asks: bool) -> Left {
        let verdict = {
            let arriving = self.0.borrow();
            let is_held_back = asks && !arriving.is_begun;
            left(
                arriving.is_over,
                is_held_back,
                arriving.body.size_hint().upper(),
            )
        };
        if verdict == Left::Little {
            // Not before the answer: a slow sender would wait for it until the last byte.
            let mut body = Upload(self.0);
            tokio::task::spawn_local(async move {
                let drained = async { while let Some(Ok(_)) = body.frame().await {} };
                drop(timeout(LITTLE_TIME, drained).await);
            });
        }
        verdict
    }
}

#[cfg(test)]
#[path = "upload_tests.rs"]
mod tests;
