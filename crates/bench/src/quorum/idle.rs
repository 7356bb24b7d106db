//! Memory of a cluster that does nothing.

use std::time::Duration;

use super::Session;
use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::host::memory::resident_bytes;
use crate::report::model::Idle;

const WAIT: Duration = Duration::from_secs(5);

/// Measures now and after five seconds; the cluster must not have been used yet.
///
/// # Errors
/// When the user stops the run.
pub fn measure(session: &Session, cluster: &Cluster) -> Result<Idle, BenchError> {
    let resident_bytes_at_start = resident_bytes(&cluster.pids());
    session.interrupt.sleep(WAIT)?;
    let idle = Idle {
        resident_bytes_at_start,
        resident_bytes: resident_bytes(&cluster.pids()),
    };
    session.progress.say(&format!(
        "idle memory {:.0} MB",
        idle.resident_bytes as f64 / 1e6
    ));
    Ok(idle)
}
