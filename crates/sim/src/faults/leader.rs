//! Whoever leads the transactional keyspace is held for a while, or killed, its disk hangs or is full, its clock jumps, or
//! another does not hear it: what it had begun must not count when it goes on. And a vote is lost, if it can be: the machine that gave it loses its power in the moment
//! in which its candidate begins to lead.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Shard;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{CLOCK_OFF_MS, Faults, Network};
use crate::harness::cluster::{Cluster, Crash, HarnessError};

/// How the leader of the transactional keyspace is unseated; decided apart from all else.
pub(super) struct Unseating {
    next_ms: u64,
    random: StdRng,
    /// A leader that is held, until another begins to lead.
    watched: Option<usize>,
    /// A host that is cut off from another again once it is back.
    cut_again: Option<(usize, usize)>,
    /// A host whose clock is off until then.
    wrong_clock: Option<(usize, u64)>,
}

impl Unseating {
    pub fn new(seed: u64) -> Unseating {
        Unseating {
            next_ms: 4_000,
            random: StdRng::seed_from_u64(seed ^ 0x1ead_e400),
            watched: None,
            cut_again: None,
            wrong_clock: None,
        }
    }
}

impl Faults {
    /// Unseats the leader if it is time for it.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn unseat(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        if !cluster.shared.plan.range_faults.unseats {
            return Ok(());
        }
        if let Some((new, voter)) = self.unseating.cut_again
            && self.cut_again(cluster, voter, &[new])
        {
            self.unseating.cut_again = None;
        }
        if let Some(former) = self.unseating.watched {
            return self.watch(cluster, now_ms, former);
        }
        self.set_clock_right(cluster, now_ms);
        if now_ms < self.unseating.next_ms {
            return Ok(());
        }
        self.unseating.next_ms = now_ms + self.unseating.random.random_range(2_000..=5_000);
        let Some(number) = leader(cluster, None) else {
            return Ok(());
        };
        if self.held_until_ms[number].is_some() || self.down_until_ms[number].is_some() {
            return Ok(());
        }
        if self.unseating.random.random_bool(0.3) {
            self.crash(cluster, number, Crash::Kill, now_ms, "it leads")?;
            let away_ms = self.unseating.random.random_range(20..=3_000);
            self.down_until_ms[number] = Some(now_ms + away_ms);
            return Ok(());
        }
        if self.unseating.random.random_bool(0.25) {
            let for_ms = self.unseating.random.random_range(2_000..=8_000);
            let host = &cluster.hosts[number];
            host.hang.begin(Duration::from_millis(for_ms));
            let text = format!(
                "the disk of {}, which leads, hangs for {for_ms} ms",
                host.name
            );
            cluster.shared.note(text);
            return Ok(());
        }
        if self.break_around(cluster, number, now_ms) {
            return Ok(());
        }
        let for_ms = self.unseating.random.random_range(2_500..=5_000);
        cluster.hosts[number].pause.hold();
        self.held_until_ms[number] = Some(now_ms + for_ms);
        let name = &cluster.hosts[number].name;
        let text = format!("{name}, which leads, is held for {for_ms} ms");
        cluster.shared.note(text);
        if cluster.shared.plan.power_loss && self.unseating.random.random_bool(0.9) {
            self.unseating.watched = Some(number);
        }
        Ok(())
    }

    /// Breaks the disk, the clock or a connection of a leader, if the plan has such faults and the draw is one.
    fn break_around(&mut self, cluster: &mut Cluster, number: usize, now_ms: u64) -> bool {
        let plan = &cluster.shared.plan;
        let (bad_disks, bad_clocks) = (plan.bad_disks, plan.bad_clocks);
        let random = &mut self.unseating.random;
        let for_ms = random.random_range(1_000..=8_000);
        let kind = random.random_range(0..10);
        let name = cluster.hosts[number].name.clone();
        let text = match kind {
            0..2 if bad_disks && self.full_until_ms[number].is_none() => {
                let room = random.random_range(0..100_000);
                let disk = &cluster.hosts[number].disk;
                disk.set_capacity(Some(disk.used_bytes() + room));
                self.full_until_ms[number] = Some(now_ms + for_ms);
                format!("{name}, which leads, has {room} bytes of disk left")
            }
            2..4 if bad_clocks
                && cluster
                    .hosts
                    .iter()
                    .all(|host| host.clock.offset_ms().abs() <= CLOCK_OFF_MS) =>
            {
                let off_ms = random.random_range(15_000..=3_600_000);
                let off_ms = if random.random_bool(0.5) {
                    off_ms
                } else {
                    -off_ms
                };
                cluster.hosts[number].set_clock(off_ms);
                self.unseating.wrong_clock = Some((number, now_ms + for_ms));
                format!("the clock of {name}, which leads, is {off_ms} ms off")
            }
            4..6 if self.network.is_none() => {
                let hosts = cluster.hosts.len();
                let other = (number + random.random_range(1..hosts)) % hosts;
                let is_one_way = random.random_bool(0.5);
                if is_one_way {
                    cluster.cut_one_way(number, other);
                } else {
                    cluster.cut(number, other);
                }
                let pairs = vec![(number, other)];
                let until_ms = now_ms + for_ms;
                self.network = Some(Network { pairs, until_ms });
                let other = &cluster.hosts[other].name;
                if is_one_way {
                    format!("messages from {name}, which leads, to {other} are lost")
                } else {
                    format!("{name}, which leads, and {other} do not hear each other")
                }
            }
            _ => return false,
        };
        cluster.shared.note(text);
        true
    }

    fn set_clock_right(&mut self, cluster: &Cluster, now_ms: u64) {
        let due = self.unseating.wrong_clock;
        if let Some((number, _)) = due.filter(|(_, until_ms)| *until_ms <= now_ms) {
            self.unseating.wrong_clock = None;
            let host = &cluster.hosts[number];
            host.set_clock(0);
            cluster
                .shared
                .note(format!("the clock of {} is right", host.name));
        }
    }

    /// Waits until another leads than the one that is held. Then that one is cut off for a moment, the third, which
    /// voted for it, loses its power, and the former leader goes on.
    fn watch(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
        former: usize,
    ) -> Result<(), HarnessError> {
        if self.held_until_ms[former].is_none() {
            self.unseating.watched = None;
            return Ok(());
        }
        let Some(new) = leader(cluster, Some(former)) else {
            return Ok(());
        };
        self.unseating.watched = None;
        self.end_network(cluster);
        let others: Vec<usize> = (0..cluster.hosts.len())
            .filter(|host| *host != new)
            .collect();
        let for_ms = self.unseating.random.random_range(600..=2_500);
        let pairs = others.iter().map(|other| (new, *other)).collect();
        self.part(cluster, pairs, now_ms + for_ms);
        let name = cluster.hosts[new].name.clone();
        let text = format!("{name}, which has just begun to lead, is cut off for {for_ms} ms");
        cluster.shared.note(text);
        for voter in others.into_iter().filter(|other| *other != former) {
            if self.down_until_ms[voter].is_none() && self.held_until_ms[voter].is_none() {
                self.crash(cluster, voter, Crash::Blackout, now_ms, "it has voted")?;
                let away_ms = self.unseating.random.random_range(10..=60);
                self.down_until_ms[voter] = Some(now_ms + away_ms);
                self.unseating.cut_again = Some((new, voter));
            }
        }
        self.held_until_ms[former] = Some(now_ms);
        Ok(())
    }
}

/// A host that leads, not this one.
fn leader(cluster: &Cluster, but: Option<usize>) -> Option<usize> {
    let leads = |shard: &Rc<Shard>| {
        let ranges = shard.status().ranges;
        ranges.iter().any(|range| range.role == "leader")
    };
    let mut hosts = cluster.hosts.iter().enumerate();
    let found = hosts.find(|(number, host)| Some(*number) != but && host.live().iter().any(leads));
    found.map(|(number, _)| number)
}
