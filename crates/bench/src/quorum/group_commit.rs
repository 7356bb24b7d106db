//! Puts that are synced before they are acknowledged: how many share a sync.

use super::Session;
use super::workload::Workloads;
use crate::cluster::Cluster;
use crate::cluster::metrics::log_counters;
use crate::error::BenchError;
use crate::load::http::{THREE_COPIES, Verb};
use crate::measure::measure;
use crate::report::model::GroupCommit;

/// Connections of the closed loops.
pub const CONNECTIONS: [usize; 5] = [1, 4, 16, 64, 256];

/// One closed loop for each number of connections.
///
/// # Errors
/// When load cannot be carried out.
pub fn measure_all(
    session: &Session,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<Vec<GroupCommit>, BenchError> {
    let mut rows = Vec::new();
    for connections in CONNECTIONS {
        let plan = session.closed_plan(cluster, connections);
        let mut workload = workloads.next(Verb::Put, THREE_COPIES);
        let before = log_counters(&cluster.addresses);
        let run = measure(cluster, &plan, &mut workload, &session.interrupt)?;
        let after = log_counters(&cluster.addresses);
        let puts_per_sync = before.zip(after).and_then(|(before, after)| {
            let syncs = after.syncs - before.syncs;
            (syncs > 0.0).then(|| (after.records - before.records) / syncs)
        });
        session.progress.say(&format!(
            "synced puts, {connections} connections: {:.0}/s, {} puts a sync, p99 {:.2} ms{}",
            run.rate_per_s,
            puts_per_sync.map_or("unknown".into(), |puts| format!("{puts:.1}")),
            run.latency_us_p99 as f64 / 1e3,
            if run.valid() {
                String::new()
            } else {
                format!("; INVALID: {}", run.errors_text)
            }
        ));
        rows.push(GroupCommit { run, puts_per_sync });
    }
    Ok(rows)
}
