//! Faults of disks, and what an operator does about them.

use rand::Rng;

use super::Faults;
use crate::harness::cluster::{Cluster, HarnessError};
use crate::harness::host::Host;
use crate::run::is_disk_fault;

impl Faults {
    pub(super) fn break_disk(&mut self, cluster: &mut Cluster, now_ms: u64) {
        let number = self.host(cluster);
        let host = cluster.hosts[number].clone();
        let after = self.random.random_range(0..4);
        match self.random.random_range(0..4) {
            0 => {
                host.disk.fail_sync(after);
                cluster
                    .shared
                    .note(format!("a sync of {} is to fail", host.name));
            }
            1 => {
                host.disk.fail_write(after);
                cluster
                    .shared
                    .note(format!("a write of {} is to fail", host.name));
            }
            2 => {
                host.disk.run_out_of_descriptors(true);
                self.full_until_ms[number] = Some(now_ms + self.random.random_range(200..=3_000));
                cluster
                    .shared
                    .note(format!("{} can open no file", host.name));
            }
            _ => {
                let room = self.random.random_range(0..100_000);
                host.disk.set_capacity(Some(host.disk.used_bytes() + room));
                self.full_until_ms[number] = Some(now_ms + self.random.random_range(500..=6_000));
                cluster
                    .shared
                    .note(format!("{} has {room} bytes of disk left", host.name));
            }
        }
    }

    /// Why a node did not start, when its disk is to blame; the operator tries again.
    pub(super) fn disk_refused_start(&self, host: &Host) -> Option<String> {
        let mut failure = host.failure.borrow_mut();
        if failure.as_deref().is_some_and(is_disk_fault) {
            failure.take()
        } else {
            None
        }
    }

    /// Restarts nodes whose log has stopped, as an operator would.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn restart_failed(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        for number in 0..cluster.hosts.len() {
            let host = cluster.hosts[number].clone();
            if let Some(error) = self.disk_refused_start(&host) {
                cluster
                    .shared
                    .note(format!("{} does not start: {error}", host.name));
                let crash = self.crash_kind(cluster);
                self.crash(cluster, number, crash, now_ms, "its disk failed")?;
                continue;
            }
            let wants = |what: &str| {
                let live = host.live();
                live.iter()
                    .any(|s| s.trouble().is_some_and(|t| t.contains(what)))
            };
            for (what, why) in [
                ("log failed", "its log failed"),
                ("was set back", "its clock was set back"),
            ] {
                if wants(what) && self.random.random_bool(0.1) {
                    let crash = self.crash_kind(cluster);
                    self.crash(cluster, number, crash, now_ms, why)?;
                }
            }
        }
        Ok(())
    }

    /// Restarts nodes on which the log of ranges has failed, as its line says.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn restart_failed_ranges(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        for number in 0..cluster.hosts.len() {
            let live = cluster.hosts[number].live().into_iter();
            let rows = live.flat_map(|shard| shard.status().ranges);
            let mut failed = rows.filter(|row| row.role == "failed");
            let says_so = |reason: String| reason.contains("restart the node");
            let has_failed = failed.any(|row| row.reason.is_some_and(says_so));
            drop(failed);
            if has_failed {
                let now_ms = cluster.now_ms();
                let crash = self.crash_kind(cluster);
                self.crash(
                    cluster,
                    number,
                    crash,
                    now_ms,
                    "the log of its ranges failed",
                )?;
            }
        }
        self.restart_down(cluster)
    }
}
