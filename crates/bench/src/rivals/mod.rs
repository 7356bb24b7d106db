//! The same requests to Dunlin and to other stores, in turns (decision 43).

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::host::disk::{SyncRate, sync_rate};
use crate::host::machine::{Machine, revision};
use crate::interrupt::Interrupt;
use crate::load::generator::{Pace, Plan};
use crate::measure::Run;
use crate::options::{RivalsOptions, Shape, Store};
use crate::program;
use crate::progress::Progress;

pub mod case;
pub mod failover;
pub mod load;
pub mod report;
pub mod start;

use case::{CASES, Case, SETUPS, Setup};
use failover::Failover;
use load::Loads;

/// What every part of the run needs.
#[derive(Debug)]
pub struct Session {
    dunlin: PathBuf,
    data: PathBuf,
    shape: Shape,
    stores: Vec<Store>,
    connections: Vec<usize>,
    value_bytes: usize,
    quick: bool,
    kills: usize,
    lengths: Lengths,
    interrupt: Interrupt,
    progress: Progress,
}

/// How long everything takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lengths {
    /// Runs of each case.
    pub repeats: usize,
    /// Records that reads find.
    pub fill: u64,
    /// The part of a run that is not counted.
    #[serde(rename = "warmup_s", serialize_with = "crate::options::seconds")]
    pub warmup: Duration,
    /// A run.
    #[serde(rename = "run_s", serialize_with = "crate::options::seconds")]
    pub run: Duration,
}

/// A case over so many connections, and its runs, one of each round.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// What was measured.
    pub case: Case,
    /// By how many connections.
    pub connections: usize,
    /// One of each round.
    pub runs: Vec<Run>,
}

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// When it began.
    pub date_utc: String,
    /// As it was started.
    pub command_line: String,
    /// Whether it is too short to be quoted.
    pub quick: bool,
    /// Where.
    pub machine: Machine,
    /// The commit.
    pub revision: Option<String>,
    /// Versions, as the programs say them.
    pub programs: Vec<String>,
    /// What was not compared, and why.
    pub left_out: Vec<String>,
    /// How Dunlin's nodes ran.
    pub cluster: Shape,
    /// Bytes in a value.
    pub value_bytes: usize,
    /// Durations and counts.
    pub lengths: Lengths,
    /// The disk alone.
    pub disk: SyncRate,
    /// All cases of all numbers of connections.
    pub cells: Vec<Cell>,
    /// Leaders killed.
    pub failovers: Vec<Failover>,
    /// How long all of it took.
    pub wall_s: f64,
}

impl Session {
    /// Checks what can be checked before anything is started.
    ///
    /// # Errors
    /// [`BenchError::NoDunlin`] when there is no binary to test.
    pub fn new(options: &RivalsOptions, interrupt: Interrupt) -> Result<Session, BenchError> {
        let (repeats, fill, warmup_ms, run_ms) = if options.quick {
            (1, 2_000, 500, 1_500)
        } else {
            (5, 100_000, 1_500, 6_500)
        };
        let all = [Store::Dunlin, Store::Etcd, Store::Nats, Store::Redis];
        let wanted = |store: &Store| options.stores.is_empty() || options.stores.contains(store);
        Ok(Session {
            dunlin: program::dunlin_or(options.dunlin.as_deref())?,
            data: options.data_dir.clone().unwrap_or_else(std::env::temp_dir),
            shape: options.cluster,
            stores: all.into_iter().filter(wanted).collect(),
            connections: options.connections.clone(),
            value_bytes: options.value_size as usize,
            quick: options.quick,
            kills: options.kills.unwrap_or(if options.quick { 2 } else { 20 }),
            lengths: Lengths {
                repeats: options.repeats.unwrap_or(repeats).max(1),
                fill,
                warmup: Duration::from_millis(warmup_ms),
                run: Duration::from_millis(run_ms),
            },
            interrupt,
            progress: Progress::start(),
        })
    }

