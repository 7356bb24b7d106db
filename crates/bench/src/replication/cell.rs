//! One cell of the table: a cluster of its own, the load, the probe, the clients, and what is sampled meanwhile.

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::link::{self, Linked};
use super::quiet;
use super::stream::{Shared, Told};
use super::system::{Dunlin, Redis, System};
use super::{COPIES, VALUE_BYTES, failed, keys, two_nodes};
use crate::cluster::{Cluster, http, redis};
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::host::memory::resident_bytes;
use crate::interrupt::Interrupt;
use crate::load::generator::{self, Edge, Pace, Plan};
use crate::load::http::{HttpWorkload, Verb};
use crate::load::key::{Choice, Keys};
use crate::load::protocol::Protocol;
use crate::load::redis_stream::StreamWorkload;
use crate::load::value::Values;
use crate::options::ReplicationOptions;

/// Values are no text: a row of the key, and of how long it is.
const MAP: &str = "function (doc, meta) { emit(meta.id, meta.id.length) }";
const TAG: u8 = b'q';
/// More than are ever written.
const KEYS_MAX: u64 = u64::MAX >> 8;
const CONNECTIONS: usize = 32;
const SAMPLE: Duration = Duration::from_millis(500);
const PROBE_EVERY: Duration = Duration::from_millis(50);
/// Clients that have not been told all by then have failed.
const FINISH: Duration = Duration::from_secs(120);

/// What a cell is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Sets a second that were meant to be.
    pub rate: u32,
    /// Stream clients.
    pub clients: usize,
    /// Stream clients of another keyspace, that nobody writes.
    pub quiet: usize,
    /// Views of the keyspace, each with a row for every key.
    pub views: usize,
    /// Links of the keyspace, each to a cluster of two more nodes.
    pub links: usize,
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Row {
            rate,
            clients,
            quiet,
            views,
            links,
        } = self;
        write!(
            f,
            "{rate} sets/s, {clients} clients, {quiet} of a quiet keyspace, {views} views, {links} links"
        )
    }
}

/// What one cell measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Cell {
    /// Of what.
    pub row: Row,
    /// Clients of the quiet keyspace that were connected to the end.
    pub quiet_left: usize,
    /// Sets a second that were acknowledged.
    pub rate_reached: f64,
    /// 99th percentile of the sets' own latency, in milliseconds.
    pub set_ms_p99: f64,
    /// Whether it is known what replicas lack.
    pub tells_items: bool,
    /// Entries that replicas had yet to acknowledge, of both nodes: average.
    pub items_average: f64,
    /// The most.
    pub items_max: u64,
    /// Bytes of entries that were sent to replicas, a second: average, greatest, least, in MB.
    pub mb_per_s: [f64; 3],
    /// From write to visible on both nodes, in milliseconds: 80th, 95th, 99th percentile.
    pub visible_ms: [f64; 3],
    /// Probes.
    pub probes: usize,
    /// Clients that were told every key.
    pub complete: usize,
    /// When the last of them was, in seconds behind the end of the load.
    pub complete_s: f64,
    /// Lines told to all clients together, a second of the load, in MB.
    pub told_mb_per_s: f64,
    /// Changes that were told again, of all clients.
    pub told_again: u64,
    /// The most memory of both nodes above that before the load, in MB.
    pub memory_mb: f64,
    /// Processors that the nodes used, without those of other clusters.
    pub cpus: f64,
    /// Of the links.
    pub linked: Option<Linked>,
}

impl Cell {
    /// For who watches.
    pub fn line(&self) -> String {
        format!(
            "{:.0} sets/s, visible p99 {:.1} ms, items {:.0} (at most {}), {} of {} clients complete",
            self.rate_reached,
            self.visible_ms[2],
            self.items_average,
            self.items_max,
            self.complete,
            self.row.clients
        )
    }
}

#[derive(Default)]
struct Samples {
    items: Vec<u64>,
    bytes_per_s: Vec<u64>,
    memory_max: u64,
    visible: Vec<Duration>,
}

