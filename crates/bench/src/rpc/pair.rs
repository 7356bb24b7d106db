//! Two threads: one serves, the other calls.

use std::io;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::case::{Processors, REQUEST_BYTES};
use super::tally::CallFigures;
use crate::host::pinned::{ThreadClock, pin};

/// A request.
pub const REQUEST: Bytes = Bytes::from_static(&[b'q'; REQUEST_BYTES]);

/// What a server's thread has from its case.
pub struct ServerSide<A> {
    started: mpsc::Sender<(A, ThreadClock)>,
    /// Comes to its end with the client.
    pub client: oneshot::Receiver<()>,
}

impl<A> ServerSide<A> {
    /// Has the client begin: it is served here.
    pub fn serves(&self, at: A) {
        // A client that has ended before will hear nothing.
        drop(self.started.send((at, ThreadClock::of_this())));
    }
}

/// Has both sides at work until the client ends.
///
/// # Errors
/// That of the client, else that of the server.
pub fn two_threads<A: Send>(
    processors: Processors,
    serve: impl FnOnce(ServerSide<A>) -> io::Result<()> + Send,
    call: impl FnOnce(A, ThreadClock) -> io::Result<Option<CallFigures>> + Send,
) -> io::Result<CallFigures> {
    let (started, starts) = mpsc::channel();
    let (lives, client) = oneshot::channel();
    let side = ServerSide { started, client };
    let (called, served) = thread::scope(|scope| {
        let server = scope.spawn(move || {
            pin(processors.count() - 1)?;
            serve(side)
        });
        let client = scope.spawn(move || {
            pin(0)?;
            let (at, clock) = starts
                .recv()
                .map_err(|_| io::Error::other("the server did not start"))?;
            let called = call(at, clock);
            drop(lives);
            called
        });
        (client.join(), server.join())
    });
    let ended = |_| Err(io::Error::other("a thread ended early"));
    let served = served.unwrap_or_else(ended);
    let figures = called.unwrap_or_else(|_| Err(io::Error::other("a thread ended early")));
    match (figures, served) {
        (Ok(Some(figures)), Ok(())) => Ok(figures),
        (Ok(None), Ok(())) => Err(io::Error::other("no call was answered")),
        (_, Err(error)) | (Err(error), Ok(())) => Err(error),
    }
}
