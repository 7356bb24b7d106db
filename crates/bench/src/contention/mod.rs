//! One key that everybody uses: how many transactions on it happen, how many attempts are refused, and whether each
//! client has its turn.
//!
//! - [`case`]: the tasks; [`row`]: a row of PostgreSQL; [`mod@run`]: one case for a while; [`report`]: the table

use std::time::Duration;

use serde::Serialize;

use crate::cluster::{Sync, etcd, postgres, processes};
use crate::error::BenchError;
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::options::TxnOptions;
use crate::program;
use crate::progress::Progress;
use crate::ranges::remote;
use crate::spread::Runs;

pub mod case;
pub mod report;
pub mod row;
pub mod run;

use case::{CROWDS, Crowd, KEYSPACE, SPLIT, Task};
use run::Figures;

/// A case with its runs, one of each round.
pub type Repeats = Runs<Crowd, Figures>;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Contention {
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
    /// Seconds of a case in a round.
    pub case_s: f64,
    /// All cases.
    pub rows: Vec<Repeats>,
}

/// Carries it out: in every round each case has its turn.
///
/// # Errors
/// When the cluster does not start, a request fails, a number was not counted, or the user stops the run.
pub fn run(
    options: &TxnOptions,
    interrupt: &Interrupt,
    date_utc: &str,
    command_line: &str,
) -> Result<Contention, BenchError> {
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    if etcd::program().is_none() {
        return Err(BenchError::Missing {
            program: "etcd",
            package: "etcd-server",
        });
    }
    let time = Duration::from_millis(if options.quick { 1_500 } else { 6_000 });
    let progress = Progress::start();
    let data = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let cluster = processes::start(&dunlin, &data, Sync::Always, interrupt)?;
    let body = format!(r#"{{"name":"{KEYSPACE}","mode":"transactional","split_at":["{SPLIT}"]}}"#);
    remote::create((cluster.addresses[0], interrupt), &body)?;
    let rival = match postgres::programs() {
        Some(programs) => Some(postgres::start(&programs, &data, interrupt)?),
        None => {
            progress.say("PostgreSQL is left out: it is not installed");
            None
        }
    };
    let mut rows: Vec<Repeats> = Runs::all(CROWDS);
    for _ in 0..options.rounds() {
        for row in &mut rows {
            let Some(cluster) = (match row.case.task {
                Task::Row => rival.as_ref(),
                _ => Some(&cluster),
            }) else {
                continue;
            };
            let figures = run::run(cluster, row.case, time)?;
            progress.say(&report::line(row.case, &figures));
            row.runs.push(figures);
            interrupt.sleep(Duration::ZERO)?;
        }
    }
    rows.retain(|row| !row.runs.is_empty());
    Ok(Contention {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: options.quick,
        machine: Machine::describe(&data),
        revision: revision(),
        dunlin: version(&dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
        case_s: time.as_secs_f64(),
        rows,
    })
}
