//! Disks that are lost, put back as they were before, or rot: one at a time, and the next only when
//! the others have given back what was lost. More would take what is acknowledged by two.

use rand::Rng;

use super::Faults;
use crate::checks;
use crate::harness::cluster::{Cluster, Crash, HarnessError};
use crate::harness::directory::DirectoryCopy;
use crate::history::Loss;

/// A host must have been up for so long before it is believed that it lacks nothing.
const UP_MS_MIN: u64 = 1_000;

/// What hosts have lost, and what may be put back.
pub(super) struct Losses {
    /// When the next disk goes.
    next_ms: u64,
    /// Hosts that may lack something, each with when it was last seen to lack it.
    lacking: Vec<Option<u64>>,
    /// A table of this host has rotted, and when its operator finds out.
    pub(super) rotten: Option<(usize, u64)>,
    /// A copy of a host's directory.
    copy: Option<(usize, DirectoryCopy)>,
}

impl Losses {
    pub(super) fn new(hosts: usize) -> Losses {
        Losses {
            next_ms: 2_500,
            lacking: vec![None; hosts],
            rotten: None,
            copy: None,
        }
    }

    /// Whether every host has all it should.
    pub(super) fn is_nothing_lacking(&self) -> bool {
        self.rotten.is_none() && self.lacking.iter().all(Option::is_none)
    }

    /// A host has lost something.
    pub(super) fn lost(&mut self, number: usize, now_ms: u64) {
        self.lacking[number] = Some(now_ms);
    }
}

impl Faults {
    /// Takes a disk if it is time for it and nothing else is lacking.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn lose_disk(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        if now_ms.is_multiple_of(100) {
            self.see_what_lacks(cluster, now_ms);
        }
        self.replace_rotten(cluster, now_ms)?;
        let plan = &cluster.shared.plan;
        if !plan.loses_disks
            || self.twins.are_there()
            || now_ms < self.losses.next_ms
            || !self.may_lose(cluster)
        {
            return Ok(());
        }
        self.losses.next_ms = now_ms + self.random.random_range(1_500..=8_000);
        let number = self.host(cluster);
        let crash = self.crash_kind(cluster);
        match self.random.random_range(0..10) {
            0..3 => {
                self.crash(
                    cluster,
                    number,
                    crash,
                    now_ms,
                    "for a copy of its directory",
                )?;
                self.losses.copy = Some((number, cluster.hosts[number].copy_directory()?));
            }
            3..6 => {
                let Some((number, copy)) = self.losses.copy.take() else {
                    return Ok(());
                };
                if cluster.hosts[number].machine != copy.machine {
                    // The node has moved to another machine since.
                    return Ok(());
                }
                self.crash(
                    cluster,
                    number,
                    crash,
                    now_ms,
                    "its directory is an old copy",
                )?;
                cluster.hosts[number].put_back_directory(&copy)?;
                self.losses.copy = Some((number, copy));
                self.lack(cluster, number, now_ms);
            }
            6..9 => {
                self.crash(cluster, number, crash, now_ms, "its disk is lost")?;
                cluster.hosts[number].wipe_directory()?;
                self.lack(cluster, number, now_ms);
            }
            _ => {
                self.crash(
                    cluster,
                    number,
                    Crash::Kill,
                    now_ms,
                    "a byte of its disk changes",
                )?;
                if cluster.hosts[number].rot(self.random.random())? {
                    let until_ms = now_ms + self.random.random_range(3_000..=6_000);
                    self.losses.rotten = Some((number, until_ms));
                    self.lack(cluster, number, now_ms);
                }
            }
        }
        Ok(())
    }

    pub(super) fn lack(&mut self, cluster: &Cluster, number: usize, now_ms: u64) {
        self.losses.lost(number, now_ms);
        let mut history = cluster.shared.history.borrow_mut();
        history.lose(now_ms, number, Loss::Disk);
    }

    /// Whether the others have all that any could lose.
    pub(super) fn may_lose(&self, cluster: &Cluster) -> bool {
        let topology = cluster.shared.metadata.topology().borrow().clone();
        let buried = cluster.shared.buried.get();
        let is_whole = |number: usize| {
            let host = &cluster.hosts[number];
            let live = host.live();
            live.len() == cluster.shared.plan.shards as usize
                && !live.iter().any(|shard| shard.status().refilling)
                && self.losses.lacking[number].is_none()
        };
        let is_gone =
            |number: usize| buried == Some(number) && topology.node(number as u16 + 1).is_none();
        !self.store.is_lost()
            && self.losses.rotten.is_none()
            && (buried.is_none() || topology.members.change.is_none())
            && (0..cluster.hosts.len()).all(|number| is_gone(number) || is_whole(number))
            && checks::whole(cluster).is_ok()
    }

    /// Notes who has been given back what it had lost.
    fn see_what_lacks(&mut self, cluster: &Cluster, now_ms: u64) {
        for (number, host) in cluster.hosts.iter().enumerate() {
            let Some(since_ms) = self.losses.lacking[number] else {
                continue;
            };
            let live = host.live();
            let is_up = live.len() == cluster.shared.plan.shards as usize;
            let is_rotten = self
                .losses
                .rotten
                .is_some_and(|(rotten, _)| rotten == number);
            if !is_up || is_rotten || live.iter().any(|shard| shard.status().refilling) {
                self.losses.lacking[number] = Some(now_ms);
            } else if now_ms >= since_ms + UP_MS_MIN {
                self.losses.lacking[number] = None;
                cluster
                    .shared
                    .note(format!("{} lacks nothing any more", host.name));
                let mut history = cluster.shared.history.borrow_mut();
                history.lose(now_ms, number, Loss::Refilled);
            }
        }
    }

    /// An operator who sees that a table is damaged gives the node an empty disk.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn replace_rotten(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        let Some((number, until_ms)) = self.losses.rotten else {
            return Ok(());
        };
        let refuses = cluster.hosts[number].failure.borrow_mut().take();
        if now_ms < until_ms && refuses.is_none() {
            return Ok(());
        }
        self.losses.rotten = None;
        self.down_until_ms[number] = None;
        let now_ms = cluster.now_ms();
        self.crash(cluster, number, Crash::Kill, now_ms, "its disk is replaced")?;
        cluster.hosts[number].wipe_directory()?;
        // With what it has acknowledged since the byte changed.
        self.lack(cluster, number, now_ms);
        Ok(())
    }
}
