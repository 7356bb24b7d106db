//! Point queries, and counts of all groups.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::documents::group_of;
use super::{GROUPS, Queries, failed, percentiles};
use crate::cluster::client::Client;
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::spread::Spread;

/// Connections of point queries.
const CONNECTIONS: usize = 32;

/// Rows of a key, one at a time.
pub fn point(
    address: SocketAddr,
    cell: Duration,
    interrupt: &Interrupt,
) -> Result<Queries, BenchError> {
    interrupt.check()?;
    let begun = Instant::now();
    let one = |connection: usize| -> std::io::Result<Vec<f64>> {
        let mut client = Client::new(address)?;
        let (mut all_ms, mut number) = (Vec::new(), connection as u64);
        while begun.elapsed() < cell {
            let key = group_of(number);
            let path = format!("/v1/keyspaces/default/views/groups?reduce=false&limit=1&key={key}");
            let asked = Instant::now();
            let (status, body) = client.request("GET", &path, b"")?;
            let is_right = status == 200 && body.windows(4).any(|part| part == b"doc-");
            if !is_right {
                return Err(std::io::Error::other(format!("{status} to {path}")));
            }
            all_ms.push(asked.elapsed().as_secs_f64() * 1e3);
            number += CONNECTIONS as u64;
        }
        Ok(all_ms)
    };
    let all: std::io::Result<Vec<Vec<f64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|n| scope.spawn(move || one(n)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|done| done.unwrap_or_else(|_| Err(std::io::Error::other("a thread ended early"))))
            .collect()
    });
    let all_ms = all
        .map_err(|error| failed("point queries", error))?
        .concat();
    Ok(Queries {
        connections: CONNECTIONS,
        per_s: all_ms.len() as f64 / begun.elapsed().as_secs_f64(),
        ms: percentiles(all_ms),
    })
}

/// Counts of all groups.
pub fn groups(address: SocketAddr, documents: u64, repeats: usize) -> Result<Spread, BenchError> {
    let failed = |error: std::io::Error| failed("groups", error);
    let mut client = Client::new(address).map_err(failed)?;
    let mut all_ms = Vec::new();
    for _ in 0..repeats {
        let asked = Instant::now();
        let path = "/v1/keyspaces/default/views/groups?group=true";
        let (status, body) = client.request("GET", path, b"").map_err(failed)?;
        all_ms.push(asked.elapsed().as_secs_f64() * 1e3);
        let answer: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let rows = answer["rows"].as_array().cloned().unwrap_or_default();
        let sum: u64 = rows.iter().filter_map(|row| row["value"].as_u64()).sum();
        if (status, rows.len() as u64, sum) != (200, GROUPS.min(documents), documents) {
            let detail = format!("{} groups of {sum} rows", rows.len());
            return Err(failed(std::io::Error::other(detail)));
        }
    }
    Ok(Spread::of(all_ms))
}
