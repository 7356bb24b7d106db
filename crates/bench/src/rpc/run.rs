//! One case: the server's thread on one processor, the client's on the other.

use std::io;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::case::{Caller, Calls, Over, Processors, REQUEST_BYTES};
use super::tally::{CallFigures, Tally, Times};
use super::{bare, grpc, ours};
use crate::error::BenchError;
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

/// Carries a case out.
///
/// # Errors
/// When a side fails.
pub fn run(case: Calls, times: Times) -> Result<CallFigures, BenchError> {
    let directory = tempfile::tempdir()?;
    let at = match case.over {
        Over::Unix => format!("unix:{}", directory.path().join("socket").display()),
        Over::Tcp | Over::Threads => "127.0.0.1:0".to_owned(),
    };
    let shape = bare::Shape {
        request_bytes: REQUEST_BYTES,
        connections: case.connections,
        depth: case.depth,
    };
    let figures = match (case.caller, case.over) {
        (Caller::Dunlin, Over::Threads) => {
            two_threads(case.processors, ours::serve_queue, |address, server| {
                ours::call_queue(&address, case.depth, Tally::new(times, server))
            })
        }
        (Caller::PingPong, Over::Threads) => {
            two_threads(case.processors, bare::answer_queue, |queues, server| {
                bare::ask_queue(&queues, &Tally::new(times, server))
            })
        }
        (Caller::Dunlin, _) => two_threads(
            case.processors,
            |side| ours::serve(&at, side),
            |at, server| {
                let depth = (case.connections, case.depth);
                ours::call(&at, depth, Tally::new(times, server))
            },
        ),
        (Caller::PingPong, _) => two_threads(
            case.processors,
            |side| bare::answer_each(&at, side),
            |at, server| bare::ask_each(&at, &Tally::new(times, server)),
        ),
        (Caller::Stream, _) => two_threads(
            case.processors,
            |side| bare::answer(&at, shape, side),
            |at, server| bare::ask(&at, shape, &Tally::new(times, server)),
        ),
        (Caller::Tonic, _) => two_threads(case.processors, grpc::serve, |at, server| {
            let depth = (case.connections, case.depth);
            grpc::call(&at, depth, Tally::new(times, server))
        }),
    };
    figures.map_err(|error| failed(case.name(), &error))
}

/// A run that failed.
pub fn failed(name: &str, why: &io::Error) -> BenchError {
    BenchError::Rival {
        program: name.to_owned(),
        why: why.to_string(),
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

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
