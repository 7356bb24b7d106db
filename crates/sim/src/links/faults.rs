//! Faults between clusters and in them.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::plan::{Forgets, LATE_MS, LinkPlan, NODES};
use crate::harness::cluster::{Cluster, Crash, HarnessError};

/// From when on a line is cut for longer than deletes are remembered, in milliseconds, and for how long.
const CUT_AT_MS: u64 = 4_000;
const CUT_MS: u64 = 65_000;
/// After a disk was lost, a cluster has no other fault for so long.
const RECOVERY_MS: u64 = 12_000;

/// How long a host stands alone, in milliseconds: for some attempts at a batch.
const ALONE_MS: u64 = 9_000;

/// A fault of the network.
struct Cut {
    pairs: Vec<(usize, usize)>,
    until_ms: u64,
}

/// The faults of a run. Times are since all links were made.
pub struct LinkFaults {
    random: StdRng,
    plan: LinkPlan,
    next_ms: u64,
    cuts: Vec<Cut>,
    /// When each host starts again.
    down_until_ms: Vec<Option<u64>>,
    /// Until when a cluster that has lost a disk is left alone.
    spared_until_ms: Vec<u64>,
    has_lost: Vec<bool>,
    is_cut_long: bool,
    /// A host that only other clusters reach, and when it loses its disk.
    alone: Option<(usize, u64)>,
}

impl LinkFaults {
    pub fn new(plan: &LinkPlan) -> LinkFaults {
        let mut random = StdRng::seed_from_u64(plan.seed ^ 0x11d4_fa17);
        LinkFaults {
            next_ms: random.random_range(200..=plan.fault_pause_ms_max),
            random,
            cuts: Vec::new(),
            down_until_ms: vec![None; plan.clusters * NODES],
            spared_until_ms: vec![0; plan.clusters],
            has_lost: vec![false; plan.clusters],
            is_cut_long: false,
            alone: None,
            plan: plan.clone(),
        }
    }

    /// Begins and ends faults.
    pub fn tick(&mut self, cluster: &mut Cluster, since_ms: u64) -> Result<(), HarnessError> {
        if let Some((host, until_ms)) = self.alone.filter(|(_, until_ms)| *until_ms <= since_ms) {
            self.alone = None;
            self.lose_disk(cluster, host, until_ms)?;
        }
        self.end_due(cluster, since_ms);
        match self.plan.forgets {
            Forgets::WhileCut if !self.is_cut_long && since_ms >= CUT_AT_MS => {
                self.is_cut_long = true;
                let pairs = between(0, 1);
                self.cut(
                    cluster,
                    pairs,
                    since_ms + CUT_MS,
                    "the line is cut for long",
                );
            }
            Forgets::BeforeLoss => {
                let lost_ms = self.plan.lost_ms();
                if since_ms + LATE_MS >= lost_ms && !self.is_cut_long {
                    // So that the stream has something to send when the disk is lost.
                    self.is_cut_long = true;
                    let pairs = between(0, 1);
                    self.cut(cluster, pairs, lost_ms + RECOVERY_MS / 2, "the line is cut");
                }
                if since_ms >= lost_ms && !self.has_lost[0] {
                    let host = self.random.random_range(0..NODES);
                    self.lose_disk(cluster, host, since_ms)?;
                }
            }
            _ => {}
        }
        // Where deletes are forgotten, hosts stay up to report that all is there.
        let is_busy = since_ms < self.plan.work_ms || self.plan.forgets == Forgets::Never;
        if since_ms >= self.next_ms && is_busy {
            let longest = self.plan.fault_pause_ms_max;
            self.next_ms = since_ms + self.random.random_range(200..=longest);
            self.begin(cluster, since_ms)?;
        }
        Ok(())
    }