/// Runs it on a cluster of its own.
///
/// # Errors
/// See [`super::run`].
pub fn run(
    dunlin: &Path,
    data: &Path,
    options: &ReplicationOptions,
    row: Row,
    interrupt: &Interrupt,
) -> Result<Cell, BenchError> {
    let mut cluster = two_nodes(dunlin, data, options, &[], interrupt)?;
    for number in 0..row.views {
        let view =
            serde_json::json!({"name": format!("view-{number}"), "map": MAP, "reduce": "_count"});
        let path = "/v1/keyspaces/default/views";
        let body = view.to_string();
        let made = http::request(cluster.addresses[0], "POST", path, body.as_bytes());
        match made {
            Ok((201, _)) => {}
            other => return Err(failed("a view".to_owned(), format!("{other:?}"))),
        }
    }
    let others = (0..row.links)
        .map(|number| link::start(&cluster, number, (dunlin, data), options, interrupt));
    let mut others: Vec<Cluster> = others.collect::<Result<_, _>>()?;
    let (keys, each) = keys(TAG, KEYS_MAX);
    let values = Values::new(VALUE_BYTES);
    let mut workload = HttpWorkload::new(Verb::Put, COPIES, keys, each, values);
    let written = |workload: &HttpWorkload| match workload.choice() {
        Choice::Each { next, .. } => *next,
        Choice::Any { .. } => 0,
    };
    let run = Run {
        plan: plan(&cluster, options, row),
        nodes: cluster.addresses.clone(),
        row,
        system: &Dunlin,
    };
    let mut cell = run.beside(&cluster, &mut workload, written, interrupt)?;
    if row.links > 0 {
        cell.linked = Some(link::finish(cluster.addresses[0], interrupt)?);
    }
    for cluster in std::iter::once(&mut cluster).chain(&mut others) {
        cluster.check()?;
    }
    Ok(cell)
}

/// The same with a stream of Redis, of which a replica has a copy.
///
/// # Errors
/// See [`super::run`].
pub fn of_redis(
    data: &Path,
    options: &ReplicationOptions,
    row: Row,
    interrupt: &Interrupt,
) -> Result<Cell, BenchError> {
    let mut cluster = redis::start(data, interrupt)?;
    let (keys, each) = keys(TAG, KEYS_MAX);
    let mut workload = StreamWorkload::new(Keys::new(keys, each), Values::new(VALUE_BYTES));
    let primary = cluster.addresses[0];
    let run = Run {
        plan: plan(&cluster, options, row),
        nodes: vec![primary, redis::replica(primary)],
        row,
        system: &Redis,
    };
    let cell = run.beside(&cluster, &mut workload, StreamWorkload::added, interrupt)?;
    cluster.check()?;
    Ok(cell)
}

fn plan(cluster: &Cluster, options: &ReplicationOptions, row: Row) -> Plan {
    Plan {
        addresses: cluster.addresses.clone(),
        connections: CONNECTIONS,
        pace: Pace::Rate(f64::from(row.rate)),
        warmup: Duration::ZERO,
        duration: options.cell,
    }
}

struct Run<'a> {
    plan: Plan,
    /// Those that clients follow.
    nodes: Vec<std::net::SocketAddr>,
    row: Row,
    system: &'a dyn System,
}

