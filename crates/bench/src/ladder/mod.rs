//! Paper 003: what a transaction of one read and one write costs, step by step, one after the other.
//!
//! - [`case`]: how they are sent, and where the data are; [`client`]: the clients; [`mod@figures`]: what they came to;
//!   [`report`]: the table
//! - [`flight`]: cases of several at a time; [`several`]: their clients

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cluster::{Cluster, Sync, alone, etcd, postgres, processes};
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::host::pinned::{pin, pin_process};
use crate::host::tree;
use crate::interrupt::Interrupt;
use crate::options::TxnOptions;
use crate::program;
use crate::progress::Progress;
use crate::ranges::remote::{self, KEYSPACE, ORACLE};
use crate::rpc::case::{Caller, Calls, Over, Processors};
use crate::rpc::run::failed;
use crate::rpc::tally::Times;
use crate::rpc::{self, Origin};
use crate::spread::Runs;

pub mod case;
pub mod client;
pub mod figures;
pub mod flight;
pub mod report;
pub mod several;

use case::{PAIRS, Rung, RungAt, Stage, key, steps};
use client::{Runner, fill, fill_table};
use figures::{StepFigures, figures};
use flight::{Flight, FlightServer, SECOND_RANGE, flights};

/// The node that is spoken to, which leads all ranges.
const LEADER: &str = "n1";
/// Until ranges have leaders.
const STARTS: Duration = Duration::from_secs(60);

/// A case of several at a time, with its runs.
pub type FlightRuns = Runs<Flight, StepFigures>;

/// A case with its runs, one of each round.
pub type StepRuns = Runs<RungAt, StepFigures>;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Ladder {
    /// How it was made.
    pub origin: Origin,
    /// Median of a blocking ping-pong of 1 KiB and 10 bytes over TCP, in microseconds, one of each round.
    pub ping_pongs_us: Vec<f64>,
    /// All cases.
    pub rows: Vec<StepRuns>,
    /// Cases of several transactions at a time: one replica, in memory.
    pub flights: Vec<FlightRuns>,
}

/// The servers of all cases.
struct Servers {
    stores: Vec<(Stage, Cluster)>,
    rivals: Vec<(Stage, Cluster)>,
}

/// Carries it out: in every round each case has its turn.
///
/// # Errors
/// When servers do not start, a transaction fails, or the user stops the run.
pub fn run(
    options: &TxnOptions,
    interrupt: &Interrupt,
    origin: Origin,
) -> Result<Ladder, BenchError> {
    let progress = Progress::start();
    let servers = start(options, interrupt, &progress)?;
    let times = times(options);
    let mut report = Ladder {
        origin,
        ping_pongs_us: Vec::new(),
        rows: Vec::new(),
        flights: Vec::new(),
    };
    report.rows = Runs::all(cases(options));
    if options.wants_flights() {
        report.flights = Runs::all(flights());
    }
    for _ in 0..options.rounds() {
        let calls = |caller| Calls {
            caller,
            over: Over::Tcp,
            connections: 1,
            depth: 1,
            processors: Processors::Two,
        };
        let ping_pong = rpc::run::run(calls(Caller::PingPong), times)?;
        report.ping_pongs_us.push(ping_pong.p50_us);
        for row in &mut report.rows {
            interrupt.check()?;
            let figures = if row.case.rung == Rung::Call {
                let called = rpc::run::run(calls(Caller::Dunlin), times)?;
                StepFigures {
                    per_s: called.per_s,
                    p50_us: called.p50_us,
                    p99_us: called.p99_us,
                    refused: 0.0,
                    server_us: called.server_us,
                }
            } else {
                let Some(cluster) = servers.of(row.case) else {
                    continue;
                };
                measured(cluster, row.case.rung, times)
                    .map_err(|error| failed(row.case.rung.name(), &error))?
            };
            progress.say(&report::line(row.case, &figures));
            row.runs.push(figures);
        }
        for row in &mut report.flights {
            interrupt.check()?;
            let Some(cluster) = servers.at(Stage::Memory, row.case.store == FlightServer::Postgres)
            else {
                continue;
            };
            let figures = several::measured(cluster, row.case, times)
                .map_err(|error| failed(row.case.store.name(), &error))?;
            progress.say(&report::flight_line(row.case, &figures));
            row.runs.push(figures);
        }
    }
    report.flights.retain(|row| !row.runs.is_empty());
    report.rows.retain(|row| !row.runs.is_empty());
    Ok(report)
}

/// How long a case takes.
pub fn times(options: &TxnOptions) -> Times {
    let (warm_ms, seconds) = if options.quick {
        (100, 0.4)
    } else {
        (500, 2.0)
    };
    Times {
        warm: Duration::from_millis(warm_ms),
        window: Duration::from_secs_f64(options.seconds.unwrap_or(seconds).max(0.0)),
    }
}

/// The cases that are wanted.
fn cases(options: &TxnOptions) -> Vec<RungAt> {
    let all = [Stage::Memory, Stage::Disk, Stage::Three].into_iter();
    all.flat_map(steps)
        .filter(|case| options.wants(*case))
        .collect()
}

