//! One case: the server's thread on one processor, the client's on the other.

use std::io;

use super::case::{Caller, Calls, Over, REQUEST_BYTES};
use super::pair::two_threads;
use super::tally::{CallFigures, Tally, Times};
use super::{bare, grpc, ours};
use crate::error::BenchError;

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
    let shape = bare::Outstanding {
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
                ours::call(&at, depth, 0, Tally::new(times, server))
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

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
