//! What the loopback takes: iperf3.

use std::process::Command;

use crate::child;
use crate::cluster::ports;
use crate::copy::Session;
use crate::copy::plan::CONNECTIONS;
use crate::error::BenchError;

use super::receiver;

/// The program.
pub const NAME: &str = "iperf3";
const SECONDS: u32 = 1;

/// Sends through as many connections as a copy for a second; bytes received a second.
///
/// # Errors
/// When iperf3 is not installed or fails, or the user stops the run.
pub fn run(session: &Session) -> Result<f64, BenchError> {
    let port = ports::consecutive(1)?;
    let mut server = Command::new(NAME);
    server.args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()]);
    let server = receiver::start(session, NAME, server, port)?;
    let mut client = Command::new(NAME);
    client
        .args(["-c", "127.0.0.1", "-p", &port.to_string(), "-J"])
        .args(["-P", &CONNECTIONS.to_string()])
        .args(["-t", &SECONDS.to_string()]);
    let printed = child::run(client, session.scratch.path(), &session.interrupt)?;
    receiver::end(server);
    received(&printed).ok_or_else(|| BenchError::Rival {
        program: NAME.into(),
        why: format!("no result in what it printed: {printed}"),
    })
}

fn received(printed: &str) -> Option<f64> {
    let value: serde_json::Value = serde_json::from_str(printed).ok()?;
    Some(value["end"]["sum_received"]["bits_per_second"].as_f64()? / 8.0)
}

#[cfg(test)]
#[path = "loopback_tests.rs"]
mod tests;
