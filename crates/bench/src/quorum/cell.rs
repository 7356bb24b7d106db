//! The highest rate of each case: probes first, then full runs that alternate between cases.

use super::Session;
use super::workload::Workloads;
use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::load::http::{ONE_COPY, THREE_COPIES, Verb};
use crate::measure::{Run, measure};
use crate::report::model::{Case, Cell, Probe, Summary};
use crate::spread::Spread;
use crate::sweep::{Confirm, Sweep};

const START_PER_S: f64 = 4_000.0;

/// The search for one case.
#[derive(Debug)]
pub struct Search {
    case: Case,
    probes: Vec<Probe>,
    confirm: Confirm,
    rounds: Vec<Round>,
}

/// Full runs at one rate.
#[derive(Debug)]
struct Round {
    rate_per_s: f64,
    runs: Vec<Run>,
}

impl Round {
    fn held(&self) -> bool {
        let share = self.share();
        share.median >= crate::measure::SHARE_WANTED
            && self.runs.iter().all(Run::valid)
            && self.runs.iter().filter(|run| run.reached()).count() * 2 > self.runs.len()
    }

    fn share(&self) -> Spread {
        Spread::of(self.runs.iter().map(|run| run.share_under_2ms))
    }
}

/// The cases of a run in their order: one copy and three next to each other.
pub fn cases(connections: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &connections in connections {
        for verb in [Verb::Put, Verb::Get] {
            for copies in [ONE_COPY, THREE_COPIES] {
                cases.push(Case {
                    verb,
                    copies,
                    connections,
                });
            }
        }
    }
    cases
}

/// Sweeps every case with short probes.
///
/// # Errors
/// When load cannot be carried out.
pub fn sweep_all(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<Vec<Search>, BenchError> {
    let mut searches = Vec::new();
    for case in cases(&session.options.connections()) {
        let mut sweep = Sweep::new(
            START_PER_S,
            session.timing.precision,
            session.timing.probes_max,
        );
        let mut probes = Vec::new();
        while let Some(rate) = sweep.next_rate() {
            let plan = session.probe_plan(cluster, case.connections, rate);
            let mut workload = workloads.next(case.verb, case.copies);
            let run = measure(cluster, &plan, &mut workload, &session.interrupt)?;
            sweep.observe(run.held());
            session.progress.say(&probe_line(&case, &run));
            probes.push(Probe {
                rate_per_s: rate,
                reached_per_s: run.rate_per_s,
                share_under_2ms: run.share_under_2ms,
                held: run.held(),
            });
        }
        let mut confirm = Confirm::new(sweep.best().unwrap_or(0.0), session.timing.rounds_max);
        if sweep.best().is_none() {
            confirm.stop();
        }
        searches.push(Search {
            case,
            probes,
            confirm,
            rounds: Vec::new(),
        });
    }
    Ok(searches)
}

/// Confirms every case with full runs: in each repeat all open cases take their turn, so that a
/// slow minute of the machine falls on all of them.
///
/// # Errors
/// When load cannot be carried out.
pub fn confirm_all(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
    searches: &mut [Search],
) -> Result<(), BenchError> {
    let mut first = true;
    loop {
        let late = session.progress.elapsed() > session.timing.rounds_until;
        let mut open: Vec<&mut Search> = Vec::new();
        for search in searches.iter_mut() {
            if late && !first {
                search.confirm.stop();
            }
            if let Some(rate_per_s) = search.confirm.next_rate() {
                search.rounds.push(Round {
                    rate_per_s,
                    runs: Vec::new(),
                });
                open.push(search);
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        first = false;
        for _ in 0..session.timing.repeats {
            for search in &mut open {
                search.run(session, cluster, workloads)?;
            }
        }
        for search in open {
            if let Some(round) = search.rounds.last() {
                search.confirm.observe(round.held(), round.share().median);
            }
        }
    }
}

impl Search {
    fn run(
        &mut self,
        session: &Session,
        cluster: &mut Cluster,
        workloads: &mut Workloads,
    ) -> Result<(), BenchError> {
        let Some(round) = self.rounds.last_mut() else {
            return Ok(());
        };
        let plan = session.full_plan(cluster, self.case.connections, round.rate_per_s);
        let mut workload = workloads.next(self.case.verb, self.case.copies);
        let run = measure(cluster, &plan, &mut workload, &session.interrupt)?;
        session
            .progress
            .say(&format!("full run: {}", probe_line(&self.case, &run)));
        round.runs.push(run);
        Ok(())
    }

    /// The result: the highest confirmed rate, else the last one tried.
    pub fn finish(self) -> Cell {
        let confirmed = self.confirm.confirmed();
        let round = self
            .rounds
            .into_iter()
            .rfind(|round| confirmed.is_none_or(|rate| round.rate_per_s == rate));
        let (rate_per_s, runs) =
            round.map_or((0.0, Vec::new()), |round| (round.rate_per_s, round.runs));
        Cell {
            case: self.case,
            rate_per_s,
            confirmed: confirmed.is_some(),
            probes: self.probes,
            summary: Summary::of(&runs),
            runs,
        }
    }
}

/// One line about one run.
pub fn probe_line(case: &Case, run: &Run) -> String {
    let intended = run
        .rate_intended_per_s
        .map_or("closed loop".to_owned(), |rate| format!("at {rate:.0}/s"));
    let mut line = format!(
        "{} {intended}: {:.0}/s, {:.2} % under 2 ms, p99 {:.2} ms, servers {:.1} us a request",
        case.name(),
        run.rate_per_s,
        run.share_under_2ms * 100.0,
        run.latency_us_p99 as f64 / 1e3,
        run.server_cpu_us
    );
    if !run.valid() {
        line += &format!("; INVALID: {}", run.errors_text);
    }
    line
}