impl Run<'_> {
    fn beside<P: Protocol>(
        &self,
        cluster: &Cluster,
        workload: &mut P,
        written: impl Fn(&P) -> u64,
        interrupt: &Interrupt,
    ) -> Result<Cell, BenchError> {
        let (nodes, pids) = (self.nodes.clone(), cluster.pids());
        let (plan, row, system) = (&self.plan, self.row, self.system);
        let (shared, is_loaded) = (Shared::default(), AtomicBool::new(false));
        let samples = Mutex::new(Samples::default());
        let before = resident_bytes(&pids);
        let quiet = match row.quiet {
            0 => Vec::new(),
            clients => quiet_clients(&nodes, clients)?,
        };
        let meter = Meter::new(pids.clone());
        std::thread::scope(|scope| {
            let (samples, is_loaded, shared, nodes) = (&samples, &is_loaded, &shared, &nodes);
            scope.spawn(move || sample(system, nodes, &pids, samples, is_loaded));
            scope.spawn(move || probe(system, nodes, samples, is_loaded));
            // They join a cluster that is at work.
            let quiet = scope.spawn(move || quiet::read(quiet, is_loaded));
            let streams: Vec<_> = (0..row.clients)
                .map(|client| {
                    let node = nodes[client % nodes.len()];
                    scope.spawn(move || {
                        std::thread::sleep(plan.duration / 10);
                        system.follow(node, TAG, shared)
                    })
                })
                .collect();
            let mut cpu = Duration::ZERO;
            let outcome = generator::run(plan, workload, interrupt, &mut |edge| {
                cpu = match edge {
                    Edge::Begin => meter.total(),
                    Edge::End => meter.total().saturating_sub(cpu),
                };
            });
            is_loaded.store(true, Relaxed);
            let ended = Instant::now();
            shared.keys.store(written(workload), Relaxed);
            while ended.elapsed() < FINISH && !streams.iter().all(|s| s.is_finished()) {
                std::thread::sleep(Duration::from_millis(50));
                if interrupt.is_set() {
                    break;
                }
            }
            shared.is_over.store(true, Relaxed);
            let told: Vec<Told> = streams
                .into_iter()
                .filter_map(|stream| stream.join().ok()?.ok())
                .collect();
            let quiet_left = quiet.join().unwrap_or(0);
            let outcome = outcome?;
            if outcome.errors() > 0 {
                return Err(BenchError::Unsound {
                    what: format!("{row}"),
                    errors: outcome.errors(),
                    requests: outcome.measured(),
                    detail: outcome.errors_text(),
                });
            }
            let samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
            let seconds = plan.duration.as_secs_f64();
            let complete = told.iter().filter_map(|told| told.complete);
            let late = complete.map(|at| at.saturating_duration_since(ended).as_secs_f64());
            let late: Vec<f64> = late.collect();
            let told_bytes: u64 = told.iter().map(|told| told.bytes).sum();
            let mb = |bytes: f64| bytes / 1e6;
            let rates = &samples.bytes_per_s;
            Ok(Cell {
                row,
                quiet_left,
                rate_reached: outcome.rate_per_s(),
                set_ms_p99: outcome.percentile_us(99.0) as f64 / 1e3,
                tells_items: !samples.items.is_empty(),
                items_average: average(&samples.items),
                items_max: samples.items.iter().copied().max().unwrap_or(0),
                mb_per_s: [
                    mb(average(rates)),
                    mb(rates.iter().copied().max().unwrap_or(0) as f64),
                    mb(rates.iter().copied().min().unwrap_or(0) as f64),
                ],
                visible_ms: percentiles(&samples.visible),
                probes: samples.visible.len(),
                complete: late.len(),
                complete_s: late.iter().copied().fold(0.0, f64::max),
                told_mb_per_s: mb(told_bytes as f64) / seconds,
                told_again: told.iter().map(|told| told.changes - told.keys).sum(),
                memory_mb: mb(samples.memory_max.saturating_sub(before) as f64),
                cpus: cpu.as_secs_f64() / seconds,
                linked: None,
            })
        })
    }
}

/// Clients of a keyspace of their own.
fn quiet_clients(
    nodes: &[std::net::SocketAddr],
    clients: usize,
) -> Result<Vec<std::net::TcpStream>, BenchError> {
    let failed = |detail| failed(format!("{clients} clients of a quiet keyspace"), detail);
    let made = format!("{{\"name\": \"{}\", \"replicas\": 2}}", quiet::KEYSPACE);
    let answer = http::request(nodes[0], "POST", "/v1/keyspaces", made.as_bytes());
    match answer {
        Ok((201, _)) => quiet::connect(nodes, clients).map_err(|e| failed(e.to_string())),
        Ok((_, body)) => Err(failed(body)),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn sample(
    system: &dyn System,
    nodes: &[std::net::SocketAddr],
    pids: &[u32],
    samples: &Mutex<Samples>,
    is_loaded: &AtomicBool,
) {
    while !is_loaded.load(Relaxed) {
        std::thread::sleep(SAMPLE);
        let remaining = system.remaining(nodes[0]);
        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((items, bytes_per_s)) = remaining {
            samples.items.push(items);
            samples.bytes_per_s.push(bytes_per_s);
        }
        samples.memory_max = samples.memory_max.max(resident_bytes(pids));
    }
}

fn probe(
    system: &dyn System,
    nodes: &[std::net::SocketAddr],
    samples: &Mutex<Samples>,
    is_loaded: &AtomicBool,
) {
    let Ok(mut probe) = system.probe(nodes) else {
        return;
    };
    while !is_loaded.load(Relaxed) {
        let Ok(visible) = probe() else { return };
        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.visible.push(visible);
        drop(samples);
        std::thread::sleep(PROBE_EVERY);
    }
}

fn average(numbers: &[u64]) -> f64 {
    numbers.iter().sum::<u64>() as f64 / numbers.len().max(1) as f64
}

fn percentiles(times: &[Duration]) -> [f64; 3] {
    let mut times = times.to_vec();
    times.sort_unstable();
    [80, 95, 99].map(|percent| {
        let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    })
}
