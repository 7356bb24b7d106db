//! One node with one shard and with several: how many requests it answers, and what each costs.

use std::time::Duration;

use serde::Serialize;

use crate::cluster::{Sync, alone};
use crate::error::BenchError;
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::load::generator::{Pace, Plan};
use crate::load::http::{ONE_COPY, Verb};
use crate::load::key::Order;
use crate::measure::{Run, measure};
use crate::options::ShardsOptions;
use crate::program;
use crate::progress::Progress;
use crate::quorum::workload::Workloads;

pub mod report;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Case {
    /// When writes are acknowledged.
    pub sync: Sync,
    /// What is asked for.
    pub verb: Verb,
    /// Connections, each with one request at a time.
    pub connections: usize,
    /// Shards of the node.
    pub shards: u16,
}

/// A case and its runs, one of each round.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// What was measured.
    pub case: Case,
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
    /// The version.
    pub dunlin: String,
    /// Bytes in a value.
    pub value_bytes: usize,
    /// Records that reads find.
    pub filled: u64,
    /// All cases, those of one comparison side by side.
    pub cells: Vec<Cell>,
}

struct Lengths {
    repeats: usize,
    fill: u64,
    warmup: Duration,
    run: Duration,
}

/// Carries it out: in every round a node of each number of shards, in turns.
///
/// # Errors
/// When a node does not start, a request cannot be sent or is not answered as it must be, or the user
/// stops the run.
pub fn run(
    options: &ShardsOptions,
    interrupt: &Interrupt,
    date_utc: &str,
    command_line: &str,
) -> Result<Report, BenchError> {
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    let data = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let (repeats, fill, warmup_ms, run_ms) = if options.quick {
        (1, 2_000, 100, 400)
    } else {
        (5, 100_000, 1_000, 5_000)
    };
    let lengths = Lengths {
        repeats: options.repeats.unwrap_or(repeats).max(1),
        fill,
        warmup: Duration::from_millis(warmup_ms),
        run: Duration::from_millis(run_ms),
    };
    let mut cells: Vec<Cell> = cases(options)
        .into_iter()
        .map(|case| Cell {
            case,
            runs: Vec::new(),
        })
        .collect();
    let progress = Progress::start();
    for round in 0..lengths.repeats {
        for &sync in &options.sync {
            for &shards in &options.counts {
                progress.say(&format!(
                    "round {} of {}, sync {}, shards {shards}",
                    round + 1,
                    lengths.repeats,
                    sync.name()
                ));
                let more = ["--shards".to_owned(), shards.to_string()];
                let mut node = alone::start(&dunlin, &data, sync, &more, interrupt)?;
                let mut workloads = Workloads::new(options.value_size, Order::Random);
                workloads.fill(ONE_COPY, lengths.fill, &mut node, interrupt, &progress)?;
                let of_node = |case: &Case| case.sync == sync && case.shards == shards;
                for cell in cells.iter_mut().filter(|cell| of_node(&cell.case)) {
                    let plan = Plan {
                        addresses: node.addresses.clone(),
                        connections: cell.case.connections,
                        pace: Pace::Closed,
                        warmup: lengths.warmup,
                        duration: lengths.run,
                    };
                    let mut workload = workloads.next(cell.case.verb, ONE_COPY);
                    let run = measure(&mut node, &plan, &mut workload, interrupt)?;
                    if !run.valid() {
                        return Err(BenchError::Unsound {
                            what: format!("{:?}", cell.case),
                            errors: run.errors,
                            requests: run.requests,
                            detail: run.errors_text,
                        });
                    }
                    cell.runs.push(run);
                }
            }
        }
    }
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: options.quick,
        machine: Machine::describe(&data),
        revision: revision(),
        dunlin: version(&dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
        value_bytes: options.value_size,
        filled: lengths.fill,
        cells,
    })
}

/// Every case, the numbers of shards side by side.
fn cases(options: &ShardsOptions) -> Vec<Case> {
    let mut cases = Vec::new();
    for &sync in &options.sync {
        for verb in [Verb::Put, Verb::Get] {
            for &connections in &options.connections {
                cases.extend(options.counts.iter().map(|&shards| Case {
                    sync,
                    verb,
                    connections,
                    shards,
                }));
            }
        }
    }
    cases
}
