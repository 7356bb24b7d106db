//! A case: all its clients at once, for a while.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::case::{Crowd, End, Task, attempt, key_path};
use super::row;
use crate::cluster::Cluster;
use crate::cluster::client::Client;
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::host::tree;

/// Between two reads beside it.
const READ_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of a value that is not counted with.
const VALUE_BYTES: usize = 64;
/// Until a server's processes of closed connections have ended.
const CLOSED: Duration = Duration::from_millis(500);

/// What one run of a case came to.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Figures {
    /// Transactions that happened, a second.
    pub per_s: f64,
    /// Attempts that others were in the way of, for each of them.
    pub refused: f64,
    /// Transactions of the client with the fewest, as a part of the mean.
    pub least: f64,
    /// Milliseconds from the first attempt to the end, median.
    pub p50_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// The longest, also of clients that did not come to an end.
    pub longest_ms: f64,
    /// CPU of all nodes for each, in microseconds.
    pub cpu_us: f64,
}

/// What one client came to.
#[derive(Debug, Default)]
struct Worked {
    /// From the first attempt at a transaction until it had happened.
    waits: Vec<Duration>,
    /// Since the first attempt at one that had not happened at the end.
    waiting: Duration,
    refused: u64,
}

/// Has all clients of a case at work for so long.
///
/// # Errors
/// When a connection breaks, a request fails in another way than by a conflict, or a number was not counted.
pub fn run(cluster: &Cluster, case: Crowd, time: Duration) -> Result<Figures, BenchError> {
    measured(cluster, case, time).map_err(|error| BenchError::Rival {
        program: "dunlin".to_owned(),
        why: format!("{}, {} clients: {error}", case.task.name(), case.clients),
    })
}

fn measured(cluster: &Cluster, case: Crowd, time: Duration) -> io::Result<Figures> {
    let first = cluster.addresses[0];
    reset(case.task, first)?;
    let pids = cluster.pids().into_iter().flat_map(tree::of);
    let meter = Meter::new(pids.collect());
    let (cpu, started) = (cpu(&meter), Instant::now());
    let is_over = AtomicBool::new(false);
    let worked = thread::scope(|scope| {
        if case.task == Task::Think {
            let (at, is_over) = (cluster.addresses[1], &is_over);
            scope.spawn(move || read_on(at, is_over));
        }
        let clients: Vec<_> = (0..case.clients)
            .map(|number| {
                let at = cluster.addresses[number % cluster.addresses.len()];
                scope.spawn(move || work(case.task, at, started + time))
            })
            .collect();
        let ended = |worked: thread::Result<io::Result<Worked>>| {
            worked.unwrap_or_else(|_| Err(io::Error::other("a client ended early")))
        };
        let worked = clients.into_iter().map(|client| ended(client.join()));
        let worked: io::Result<Vec<Worked>> = worked.collect();
        is_over.store(true, Ordering::Relaxed);
        worked
    })?;
    let took = started.elapsed();
    let commits: usize = worked.iter().map(|client| client.waits.len()).sum();
    if case.task.counts() {
        let counted = number(case.task, first)?;
        if counted != commits.to_string() {
            return Err(io::Error::other(format!(
                "{commits} increments of a counter were acknowledged, and it is {counted}"
            )));
        }
    }
    if case.task == Task::Row {
        thread::sleep(CLOSED);
    }
    Ok(figures(
        &worked,
        took,
        self::cpu(&meter).saturating_sub(cpu),
    ))
}

fn cpu(meter: &Meter) -> Duration {
    meter.total() + meter.ended_children()
}

/// Has the counter begin at 0.
fn reset(task: Task, at: SocketAddr) -> io::Result<()> {
    match task {
        Task::Row => row::reset(at),
        _ => Client::new(at)?.request("PUT", &key_path(), b"0").map(drop),
    }
}

/// The counter at the end.
fn number(task: Task, at: SocketAddr) -> io::Result<String> {
    if task == Task::Row {
        return row::number(at).map(|number| number.to_string());
    }
    let mut to = Client::new(at)?;
    let (_, number) = to.request("GET", &key_path(), b"")?;
    Ok(String::from_utf8_lossy(number).into_owned())
}

/// Reads the key again and again.
fn read_on(at: SocketAddr, is_over: &AtomicBool) -> io::Result<()> {
    let mut to = Client::new(at)?;
    while !is_over.load(Ordering::Relaxed) {
        to.request("GET", &key_path(), b"")?;
        thread::sleep(READ_PAUSE);
    }
    Ok(())
}

/// One client, until a moment: each transaction until it has happened.
fn work(task: Task, at: SocketAddr, until: Instant) -> io::Result<Worked> {
    if task == Task::Row {
        let waits = row::work(at, until)?;
        return Ok(Worked {
            waits,
            ..Worked::default()
        });
    }
    let mut to = Client::new(at)?;
    let value = "v".repeat(VALUE_BYTES);
    let mut worked = Worked::default();
    loop {
        let started = Instant::now();
        loop {
            if Instant::now() >= until {
                worked.waiting = started.elapsed();
                return Ok(worked);
            }
            match attempt(task, &mut to, &value)? {
                End::Done => break,
                End::Refused => worked.refused += 1,
                End::Failed(status, body) => {
                    return Err(io::Error::other(format!("{status} {body}")));
                }
            }
        }
        worked.waits.push(started.elapsed());
    }
}

fn figures(worked: &[Worked], took: Duration, cpu: Duration) -> Figures {
    let mut waits: Vec<Duration> = worked.iter().flat_map(|of| of.waits.clone()).collect();
    waits.sort_unstable();
    let refused: u64 = worked.iter().map(|client| client.refused).sum();
    let least = worked.iter().map(|client| client.waits.len()).min();
    let waiting = worked.iter().map(|client| client.waiting).max();
    let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
    let part = |percent: usize| waits.get(waits.len() * percent / 100).copied();
    let longest = waits.last().copied().max(waiting);
    let each = (waits.len() as f64).max(1.0);
    Figures {
        per_s: waits.len() as f64 / took.as_secs_f64(),
        refused: refused as f64 / each,
        least: least.unwrap_or(0) as f64 * worked.len() as f64 / each,
        p50_ms: ms(part(50).unwrap_or_default()),
        p99_ms: ms(part(99).unwrap_or_default()),
        longest_ms: ms(longest.unwrap_or_default()),
        cpu_us: cpu.as_secs_f64() * 1e6 / each,
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
