//! One case.

use super::MessageFigures;
use super::case::{MESSAGE_BYTES, MESSAGES, Messages, OUTSTANDING, Sender};
use super::iperf;
use crate::error::BenchError;
use crate::rpc::case::{Over, Processors};
use crate::rpc::pair::two_threads;
use crate::rpc::run::failed;
use crate::rpc::tally::{CallFigures, Tally, Times};
use crate::rpc::{bare, ours};

/// Carries a case out.
///
/// # Errors
/// When a side fails.
pub fn run(case: Messages, times: Times) -> Result<MessageFigures, BenchError> {
    let directory = tempfile::tempdir()?;
    let at = match case.over {
        Over::Unix => format!("unix:{}", directory.path().join("socket").display()),
        Over::Tcp | Over::Threads => "127.0.0.1:0".to_owned(),
    };
    let shape = bare::Outstanding {
        request_bytes: MESSAGES * MESSAGE_BYTES,
        connections: case.connections,
        depth: OUTSTANDING,
    };
    let figures = match case.sender {
        Sender::Dunlin => two_threads(
            Processors::Two,
            |side| ours::serve(&at, side),
            |at, server| {
                let depth = (case.connections, OUTSTANDING);
                ours::call(&at, depth, MESSAGES - 1, Tally::new(times, server))
            },
        ),
        Sender::Stream => two_threads(
            Processors::Two,
            |side| bare::answer(&at, shape, side),
            |at, server| bare::ask(&at, shape, &Tally::new(times, server)),
        ),
        Sender::Iperf { write_bytes } => {
            return iperf::run(case.connections, write_bytes, times)
                .map_err(|error| failed("iperf3", &error));
        }
    };
    let figures = figures.map_err(|error| failed(&case.name(), &error))?;
    Ok(of_each(&figures))
}

/// Figures of five messages as those of one.
fn of_each(five: &CallFigures) -> MessageFigures {
    MessageFigures {
        per_s: five.per_s * MESSAGES as f64,
        p50_us: five.p50_us,
        p99_us: five.p99_us,
        sender_us: five.client_us / MESSAGES as f64,
        receiver_us: five.server_us / MESSAGES as f64,
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