impl Servers {
    fn of(&self, step: RungAt) -> Option<&Cluster> {
        self.at(step.stage, step.rung.is_postgres())
    }

    fn at(&self, at: Stage, is_postgres: bool) -> Option<&Cluster> {
        let mut all = if is_postgres {
            self.rivals.iter()
        } else {
            self.stores.iter()
        };
        all.find(|(stage, _)| *stage == at)
            .map(|(_, cluster)| cluster)
    }
}

/// Starts all servers, on a processor of their own.
fn start(
    options: &TxnOptions,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Servers, BenchError> {
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    if etcd::program().is_none() {
        return Err(BenchError::Missing {
            program: "etcd",
            package: "etcd-server",
        });
    }
    let disk = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let memory = PathBuf::from("/dev/shm");
    let mut servers = Servers {
        stores: Vec::new(),
        rivals: Vec::new(),
    };
    let all = cases(options);
    let wants = |stage, is_postgres| {
        let mut of_stage = all.iter().filter(|case| case.stage == stage);
        let is_it =
            |case: &RungAt| case.rung != Rung::Call && case.rung.is_postgres() == is_postgres;
        of_stage.any(is_it) || stage == Stage::Memory && options.wants_flights()
    };
    for (stage, place) in [(Stage::Memory, &memory), (Stage::Disk, &disk)] {
        if !wants(stage, false) {
            continue;
        }
        let more = ["--shards".to_owned(), "1".to_owned()];
        let cluster = alone::start(&dunlin, place, Sync::Always, &more, interrupt)?;
        servers.stores.push((stage, cluster));
    }
    if wants(Stage::Three, false) {
        let three = processes::start(&dunlin, &memory, Sync::Always, interrupt)?;
        servers.stores.push((Stage::Three, three));
    }
    for (stage, cluster) in &servers.stores {
        let at = cluster.addresses[0];
        let replicas = if *stage == Stage::Three { 3 } else { 1 };
        let body =
            format!(r#"{{"name":"{KEYSPACE}","mode":"transactional","replicas":{replicas}}}"#);
        remote::create((at, interrupt), &body)?;
        if *stage == Stage::Three {
            remote::lead_all((at, interrupt), &[KEYSPACE, ORACLE], LEADER)?;
        }
        filled((at, KEYSPACE), interrupt)?;
        if *stage == Stage::Memory && options.wants_flights() {
            let split = key(SECOND_RANGE);
            let body = format!(
                r#"{{"name":"{PAIRS}","mode":"transactional","replicas":1,"split_at":["{split}"]}}"#
            );
            remote::create((at, interrupt), &body)?;
            filled((at, PAIRS), interrupt)?;
        }
    }
    match postgres::programs() {
        Some(programs) => {
            for (stage, place) in [(Stage::Memory, &memory), (Stage::Disk, &disk)] {
                if !wants(stage, true) {
                    continue;
                }
                let cluster = postgres_at(&programs, place, interrupt)?;
                servers.rivals.push((stage, cluster));
            }
        }
        None => progress.say("PostgreSQL is left out: it is not installed"),
    }
    for (_, cluster) in servers.stores.iter().chain(&servers.rivals) {
        for pid in cluster.pids().into_iter().flat_map(tree::of) {
            pin_process(pid, 1)?;
        }
    }
    Ok(servers)
}

/// Nodes that have just started refuse for a moment.
fn filled((at, keyspace): (SocketAddr, &str), interrupt: &Interrupt) -> Result<(), BenchError> {
    let end = Instant::now() + STARTS;
    loop {
        match fill(at, keyspace) {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() >= end => return Err(failed("dunlin", &error)),
            Err(_) => interrupt.sleep(Duration::from_millis(100))?,
        }
    }
}

fn postgres_at(
    programs: &Path,
    place: &Path,
    interrupt: &Interrupt,
) -> Result<Cluster, BenchError> {
    let cluster = postgres::start(programs, place, interrupt)?;
    fill_table(cluster.addresses[0]).map_err(|error| failed("PostgreSQL", &error))?;
    Ok(cluster)
}

/// One case, its client on a processor of its own.
fn measured(cluster: &Cluster, rung: Rung, times: Times) -> io::Result<StepFigures> {
    let client = || {
        pin(0)?;
        let mut runner = Runner::new(rung, cluster.addresses[0])?;
        let warm_until = Instant::now() + times.warm;
        while Instant::now() < warm_until {
            runner.run()?;
        }
        let pids = cluster.pids().into_iter().flat_map(tree::of);
        let meter = Meter::new(pids.collect());
        let (cpu, began) = (meter.total(), Instant::now());
        let mut took = Vec::new();
        while began.elapsed() < times.window {
            let one = Instant::now();
            runner.run()?;
            took.push(one.elapsed());
        }
        let (all, cpu) = (began.elapsed(), meter.total().saturating_sub(cpu));
        Ok(figures(took, all, cpu))
    };
    thread::scope(|scope| scope.spawn(client).join())
        .unwrap_or_else(|_| Err(io::Error::other("a client ended early")))
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
