//! Single runs: at the paper's own rates, and as fast as answers come.

use super::Session;
use super::cell::{cases, probe_line};
use super::paper;
use super::workload::Workloads;
use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::load::generator::Plan;
use crate::measure::measure;
use crate::report::model::{Case, Point};

/// The four tables of the paper: its connections, its rates.
///
/// # Errors
/// When load cannot be carried out.
pub fn at_paper_rates(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<Vec<Point>, BenchError> {
    cases(&[paper::CONNECTIONS])
        .into_iter()
        .map(|case| {
            let rate = paper::table(case.verb, case.copies.from > 1).rate_per_s;
            let plan = session.full_plan(cluster, case.connections, rate);
            point(session, cluster, workloads, case, &plan)
        })
        .collect()
}

/// Closed loops of every case.
///
/// # Errors
/// When load cannot be carried out.
pub fn closed(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<Vec<Point>, BenchError> {
    cases(&session.options.connections())
        .into_iter()
        .map(|case| {
            let plan = session.closed_plan(cluster, case.connections);
            point(session, cluster, workloads, case, &plan)
        })
        .collect()
}

fn point(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
    case: Case,
    plan: &Plan,
) -> Result<Point, BenchError> {
    let mut workload = workloads.next(case.verb, case.copies);
    let run = measure(cluster, plan, &mut workload, &session.interrupt)?;
    session.progress.say(&probe_line(&case, &run));
    Ok(Point { case, run })
}