    fn begin(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        let group = self.random.random_range(0..self.plan.clusters);
        let is_spared = self.spared_until_ms[group] > now_ms;
        let node = group * NODES + self.random.random_range(0..NODES);
        let until_ms = now_ms + self.random.random_range(500..=5_000);
        match self.random.random_range(0..100) {
            0..25 => {
                let other = self.random.random_range(0..self.plan.clusters);
                if other != group {
                    self.cut(cluster, between(group, other), until_ms, "a line is cut");
                }
            }
            25..35 => {
                let other = self.random.random_range(0..self.plan.clusters);
                if other != group {
                    for (a, b) in between(group, other) {
                        cluster.cut_one_way(a, b);
                    }
                    self.note(cluster, format!("what {group} sends to {other} is lost"));
                    let pairs = between(group, other);
                    self.cuts.push(Cut { pairs, until_ms });
                }
            }
            35..45 => {
                let other = self.random.random_range(0..self.plan.clusters);
                if other != group {
                    for (a, b) in between(group, other) {
                        cluster.hold(a, b);
                    }
                    self.note(cluster, format!("what {group} and {other} send is held"));
                    let pairs = between(group, other);
                    self.cuts.push(Cut { pairs, until_ms });
                }
            }
            45..60 if !is_spared && self.is_whole(group) => {
                let pairs = peers(group, node);
                self.cut(
                    cluster,
                    pairs,
                    until_ms,
                    "a host is cut off from its own cluster",
                );
            }
            60..85 if !is_spared => self.crash(cluster, node, until_ms)?,
            85..90 if !is_spared => {
                for node in 0..NODES {
                    self.crash(cluster, group * NODES + node, until_ms)?;
                }
            }
            90..95 if self.may_lose(group) => self.lose_disk(cluster, node, now_ms)?,
            95..100 if self.may_lose(group) && self.alone.is_none() => {
                self.stand_alone(cluster, node, now_ms);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether all hosts of a cluster are up and hear one another.
    fn is_whole(&self, group: usize) -> bool {
        let of_group = |host: usize| host / NODES == group;
        let mut hosts = (0..self.down_until_ms.len()).filter(|host| of_group(*host));
        hosts.all(|host| self.down_until_ms[host].is_none())
            && !self
                .cuts
                .iter()
                .flat_map(|cut| &cut.pairs)
                .any(|(a, b)| of_group(*a) && of_group(*b))
    }

    fn may_lose(&self, group: usize) -> bool {
        !self.has_lost[group] && self.plan.forgets == Forgets::Never && self.is_whole(group)
    }

    /// Only other clusters reach a host, which is to lose its disk: nothing that it acknowledges alone counts.
    fn stand_alone(&mut self, cluster: &mut Cluster, host: usize, now_ms: u64) {
        let group = host / NODES;
        let others = (0..cluster.hosts.len()).filter(|other| other / NODES != group);
        let mut pairs = peers(group, host);
        for peer in peers(group, host).iter().map(|(_, peer)| *peer) {
            pairs.extend(others.clone().map(|other| (peer, other)));
        }
        let until_ms = now_ms + ALONE_MS;
        // Nothing else happens to its cluster meanwhile.
        self.spared_until_ms[group] = until_ms;
        self.has_lost[group] = true;
        self.alone = Some((host, until_ms));
        self.cut(cluster, pairs, until_ms, "a host stands alone");
    }

    /// A host loses its disk. What others have acknowledged with it, they have.
    fn lose_disk(
        &mut self,
        cluster: &mut Cluster,
        host: usize,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        let group = host / NODES;
        self.has_lost[group] = true;
        self.spared_until_ms[group] = now_ms + RECOVERY_MS;
        let name = cluster.hosts[host].name.clone();
        self.note(cluster, format!("{name} loses its disk"));
        cluster.crash(host, Crash::Kill)?;
        cluster.hosts[host].wipe_directory()?;
        self.down_until_ms[host] = Some(now_ms + 500);
        Ok(())
    }

    fn crash(
        &mut self,
        cluster: &mut Cluster,
        host: usize,
        until_ms: u64,
    ) -> Result<(), HarnessError> {
        if self.down_until_ms[host].is_some() {
            return Ok(());
        }
        let crash = if self.plan.power_loss && self.random.random_bool(0.5) {
            Crash::PowerLoss
        } else {
            Crash::Kill
        };
        let name = cluster.hosts[host].name.clone();
        self.note(cluster, format!("{name} ends: {crash:?}"));
        cluster.crash(host, crash)?;
        self.down_until_ms[host] = Some(until_ms);
        Ok(())
    }

    fn cut(
        &mut self,
        cluster: &mut Cluster,
        pairs: Vec<(usize, usize)>,
        until_ms: u64,
        what: &str,
    ) {
        for (a, b) in &pairs {
            cluster.cut(*a, *b);
        }
        self.note(cluster, format!("{what}: {pairs:?}"));
        self.cuts.push(Cut { pairs, until_ms });
    }

    fn note(&self, cluster: &Cluster, text: String) {
        cluster.shared.note(text);
    }

    fn end_due(&mut self, cluster: &mut Cluster, now_ms: u64) {
        let mut ended = Vec::new();
        self.cuts.retain(|cut| {
            let lasts = cut.until_ms > now_ms;
            if !lasts {
                ended.extend(cut.pairs.clone());
            }
            lasts
        });
        for (a, b) in ended {
            cluster.mend(a, b);
        }
        let mut has_started = false;
        for host in 0..self.down_until_ms.len() {
            if self.down_until_ms[host].is_some_and(|until| until <= now_ms) {
                self.down_until_ms[host] = None;
                let name = cluster.hosts[host].name.clone();
                self.note(cluster, format!("{name} starts"));
                cluster.restart(host);
                has_started = true;
            }
        }
        // A start lets a host talk to all others.
        let lasting = self.cuts.iter().filter(|_| has_started);
        for (a, b) in lasting.flat_map(|cut| cut.pairs.clone()) {
            cluster.cut(a, b);
        }
    }

    /// Ends all faults.
    pub fn heal(&mut self, cluster: &mut Cluster) {
        self.end_due(cluster, u64::MAX);
        self.note(cluster, "all faults end".to_owned());
    }
}

/// All pairs of hosts of two clusters.
fn between(a: usize, b: usize) -> Vec<(usize, usize)> {
    let nodes = 0..NODES;
    let pairs = nodes.flat_map(|x| (0..NODES).map(move |y| (a * NODES + x, b * NODES + y)));
    pairs.collect()
}

/// A host with each other of its cluster.
fn peers(group: usize, host: usize) -> Vec<(usize, usize)> {
    let all = (0..NODES).map(|node| group * NODES + node);
    all.filter(|other| *other != host)
        .map(|other| (host, other))
        .collect()
}
