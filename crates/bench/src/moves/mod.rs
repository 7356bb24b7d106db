//! Issue 4, point 6: what clients feel while partitions move between nodes.
//!
//! - [`plan`]: how much is measured, under which conditions
//! - [`mod@run`]: one run; [`change`]: one change of the members, followed; [`members`]: told and begun
//! - [`clients`]: load at a constant rate; [`workload`], [`ledger`]: what is asked, and what must be
//!   answered; [`felt`]: latencies by part and by second
//! - [`verify`]: what is there afterwards
//! - [`case`]: the runs of a condition; [`target`]: what was to be reached; [`report`]: tables, charts

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cluster::etcd;
use crate::error::BenchError;
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::options::MoveOptions;
use crate::progress::Progress;

pub mod case;
pub mod change;
pub mod clients;
pub mod felt;
pub mod ledger;
pub mod members;
pub mod plan;
pub mod report;
pub mod run;
#[cfg(test)]
pub mod samples;
pub mod target;
pub mod verify;
pub mod workload;

use case::Case;
use change::Moved;
use plan::{Condition, Plan};
use report::model::Report;

/// What every part of the run needs.
#[derive(Debug)]
pub struct Session {
    quick: bool,
    plan: Plan,
    dunlin: PathBuf,
    data: PathBuf,
    interrupt: Interrupt,
    progress: Progress,
}

impl Session {
    /// Checks what can be checked before anything is started.
    ///
    /// # Errors
    /// [`BenchError::NoDunlin`] when there is no binary to test; [`BenchError::Missing`] without
    /// etcd.
    pub fn new(options: &MoveOptions, interrupt: Interrupt) -> Result<Session, BenchError> {
        let dunlin = crate::program::dunlin_or(options.dunlin.as_deref())?;
        if etcd::program().is_none() {
            return Err(BenchError::Missing {
                program: "etcd",
                package: "etcd-server",
            });
        }
        Ok(Session {
            quick: options.quick,
            plan: Plan::of(options, can_set_bound(&dunlin)),
            dunlin,
            data: options.data_dir.clone().unwrap_or_else(std::env::temp_dir),
            interrupt,
            progress: Progress::start(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn say_moved(&self, condition: Condition, moved: &Moved) {
        self.progress.say(&format!(
            "{}: {}: {:.1} s, {:.0} MB in {:.1} s, {:.1} MB/s",
            condition.name(),
            moved.step,
            moved.duration_s,
            moved.bytes as f64 / 1e6,
            moved.copy_s,
            moved.bytes_per_s() / 1e6
        ));
    }
}

/// Whether this `dunlin serve` can be told how long clients may wait.
fn can_set_bound(dunlin: &Path) -> bool {
    let mut help = Command::new(dunlin);
    help.args(["serve", "--help"]).stdin(Stdio::null());
    help.output().is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("--move-latency")
    })
}

/// Carries out the whole run. `date_utc` and `command_line` are for the report.
///
/// # Errors
/// When a cluster does not start, a move goes wrong, a key is lost or held too often, or the user
/// stops the run.
pub fn run(session: &Session, date_utc: &str, command_line: &str) -> Result<Report, BenchError> {
    let plan = &session.plan;
    let mut runs = vec![Vec::new(); plan.cases.len()];
    for round in 0..plan.repeats {
        for (condition, runs) in plan.cases.iter().zip(&mut runs) {
            let run = run::run(session, *condition)?;
            session.progress.say(&format!(
                "round {} of {}, {}: {}",
                round + 1,
                plan.repeats,
                condition.name(),
                report::line(&run)
            ));
            runs.push(run);
        }
    }
    let cases = plan.cases.iter().zip(runs);
    let cases: Vec<Case> = cases
        .map(|(condition, runs)| Case::of(*condition, runs))
        .collect();
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: session.quick,
        machine: Machine::describe(&session.data),
        revision: revision(),
        dunlin: version(&session.dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
        etcd: etcd::program().and_then(|program| version(&program, "etcd")),
        bound_us_p99: plan::BOUND_US_P99,
        plan: plan.clone(),
        targets: target::evaluate(&cases),
        cases,
        wall_s: session.progress.elapsed().as_secs_f64(),
    })
}
