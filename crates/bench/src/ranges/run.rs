//! One round: a range is filled, a replica loses its disk at rest and beside clients, and leaders change.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use super::amounts::Given;
use super::remote::{self, KEYSPACE, Led, ORACLE};
use crate::cluster::{Cluster, ClusterError, Sync, processes};
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::interrupt::Interrupt;
use crate::load::generator::{self, Answered, LoadError, Pace, Plan};
use crate::load::http::{Head, HttpWorkload, Verb};
use crate::load::key::{Choice, KeySet, Order};
use crate::load::outcome::Outcome;
use crate::load::value::Values;

/// The node that loses its disk, by its place among the addresses.
const LOST: usize = 2;
/// Keys that clients read.
const SMALL_KEYS: u64 = 20_000;
const FILL_CONNECTIONS: usize = 16;
/// Of each kind of request.
const CONNECTIONS: usize = 16;
/// Clients that write while leaders change.
const WRITERS: usize = 8;
/// Between two changes of leader: timestamps must not run ahead.
const PAUSE: Duration = Duration::from_millis(1_500);
/// Load goes on for so long behind a copy.
const BEHIND: Duration = Duration::from_secs(3);
/// A load is ended by a flag; it would end by itself after this.
const LONG: Duration = Duration::from_secs(600);

/// Latencies of requests, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Longest.
    pub max: u64,
}

/// A copy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Copied {
    /// Bytes of rows sent.
    pub bytes: u64,
    /// Bytes a second, from the first to the last.
    pub bytes_per_s: u64,
    /// From the start of the node without its disk until all replicas had all entries.
    pub whole_s: f64,
    /// CPU time of all nodes meanwhile.
    pub cpu_s: f64,
}

/// The figures of a round.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// Without clients.
    pub idle: Copied,
    /// Beside clients.
    pub loaded: Copied,
    /// Of clients before that copy.
    pub before: Latency,
    /// Of clients during it.
    pub during: Latency,
    /// The longest wait of a client within a second of each change of leader, in microseconds.
    pub transfers_us: Vec<u64>,
}

/// Carries out one round.
///
/// # Errors
/// When a request fails, or a change does not end.
pub fn round(given: &Given<'_>) -> Result<Round, BenchError> {
    let (interrupt, amounts) = (given.interrupt, &given.amounts);
    let mut cluster = processes::start(&given.dunlin, &given.data, Sync::Always, interrupt)?;
    let first = cluster.addresses[0];
    remote::make(first, interrupt)?;
    let fill = |tag, count, bytes, to: &Cluster| {
        let choice = Choice::Each {
            next: 0,
            end: count,
        };
        let mut workload = workload(Verb::Put, tag, choice, bytes);
        let plan = plan(&to.addresses, FILL_CONNECTIONS, Pace::Closed);
        let filled = generator::run(&plan, &mut workload, interrupt, &mut |_| {})?;
        sound("fill", filled)
    };
    fill(b'l', amounts.values, amounts.value_bytes, &cluster)?;
    fill(b's', SMALL_KEYS, amounts.small_bytes, &cluster)?;
    let idle = lose(&mut cluster, interrupt)?;
    let (loaded, before, during) = beside(given, &mut cluster)?;
    let transfers_us = transfers(given, &cluster)?;
    Ok(Round {
        idle,
        loaded,
        before,
        during,
        transfers_us,
    })
}

fn workload(verb: Verb, tag: u8, choice: Choice, bytes: usize) -> HttpWorkload {
    let head = Head::of_keyspace(verb, KEYSPACE, false, bytes);
    let order = Order::Random;
    HttpWorkload::with_head(
        verb,
        head,
        KeySet { tag, order },
        choice,
        Values::new(bytes),
    )
}

fn plan(addresses: &[SocketAddr], connections: usize, starts: Pace) -> Plan {
    Plan {
        addresses: addresses.to_vec(),
        connections,
        pace: starts,
        warmup: Duration::ZERO,
        duration: LONG,
    }
}

/// No request may fail.
fn sound(what: &str, outcome: Outcome) -> Result<(), BenchError> {
    if outcome.errors() == 0 {
        return Ok(());
    }
    Err(BenchError::Unsound {
        what: what.to_owned(),
        errors: outcome.errors(),
        requests: outcome.measured(),
        detail: outcome.errors_text(),
    })
}

/// A node loses its disk, and gets copies of what it held.
fn lose(cluster: &mut Cluster, interrupt: &Interrupt) -> Result<Copied, BenchError> {
    let at = cluster.addresses[0];
    // Others lead: a copy is measured, not an election.
    let leads_elsewhere = |led: &Led| led.is_whole && led.node != name(LOST);
    for keyspace in [ORACLE, KEYSPACE] {
        if remote::until((at, interrupt), keyspace, "somebody leads", |_| true)?.node == name(LOST)
        {
            remote::lead(at, keyspace, &name(0))?;
        }
        remote::until(
            (at, interrupt),
            keyspace,
            "the range is whole",
            leads_elsewhere,
        )?;
    }
    let before = remote::until(
        (at, interrupt),
        KEYSPACE,
        "the range is whole",
        leads_elsewhere,
    )?;
    cluster.kill(LOST)?;
    let lost = cluster.directory().join(name(LOST));
    std::fs::remove_dir_all(lost).map_err(ClusterError::from)?;
    cluster.start_again(LOST)?;
    let (since, meter) = (Instant::now(), Meter::new(cluster.pids()));
    let used = meter.total();
    let mut bytes_per_s = 0;
    let after = remote::until((at, interrupt), KEYSPACE, "the copy is complete", |led| {
        bytes_per_s = led.bytes_per_s.unwrap_or(bytes_per_s);
        led.copied_bytes > before.copied_bytes && led.bytes_per_s.is_none() && led.is_whole
    })?;
    Ok(Copied {
        bytes: after.copied_bytes - before.copied_bytes,
        bytes_per_s,
        whole_s: since.elapsed().as_secs_f64(),
        cpu_s: (meter.total().saturating_sub(used)).as_secs_f64(),
    })
}

