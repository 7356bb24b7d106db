//! How fast one client is told all there is, on a cluster that has nothing else to do: out of the log, and as
//! stored records where the log no longer reaches back.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::stream::number_of;
use super::{COPIES, failed, keys, two_nodes};
use crate::cluster::http;
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::interrupt::Interrupt;
use crate::load::generator::{self, Pace, Plan};
use crate::load::http::{HttpWorkload, Verb};
use crate::load::key::KEY_LENGTH;
use crate::load::value::Values;
use crate::options::ReplicationOptions;
use crate::spread::Spread;

const TAG: u8 = b'd';
/// Each is told all so often.
const TIMES: usize = 5;
/// What a snapshot is drained of, and a log.
const CASES: [(Kind, u64, usize); 2] = [
    (Kind::Snapshot, 150_000, super::VALUE_BYTES),
    (Kind::Log, 400_000, 100),
];

/// Where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The stores.
    Snapshot,
    /// The log.
    Log,
}

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Drain {
    /// Where it comes from.
    pub kind: Kind,
    /// Entries there are.
    pub entries: u64,
    /// Bytes in each value.
    pub value_bytes: usize,
    /// Entries told a second.
    pub entries_per_s: Spread,
    /// Keys and values told a second, in MB.
    pub mb_per_s: Spread,
    /// Processors that the nodes used.
    pub cpus: f64,
}

/// Carries both out.
///
/// # Errors
/// See [`super::run`].
pub fn run(
    dunlin: &Path,
    data: &Path,
    options: &ReplicationOptions,
    interrupt: &Interrupt,
) -> Result<Vec<Drain>, BenchError> {
    let drain = |case| one(dunlin, data, options, case, interrupt);
    CASES.into_iter().map(drain).collect()
}

fn one(
    dunlin: &Path,
    data: &Path,
    options: &ReplicationOptions,
    (kind, entries, value_bytes): (Kind, u64, usize),
    interrupt: &Interrupt,
) -> Result<Drain, BenchError> {
    let more: &[&str] = match kind {
        // The log does not reach back to the beginning.
        Kind::Snapshot => &["--segment", "4MiB", "--flush", "8MiB"],
        Kind::Log => &[],
    };
    let mut cluster = two_nodes(dunlin, data, options, more, interrupt)?;
    if kind == Kind::Log {
        keep_log(cluster.addresses[0])?;
    }
    let plan = Plan {
        addresses: cluster.addresses.clone(),
        connections: 64,
        pace: Pace::Closed,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(300),
    };
    let (keys, each) = keys(TAG, entries);
    let values = Values::new(value_bytes);
    let mut workload = HttpWorkload::new(Verb::Put, COPIES, keys, each, values);
    let outcome = generator::run(&plan, &mut workload, interrupt, &mut |_| {})?;
    if outcome.errors() > 0 {
        return Err(BenchError::Unsound {
            what: "loading".to_owned(),
            errors: outcome.errors(),
            requests: entries,
            detail: outcome.errors_text(),
        });
    }
    let failed = |detail| failed(format!("{kind:?} of {entries} entries"), detail);
    let meter = Meter::new(cluster.pids());
    let (cpu, begun) = (meter.total(), Instant::now());
    let mut rates = Vec::new();
    for turn in 0..TIMES {
        let node = cluster.addresses[turn % cluster.addresses.len()];
        let (told, seconds) = drain(node).map_err(|error| failed(error.to_string()))?;
        let is_right = told.entries == entries && (told.snapshots > 0) == (kind == Kind::Snapshot);
        if !is_right {
            return Err(failed(format!("{told:?}")));
        }
        rates.push(entries as f64 / seconds);
    }
    let cpus = meter.total().saturating_sub(cpu).as_secs_f64() / begun.elapsed().as_secs_f64();
    cluster.check()?;
    let bytes = (value_bytes + KEY_LENGTH) as f64;
    Ok(Drain {
        kind,
        entries,
        value_bytes,
        entries_per_s: Spread::of(rates.iter().copied()),
        mb_per_s: Spread::of(rates.iter().map(|rate| rate * bytes / 1e6)),
        cpus,
    })
}

/// The log reaches back to the beginning.
fn keep_log(node: SocketAddr) -> Result<(), BenchError> {
    let keeps = br#"{"retention": {"min_bytes": 1073741824}}"#;
    let answer = http::request(node, "PATCH", "/v1/keyspaces/default", keeps);
    match answer {
        Ok((200, _)) => Ok(()),
        other => Err(failed("keeping the log".to_owned(), format!("{other:?}"))),
    }
}

#[derive(Debug, Default)]
struct Told {
    entries: u64,
    snapshots: u64,
    has_ended: bool,
}

/// Is told all there is, and how long that takes.
fn drain(node: SocketAddr) -> std::io::Result<(Told, f64)> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(node)?;
    // HTTP/1.0: not chunked.
    stream.write_all(
        b"GET /v1/keyspaces/default/changes?from=beginning&until=end HTTP/1.0\r\nHost: bench\r\n\r\n",
    )?;
    let mut reader = BufReader::with_capacity(256 << 10, stream);
    let (mut line, mut told) = (Vec::new(), Told::default());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if number_of(&line, TAG).is_some() {
            told.entries += 1;
        } else if line.starts_with(b"{\"event\":\"snapshot_begins\"") {
            told.snapshots += 1;
        } else if line.starts_with(b"{\"event\":\"end\"") {
            told.has_ended = true;
        }
        line.clear();
    }
    if told.has_ended {
        Ok((told, begun.elapsed().as_secs_f64()))
    } else {
        Err(std::io::Error::other("the stream broke off"))
    }
}
