//! Loads the catalogue; half way a node is killed, at three quarters it returns.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::demo::cluster::Cluster;
use crate::failure::Failure;
use crate::import::load::Observer;
use crate::import::progress::Progress;
use crate::import::report::Report;

/// The node that is killed, counted from 0.
pub const VICTIM: usize = 1;

/// Every acknowledged record with the value it must have.
pub type Acknowledged = HashMap<Vec<u8>, Bytes>;

/// Watches the load and acts at its marks.
pub struct Scenario<'a> {
    cluster: &'a mut Cluster,
    progress: Progress,
    size_bytes: u64,
    /// What must be read back.
    pub acknowledged: Acknowledged,
    /// Records acknowledged when the node was killed.
    pub records_at_kill: Option<u64>,
    /// When the node was started again, and records acknowledged by then.
    pub returned: Option<(Instant, u64)>,
    /// A restart that failed.
    pub failure: Option<Failure>,
}

impl<'a> Scenario<'a> {
    /// A load of about `size_bytes`.
    pub fn new(cluster: &'a mut Cluster, progress: Progress, size_bytes: u64) -> Scenario<'a> {
        Scenario {
            cluster,
            progress,
            size_bytes,
            acknowledged: Acknowledged::new(),
            records_at_kill: None,
            returned: None,
            failure: None,
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.progress.finish();
    }
}

impl Observer for Scenario<'_> {
    fn acknowledged(&mut self, key: Vec<u8>, value: Bytes) {
        self.acknowledged.insert(key, value);
    }

    fn progress(&mut self, report: &Report, elapsed: Duration) {
        self.progress.update(report, elapsed);
        if self.records_at_kill.is_none() && report.bytes >= self.size_bytes / 2 {
            self.cluster.kill(VICTIM);
            self.records_at_kill = Some(report.records);
        }
        if self.returned.is_none() && report.bytes >= self.size_bytes / 4 * 3 {
            match self.cluster.restart(VICTIM) {
                Ok(()) => self.returned = Some((Instant::now(), report.records)),
                Err(failure) => self.failure = Some(failure),
            }
        }
    }
}
