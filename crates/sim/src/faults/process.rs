//! Processes that end, machines that lose their power, processes that are held.

use rand::Rng;

use super::Faults;
use crate::harness::cluster::{Cluster, Crash, HarnessError};
use crate::plan::pick;

impl Faults {
    pub(super) fn crash(
        &mut self,
        cluster: &mut Cluster,
        number: usize,
        crash: Crash,
        now_ms: u64,
        why: &str,
    ) -> Result<(), HarnessError> {
        if self.down_until_ms[number].is_some() {
            return Ok(());
        }
        let name = cluster.hosts[number].name.clone();
        cluster.shared.note(format!("{name}: {crash:?}: {why}"));
        cluster.crash(number, crash)?;
        if crash.takes_power() && cluster.shared.plan.is_lax() {
            self.losses.lost(number, now_ms);
        }
        self.stopping[number] = None;
        self.held_until_ms[number] = None;
        // Mostly back soon; sometimes away for long enough to need a backfill.
        let away_ms = if self.random.random_bool(0.8) {
            self.random.random_range(50..=3_000)
        } else {
            self.random.random_range(3_000..=10_000)
        };
        self.down_until_ms[number] = Some(now_ms + away_ms);
        Ok(())
    }

    /// Kills a process, which starts again at once, or nearly so.
    pub(super) fn restart_one(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        self.next_restart_ms = now_ms + self.restarts.random_range(200..=1_500);
        let number = self.restarts.random_range(0..cluster.hosts.len());
        if self.down_until_ms[number].is_some() {
            return Ok(());
        }
        let why = "one of many restarts";
        self.crash(cluster, number, Crash::Kill, now_ms, why)?;
        let away_ms = self.restarts.random_range(20..=400);
        self.down_until_ms[number] = Some(now_ms + away_ms);
        Ok(())
    }

    pub(super) fn crash_kind(&mut self, cluster: &Cluster) -> Crash {
        if cluster.shared.plan.power_loss && self.random.random_bool(0.7) {
            Crash::PowerLoss
        } else {
            Crash::Kill
        }
    }

    /// Takes the power from all machines if a write has been acknowledged in this very moment that
    /// must survive it: mostly one that a single replica has acknowledged.
    pub(super) fn cut_power(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        let is_due = {
            let history = cluster.shared.history.borrow();
            let last = history.last_acknowledged;
            let write = last.and_then(|id| history.writes.get(id as usize));
            write.is_some_and(|write| {
                write.acknowledged_ms() == Some(now_ms)
                    && write.ack <= self.cut_ack
                    && cluster.shared.plan.is_durable(write.place.0)
            })
        };
        if !is_due {
            return Ok(());
        }
        self.next_cut_ms = now_ms + self.cuts.random_range(1_000..=5_000);
        self.cut_ack = *pick(&mut self.cuts, &[1, 1, 3]);
        for number in 0..cluster.hosts.len() {
            let why = "a write was just acknowledged";
            self.crash(cluster, number, Crash::PowerLoss, now_ms, why)?;
        }
        Ok(())
    }

    /// Takes the power from all machines, with all that was not synced.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn black_out(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        let now_ms = cluster.now_ms();
        for number in 0..cluster.hosts.len() {
            let why = "all is dark in the end";
            self.crash(cluster, number, Crash::Blackout, now_ms, why)?;
        }
        Ok(())
    }

    /// Starts all nodes that are down.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn restart_down(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        self.end_due(cluster, u64::MAX)
    }

    /// Asks a node to stop, as an operator does.
    pub(super) fn stop(&mut self, cluster: &Cluster, now_ms: u64) {
        let number = self.host(cluster);
        if self.down_until_ms[number].is_none() && self.stopping[number].is_none() {
            let host = &cluster.hosts[number];
            cluster
                .shared
                .note(format!("{} is asked to stop", host.name));
            host.stop.notify_one();
            self.stopping[number] = Some(now_ms + 3_000);
        }
    }

    /// Holds a process for a while, with what is sent to it waiting in its sockets.
    pub(super) fn hold(&mut self, cluster: &Cluster, now_ms: u64) {
        let number = self.host(cluster);
        if self.held_until_ms[number].is_some() || self.down_until_ms[number].is_some() {
            return;
        }
        let for_ms = if self.random.random_bool(0.5) {
            self.random.random_range(50..=1_500)
        } else {
            self.random.random_range(1_500..=6_000)
        };
        cluster.hosts[number].pause.hold();
        self.held_until_ms[number] = Some(now_ms + for_ms);
        let name = &cluster.hosts[number].name;
        cluster
            .shared
            .note(format!("{name} is held for {for_ms} ms"));
    }

    /// Lets those go on that have been held for long enough.
    pub(super) fn let_go(&mut self, cluster: &Cluster, now_ms: u64) {
        for (host, held) in cluster.hosts.iter().zip(&mut self.held_until_ms) {
            if held.is_some_and(|until_ms| until_ms <= now_ms) {
                *held = None;
                host.pause.release();
                cluster.shared.note(format!("{} goes on", host.name));
            }
        }
    }
}
