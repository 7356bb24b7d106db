//! `iperf3` over the loopback: what a stream of the same writes can carry.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::MessageFigures;
use super::case::MESSAGE_BYTES;
use crate::cluster::ports;
use crate::rpc::tally::Times;

/// It is tried again for so long.
const PATIENCE: Duration = Duration::from_secs(15);
/// Until its server listens.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether it is installed.
pub fn is_installed() -> bool {
    let version = Command::new("iperf3").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// What it says at its end, of which this is used.
#[derive(Debug, Deserialize)]
struct Said {
    end: End,
}

#[derive(Debug, Deserialize)]
struct End {
    sum_received: Sum,
    cpu_utilization_percent: Utilization,
}

#[derive(Debug, Deserialize)]
struct Sum {
    bits_per_second: f64,
}

/// In percent of one processor.
#[derive(Debug, Deserialize)]
struct Utilization {
    host_total: f64,
    remote_total: f64,
}

/// Has it send, its two processes on a processor each.
///
/// # Errors
/// When it does not start, or prints something else.
pub fn run(connections: usize, write_bytes: usize, times: Times) -> io::Result<MessageFigures> {
    let began = Instant::now();
    loop {
        // Its server listens a moment after it has started, and serves one client, even one that fails.
        match attempt(connections, write_bytes, times) {
            Err(_) if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            figures => return figures,
        }
    }
}

fn attempt(connections: usize, write_bytes: usize, times: Times) -> io::Result<MessageFigures> {
    let port = ports::consecutive(1).map_err(io::Error::other)?.to_string();
    let mut server = Command::new("iperf3")
        .args(["-s", "-1", "-B", "127.0.0.1", "-A", "1", "-p", &port])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::sleep(PAUSE);
    let client = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-p", &port, "-J", "-A", "0"])
        .args([
            "-P",
            &connections.to_string(),
            "-l",
            &write_bytes.to_string(),
        ])
        .args(["-t", &times.window.as_secs().max(1).to_string()])
        .output();
    // It does not always end with its client.
    drop(server.kill());
    server.wait()?;
    figures(&client?.stdout)
}

fn figures(said: &[u8]) -> io::Result<MessageFigures> {
    let said: Said = serde_json::from_slice(said)?;
    let per_s = said.end.sum_received.bits_per_second / 8.0 / MESSAGE_BYTES as f64;
    let each = |percent: f64| percent / 100.0 * 1e6 / per_s.max(1.0);
    let cpu = said.end.cpu_utilization_percent;
    Ok(MessageFigures {
        per_s,
        sender_us: each(cpu.host_total),
        receiver_us: each(cpu.remote_total),
        ..MessageFigures::default()
    })
}

#[cfg(test)]
#[path = "iperf_tests.rs"]
mod tests;