    /// The same with other durations.
    pub fn with_lengths(self, lengths: Lengths) -> Session {
        Session { lengths, ..self }
    }
}

/// Starts all stores, and in every round gives each case its turn.
///
/// # Errors
/// When Dunlin does not start, a server ends, requests cannot be sent, or the user stops the run. A rival that is not
/// there or does not start is left out and named.
pub fn run(session: &Session, date_utc: &str, command_line: &str) -> Result<Report, BenchError> {
    let (mut programs, mut left_out) = (Vec::new(), Vec::new());
    for &store in &session.stores {
        match start::version_of(session, store) {
            Ok(version) => programs.push(version),
            Err(reason) => {
                session.progress.say(&reason);
                left_out.push(reason);
            }
        }
    }
    let disk = sync_rate(&session.data, session.lengths.run / 2)?;
    let mut loads = Loads::new(session.value_bytes, session.lengths.fill);
    let mut clusters: Vec<(Setup, Cluster)> = Vec::new();
    for setup in SETUPS {
        let is_there = || start::program(session, setup.store).is_some();
        if !session.stores.contains(&setup.store) || !is_there() {
            continue;
        }
        match start::start(session, setup, &mut loads)? {
            Ok(cluster) => clusters.push((setup, cluster)),
            Err(reason) => left_out.push(reason),
        }
    }
    let mut cells = cells(session, &clusters);
    for round in 1..=session.lengths.repeats {
        let repeats = session.lengths.repeats;
        session.progress.say(&format!("round {round} of {repeats}"));
        for cell in &mut cells {
            let mut of_case = clusters.iter_mut();
            let Some((setup, cluster)) = of_case.find(|(setup, _)| *setup == cell.case.setup)
            else {
                continue;
            };
            let plan = Plan {
                addresses: cluster.addresses.clone(),
                connections: cell.connections,
                pace: Pace::Closed,
                warmup: session.lengths.warmup,
                duration: session.lengths.run,
            };
            let mut load = loads.next(*setup, cell.case.ask);
            let run = load.measure(cluster, &plan, &session.interrupt)?;
            session.progress.say(&line(cell, &run));
            cell.runs.push(run);
        }
    }
    let mut failovers = Vec::new();
    for (setup, cluster) in &mut clusters {
        let is_killed = setup.is_transactional || setup.store == Store::Etcd;
        let is_apart = session.shape == Shape::Processes || !setup.is_transactional;
        if is_killed && is_apart && session.kills > 0 {
            session.progress.say(&format!(
                "{}: {} leaders are killed",
                setup.name(),
                session.kills
            ));
            let killed = failover::measure(*setup, cluster, session.kills, &session.interrupt)?;
            failovers.push(killed);
        }
    }
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: session.quick,
        machine: Machine::describe(&session.data),
        revision: revision(),
        programs,
        left_out,
        cluster: session.shape,
        value_bytes: session.value_bytes,
        lengths: session.lengths,
        disk,
        cells,
        failovers,
        wall_s: session.progress.elapsed().as_secs_f64(),
    })
}

/// Every case of the servers that run.
fn cells(session: &Session, clusters: &[(Setup, Cluster)]) -> Vec<Cell> {
    let runs = |case: &&Case| clusters.iter().any(|(setup, _)| *setup == case.setup);
    let of_connections = |&connections: &usize| {
        CASES.iter().filter(runs).map(move |&case| Cell {
            case,
            connections,
            runs: Vec::new(),
        })
    };
    session
        .connections
        .iter()
        .flat_map(of_connections)
        .collect()
}

fn line(cell: &Cell, run: &Run) -> String {
    let Case { setup, ask, means } = &cell.case;
    format!(
        "{} {ask:?} {means}, {} connections: {:.0}/s, p99 {:.2} ms, servers {:.1} us a request {}",
        setup.name(),
        cell.connections,
        run.rate_per_s,
        run.latency_us_p99 as f64 / 1e3,
        run.server_cpu_us + run.server_cpu_us_deferred,
        run.errors_text
    )
}
