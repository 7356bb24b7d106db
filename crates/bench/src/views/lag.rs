//! How far a view is behind while documents are written at a constant rate, and how long a fresh answer takes then.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::documents::document;
use super::{Lag, failed, percentiles};
use crate::cluster::Cluster;
use crate::cluster::client::Client;
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::interrupt::Interrupt;

/// Connections that write.
const WRITERS: u64 = 64;
/// How often the view is asked for a document.
const POLL: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two documents that are waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// Writes, and waits for documents and for fresh answers meanwhile.
pub fn run(
    cluster: &Cluster,
    rate: u64,
    cell: Duration,
    interrupt: &Interrupt,
) -> Result<Lag, BenchError> {
    let address = cluster.addresses[0];
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let meter = Meter::new(cluster.pids());
    let (cpu, begun) = (meter.total(), Instant::now());
    let measured = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (stop, written) = (&stop, &written);
            scope.spawn(move || write(address, writer, rate, stop, written));
        }
        let fresh = scope.spawn(|| fresh(address, &stop));
        let measured = probes(address, cell, interrupt);
        stop.store(true, Ordering::Relaxed);
        let fresh = fresh
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("a thread ended early")));
        Ok::<_, BenchError>((
            measured?,
            fresh.map_err(|error| failed("fresh answers", error))?,
        ))
    });
    let elapsed = begun.elapsed().as_secs_f64();
    let (lags, fresh) = measured?;
    Ok(Lag {
        rate,
        reached: written.load(Ordering::Relaxed) as f64 / elapsed,
        ms: percentiles(lags),
        fresh_ms: percentiles(fresh),
        cpus: (meter.total() - cpu).as_secs_f64() / elapsed,
    })
}

/// One of the writers: its share of the rate, whatever happens.
fn write(address: SocketAddr, writer: u64, rate: u64, stop: &AtomicBool, written: &AtomicU64) {
    let Ok(mut client) = Client::new(address) else {
        return;
    };
    let interval = Duration::from_secs_f64(WRITERS as f64 / rate.max(1) as f64);
    let begun = Instant::now() + interval.mul_f64(writer as f64 / WRITERS as f64);
    for number in 0_u32.. {
        let due = begun + interval * number;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // They write over what is there.
        let document = document((u64::from(number) * WRITERS + writer) * 31 % 20_000);
        let path = format!("/v1/keyspaces/default/keys/{}", &document[7..20]);
        match client.request("PUT", &path, document.as_bytes()) {
            Ok((201, _)) => written.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
    }
}

/// From the answer to a set until the view has it.
fn probes(
    address: SocketAddr,
    cell: Duration,
    interrupt: &Interrupt,
) -> Result<Vec<f64>, BenchError> {
    let failed = |error: std::io::Error| failed("probes", error);
    let mut client = Client::new(address).map_err(failed)?;
    let begun = Instant::now();
    let mut all_ms = Vec::new();
    for number in 0_u64.. {
        if begun.elapsed() >= cell {
            break;
        }
        interrupt.sleep(PAUSE)?;
        let document = format!("{{\"group\":\"probe-{number}\",\"amount\":1}}");
        let path = format!("/v1/keyspaces/default/keys/probe-{number}");
        let (status, _) = client
            .request("PUT", &path, document.as_bytes())
            .map_err(failed)?;
        if status != 201 {
            return Err(failed(std::io::Error::other(format!("{status} to a set"))));
        }
        let set = Instant::now();
        let path =
            format!("/v1/keyspaces/default/views/groups?reduce=false&key=%22probe-{number}%22");
        loop {
            let (_, body) = client.request("GET", &path, b"").map_err(failed)?;
            if body.windows(6).any(|part| part == b"\"probe") || set.elapsed() > PATIENCE {
                break;
            }
            std::thread::sleep(POLL);
        }
        all_ms.push(set.elapsed().as_secs_f64() * 1e3);
    }
    Ok(all_ms)
}

/// Fresh answers, one behind the other.
fn fresh(address: SocketAddr, stop: &AtomicBool) -> std::io::Result<Vec<f64>> {
    let mut client = Client::new(address)?;
    let mut all_ms = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE);
        let asked = Instant::now();
        let path = "/v1/keyspaces/default/views/groups?stale=false&key=%22group-0001%22";
        let (status, body) = client.request("GET", path, b"")?;
        if status != 200 {
            let text = String::from_utf8_lossy(body).into_owned();
            return Err(std::io::Error::other(format!("{status}: {text}")));
        }
        all_ms.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    Ok(all_ms)
}