fn name(index: usize) -> String {
    format!("n{}", index + 1)
}

/// Latencies with the moments at which requests were to start, from the start of the load.
type Felt = Vec<Answered>;

fn load(mut workload: HttpWorkload, plan: &Plan, stop: &Interrupt) -> Result<Felt, BenchError> {
    let mut felt = Vec::new();
    let ran = generator::follow(plan, &mut workload, stop, &mut |_| {}, &mut |answered| {
        felt.push(answered);
    });
    match ran {
        Err(LoadError::Interrupted) => Ok(felt),
        Err(error) => Err(error.into()),
        Ok(outcome) => sound("load", outcome).map(|()| felt),
    }
}

/// Of requests that were to start within a time.
fn latency(felt: &Felt, from: Duration, to: Duration) -> Result<Latency, BenchError> {
    let within = from.as_nanos() as u64..to.as_nanos() as u64;
    let mut all = Histogram::<u64>::new_with_bounds(1, LONG.as_micros() as u64, 3)
        .map_err(LoadError::Histogram)?;
    for answered in felt.iter().filter(|a| within.contains(&a.intended_ns)) {
        if !answered.is_expected {
            return Err(BenchError::Miscounted(
                "a client's request failed".to_owned(),
            ));
        }
        all.saturating_record(answered.latency_ns / 1_000);
    }
    Ok(Latency {
        count: all.len(),
        p50: all.value_at_quantile(0.5),
        p99: all.value_at_quantile(0.99),
        max: all.max(),
    })
}

/// A copy beside clients at a constant rate, at the other two nodes.
fn beside(
    given: &Given<'_>,
    cluster: &mut Cluster,
) -> Result<(Copied, Latency, Latency), BenchError> {
    let amounts = &given.amounts;
    let addresses = cluster.addresses[..LOST].to_vec();
    let small = amounts.small_bytes;
    let puts = Choice::Each {
        next: 0,
        end: u64::MAX,
    };
    let gets = Choice::Any {
        count: SMALL_KEYS,
        state: 7,
    };
    let loads = [
        (
            workload(Verb::Put, b'p', puts, small),
            amounts.rate_per_s / 4.0,
        ),
        (
            workload(Verb::Get, b's', gets, small),
            amounts.rate_per_s * 3.0 / 4.0,
        ),
    ];
    let (stop, since) = (Interrupt::default(), Instant::now());
    let (copied, start, end, felt) = thread::scope(|scope| {
        let stop = &stop;
        let clients: Vec<_> = (loads.into_iter())
            .map(|(workload, rate)| {
                let plan = plan(&addresses, CONNECTIONS, Pace::Rate(rate));
                scope.spawn(move || load(workload, &plan, stop))
            })
            .collect();
        thread::sleep(Duration::from_secs(amounts.before_s));
        let start = since.elapsed();
        let copied = lose(cluster, given.interrupt);
        let end = since.elapsed();
        thread::sleep(BEHIND);
        stop.set();
        let felt: Result<Vec<Felt>, BenchError> = (clients.into_iter())
            .map(|client| client.join().unwrap_or(Err(LoadError::Interrupted.into())))
            .collect();
        (copied, start, end, felt)
    });
    let felt: Felt = felt?.into_iter().flatten().collect();
    let before = latency(&felt, start / 2, start)?;
    Ok((copied?, before, latency(&felt, start, end)?))
}

/// Leaders change while clients write.
fn transfers(given: &Given<'_>, cluster: &Cluster) -> Result<Vec<u64>, BenchError> {
    let (at, interrupt) = (cluster.addresses[0], given.interrupt);
    let puts = Choice::Each {
        next: 0,
        end: u64::MAX,
    };
    let workload = workload(Verb::Put, b't', puts, given.amounts.small_bytes);
    let plan = plan(&cluster.addresses, WRITERS, Pace::Closed);
    let (stop, since) = (Interrupt::default(), Instant::now());
    let (moments, felt) = thread::scope(|scope| {
        let client = scope.spawn(|| load(workload, &plan, &stop));
        let moments = (0..given.amounts.transfers).map(|_| {
            thread::sleep(PAUSE);
            let moment = since.elapsed();
            let now = remote::until((at, interrupt), KEYSPACE, "somebody leads", |_| true)?;
            let names = (0..cluster.addresses.len()).map(name);
            let others = names.filter(|name| *name != now.node);
            let next = others.min().unwrap_or(now.node);
            remote::lead(at, KEYSPACE, &next)?;
            remote::until((at, interrupt), KEYSPACE, "another leads", |led| {
                led.node == next
            })?;
            Ok(moment)
        });
        let moments: Result<Vec<Duration>, BenchError> = moments.collect();
        stop.set();
        let felt = client.join().unwrap_or(Err(LoadError::Interrupted.into()));
        (moments, felt)
    });
    let (moments, felt) = (moments?, felt?);
    let longest = |from: &Duration| {
        let to = *from + Duration::from_secs(1);
        Ok(latency(&felt, *from, to)?.max)
    };
    moments.iter().map(longest).collect()
}
