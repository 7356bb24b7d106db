//! The tables of paper 004 and what belongs beside them.

use std::path::PathBuf;

use crate::cluster::{Cluster, Sync, etcd, processes, up};
use crate::error::BenchError;
use crate::host::disk::sync_rate;
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::load::generator::{Pace, Plan};
use crate::options::{QuorumOptions, Shape, Timing};
use crate::progress::Progress;
use crate::report::model::{Programs, Report, Settings};

pub mod cell;
pub mod group_commit;
pub mod idle;
pub mod paper;
pub mod point;
pub mod target;
pub mod workload;

use workload::Workloads;

/// What every part of the run needs.
#[derive(Debug)]
pub struct Session {
    options: QuorumOptions,
    timing: Timing,
    dunlin: PathBuf,
    data: PathBuf,
    interrupt: Interrupt,
    progress: Progress,
}

impl Session {
    /// Checks what can be checked before anything is started.
    ///
    /// # Errors
    /// [`BenchError::NoDunlin`] when there is no binary to test.
    pub fn new(options: QuorumOptions, interrupt: Interrupt) -> Result<Session, BenchError> {
        let dunlin = crate::program::dunlin_or(options.dunlin.as_deref())?;
        Ok(Session {
            timing: options.timing(),
            data: options.data_dir.clone().unwrap_or_else(std::env::temp_dir),
            progress: Progress::start(),
            dunlin,
            interrupt,
            options,
        })
    }

    /// The same with other durations.
    pub fn with_timing(self, timing: Timing) -> Session {
        Session { timing, ..self }
    }

    fn start(&self, sync: Sync) -> Result<Cluster, BenchError> {
        let shape = match self.options.cluster {
            Shape::Up => up::start,
            Shape::Processes => processes::start,
        };
        let cluster = shape(&self.dunlin, &self.data, sync, &self.interrupt)?;
        self.progress.say(&format!(
            "three nodes with sync {} answer, first on {}",
            sync.name(),
            cluster.addresses[0]
        ));
        Ok(cluster)
    }

    fn full_plan(&self, cluster: &Cluster, connections: usize, rate_per_s: f64) -> Plan {
        Plan {
            addresses: cluster.addresses.clone(),
            connections,
            pace: Pace::Rate(rate_per_s),
            warmup: self.timing.run_warmup,
            duration: self.timing.run,
        }
    }

    fn probe_plan(&self, cluster: &Cluster, connections: usize, rate_per_s: f64) -> Plan {
        Plan {
            warmup: self.timing.probe_warmup,
            duration: self.timing.probe,
            ..self.full_plan(cluster, connections, rate_per_s)
        }
    }

    fn closed_plan(&self, cluster: &Cluster, connections: usize) -> Plan {
        Plan {
            pace: Pace::Closed,
            warmup: self.timing.closed_warmup,
            duration: self.timing.closed,
            ..self.full_plan(cluster, connections, 1.0)
        }
    }

    fn programs(&self) -> Programs {
        Programs {
            dunlin: version(&self.dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
            revision: revision(),
            etcd: (self.options.cluster == Shape::Processes)
                .then(|| etcd::program().and_then(|program| version(&program, "etcd")))
                .flatten(),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            cluster: self.options.cluster,
            connections: self.options.connections(),
            value_bytes: self.options.value_size,
            keys: self.options.keys,
            timing: self.timing,
        }
    }
}

/// Carries out the whole run. `date_utc` and `command_line` are for the report.
///
/// # Errors
/// When servers do not start or end, requests cannot be sent, what was filled in cannot be read
/// back, or the user stops the run.
pub fn run(session: &Session, date_utc: &str, command_line: &str) -> Result<Report, BenchError> {
    let progress = &session.progress;
    let mut cluster = session.start(Sync::Never)?;
    let idle = idle::measure(session, &cluster)?;
    let mut workloads = Workloads::new(session.options.value_size, session.options.keys);
    workload::fill(session, &mut cluster, &mut workloads)?;
    let mut cells = cell::sweep_all(session, &mut cluster, &mut workloads)?;
    cell::confirm_all(session, &mut cluster, &mut workloads, &mut cells)?;
    let at_paper_rates = point::at_paper_rates(session, &mut cluster, &mut workloads)?;
    let closed = point::closed(session, &mut cluster, &mut workloads)?;
    progress.say("how fast the disk syncs");
    let disk = sync_rate(cluster.directory(), session.timing.closed)?;
    let mut synced = session.start(Sync::Always)?;
    let group_commit = group_commit::measure_all(session, &mut synced, &mut workloads)?;
    let cells: Vec<_> = cells.into_iter().map(cell::Search::finish).collect();
    let targets = target::evaluate(&cells, &idle, &group_commit);
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: session.options.quick,
        machine: Machine::describe(&session.data),
        programs: session.programs(),
        settings: session.settings(),
        targets,
        cells,
        at_paper_rates,
        closed,
        idle,
        disk,
        group_commit,
        wall_s: progress.elapsed().as_secs_f64(),
    })
}
