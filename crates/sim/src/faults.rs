//! What goes wrong, and when: decided step by step by the seed.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::harness::cluster::{Cluster, Crash, HarnessError};
use crate::harness::host::Host;
use crate::plan::pick;
use crate::run::is_disk_fault;

/// A fault of the network that is under way.
struct Network {
    /// Pairs of hosts concerned.
    pairs: Vec<(usize, usize)>,
    until_ms: u64,
}

/// The faults of a run.
pub struct Faults {
    random: StdRng,
    next_ms: u64,
    next_change_ms: u64,
    /// Decides about the two below alone, so that no other fault depends on it.
    cuts: StdRng,
    /// From when on a write that is acknowledged is followed by a power cut.
    next_cut_ms: u64,
    /// By how many replicas at most.
    cut_ack: u8,
    /// When a node is lost for good.
    bury_ms: u64,
    network: Option<Network>,
    slow: Option<(usize, usize, u64)>,
    /// When each host starts again, for those that are down.
    down_until_ms: Vec<Option<u64>>,
    /// When each disk has room again, for those that have none.
    full_until_ms: Vec<Option<u64>>,
    /// Hosts asked to stop, with how long to wait for it.
    stopping: Vec<Option<u64>>,
}

impl Faults {
    /// The faults of a cluster's seed.
    pub fn new(cluster: &Cluster) -> Faults {
        let hosts = cluster.hosts.len();
        let seed = cluster.shared.plan.seed;
        let mut random = StdRng::seed_from_u64(seed ^ 0xfa17);
        Faults {
            bury_ms: match cluster.shared.plan.buries {
                true => random.random_range(2_000..=10_000),
                false => u64::MAX,
            },
            random,
            next_ms: 1_000,
            next_change_ms: 1_500,
            cuts: StdRng::seed_from_u64(seed ^ 0xc075),
            next_cut_ms: 2_000,
            cut_ack: 1,
            network: None,
            slow: None,
            down_until_ms: vec![None; hosts],
            full_until_ms: vec![None; hosts],
            stopping: vec![None; hosts],
        }
    }

    /// Begins and ends what is due.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn tick(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        let now_ms = cluster.now_ms();
        self.end_due(cluster, now_ms)?;
        if now_ms.is_multiple_of(100) {
            self.restart_failed(cluster, now_ms)?;
        }
        if now_ms >= self.next_ms {
            let longest = cluster.shared.plan.fault_pause_ms_max;
            self.next_ms = now_ms + self.random.random_range(50..=longest);
            self.begin(cluster, now_ms)?;
        }
        if cluster.shared.plan.moves && now_ms >= self.next_change_ms {
            self.next_change_ms = now_ms + self.random.random_range(500..=6_000);
            self.change_members(cluster)?;
        }
        if cluster.shared.plan.power_cuts && now_ms >= self.next_cut_ms {
            self.cut_power(cluster, now_ms)?;
        }
        if now_ms >= self.bury_ms {
            let number = self.host(cluster);
            self.bury_ms = u64::MAX;
            if self.down_until_ms[number].is_none() {
                self.crash(cluster, number, Crash::Kill, now_ms, "lost for good")?;
            }
            self.down_until_ms[number] = Some(u64::MAX);
            cluster.shared.buried.set(Some(number));
        }
        if now_ms.is_multiple_of(500) {
            self.bury(cluster)?;
        }
        Ok(())
    }

    /// Takes the power from all machines if a write has been acknowledged in this very moment that
    /// must survive it: mostly one that a single replica has acknowledged.
    fn cut_power(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        let is_due = {
            let history = cluster.shared.history.borrow();
            let last = history.last_acknowledged;
            let write = last.and_then(|id| history.writes.get(id as usize));
            write.is_some_and(|write| {
                matches!(write.ended, Some((_, at_ms, _)) if at_ms == now_ms)
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

    /// Has the node that is lost for good taken out of the cluster.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn bury(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        let Some(number) = cluster.shared.buried.get() else {
            return Ok(());
        };
        let nodes = cluster.hosts.len() as u16;
        let node = number as u16 + 1;
        cluster.bury(node, (1..=nodes).filter(|id| *id != node).collect())
    }

    /// Other nodes shall hold the data, or the last such wish is given up.
    fn change_members(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        if self.random.random_bool(0.1) && cluster.cancel_change()? {
            cluster
                .shared
                .note("the change of members is given up".into());
            return Ok(());
        }
        let nodes = cluster.hosts.len();
        let count = self.random.random_range(3..=nodes);
        let mut to: Vec<u16> = (1..=nodes as u16).collect();
        if let Some(buried) = cluster.shared.buried.get() {
            to.retain(|id| *id != buried as u16 + 1);
        }
        to.shuffle(&mut self.random);
        to.truncate(count);
        let text = format!("nodes {to:?} are to hold the data");
        if cluster.change_members(to)? {
            cluster.shared.note(text);
        }
        Ok(())
    }

    /// Ends all faults: the network is whole, disks have room, all nodes are up.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn heal(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        self.end_due(cluster, u64::MAX)?;
        for host in &cluster.hosts {
            host.disk.set_capacity(None);
            // What was to fail and has not yet, will not.
            host.disk.fail_sync(u64::MAX);
            host.disk.fail_write(u64::MAX);
        }
        cluster.shared.note("all faults end".into());
        Ok(())
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
            let failed = host
                .live()
                .iter()
                .any(|s| s.trouble().is_some_and(|t| t.contains("log failed")));
            if failed && self.random.random_bool(0.1) {
                let crash = self.crash_kind(cluster);
                self.crash(cluster, number, crash, now_ms, "its log failed")?;
            }
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

    /// Why a node did not start, when its disk is to blame; the operator tries again.
    fn disk_refused_start(&self, host: &Host) -> Option<String> {
        let mut failure = host.failure.borrow_mut();
        if failure.as_deref().is_some_and(is_disk_fault) {
            failure.take()
        } else {
            None
        }
    }

    fn end_due(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        if self.network.as_ref().is_some_and(|n| n.until_ms <= now_ms)
            && let Some(network) = self.network.take()
        {
            for (a, b) in network.pairs {
                // A host that lost its power stays alone until it is back.
                if self.down_until_ms[a].is_none() && self.down_until_ms[b].is_none() {
                    cluster.mend(a, b);
                }
            }
            cluster.shared.note("the network is whole".into());
        }
        if self.slow.is_some_and(|(_, _, until)| until <= now_ms)
            && let Some((a, b, _)) = self.slow.take()
        {
            cluster.slow(a, b, 10);
        }
        for number in 0..cluster.hosts.len() {
            if self.full_until_ms[number].is_some_and(|until| until <= now_ms) {
                self.full_until_ms[number] = None;
                let host = &cluster.hosts[number];
                host.disk.set_capacity(None);
                cluster.shared.note(format!("{} has room again", host.name));
            }
            if let Some(until_ms) = self.stopping[number]
                && (cluster.hosts[number].stopped.get() || until_ms <= now_ms)
            {
                self.stopping[number] = None;
                self.crash(
                    cluster,
                    number,
                    Crash::Kill,
                    cluster.now_ms(),
                    "stopped as asked",
                )?;
            }
            let is_buried = cluster.shared.buried.get() == Some(number);
            if !is_buried && self.down_until_ms[number].is_some_and(|until| until <= now_ms) {
                self.down_until_ms[number] = None;
                cluster
                    .shared
                    .note(format!("{} starts", cluster.hosts[number].name));
                cluster.restart(number);
            }
        }
        Ok(())
    }

    fn begin(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        let plan = cluster.shared.plan.clone();
        match self.random.random_range(0..100) {
            0..30 => self.break_network(cluster, now_ms),
            30..38 => self.slow_down(cluster, now_ms),
            38..62 => {
                let (number, crash) = (self.host(cluster), self.crash_kind(cluster));
                self.crash(cluster, number, crash, now_ms, "a fault")?;
            }
            62..66 => {
                let crash = self.crash_kind(cluster);
                for number in 0..cluster.hosts.len() {
                    self.crash(cluster, number, crash, now_ms, "all fail at once")?;
                }
            }
            66..72 => {
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
            72..84 if plan.bad_clocks => {
                let number = self.host(cluster);
                let by_ms = self.random.random_range(-1_000..=1_000)
                    * *pick(&mut self.random, &[1, 10, 100, 3_600]);
                let host = &cluster.hosts[number];
                host.clock.jump(by_ms);
                cluster.shared.note(format!(
                    "the clock of {} jumps by {by_ms} ms to {} ms off",
                    host.name,
                    host.clock.offset_ms()
                ));
            }
            84..100 if plan.bad_disks => self.break_disk(cluster, now_ms),
            _ => {}
        }
        Ok(())
    }

    fn break_network(&mut self, cluster: &mut Cluster, now_ms: u64) {
        if self.network.is_some() {
            return;
        }
        let hosts = cluster.hosts.len();
        let until_ms = now_ms + self.random.random_range(200..=8_000);
        let mut pairs = Vec::new();
        let kind = self.random.random_range(0..10);
        if kind < 5 {
            // Two sides, each with at least one host.
            let side = self.random.random_range(1..(1u32 << hosts) - 1);
            for a in 0..hosts {
                for b in a + 1..hosts {
                    if (side >> a ^ side >> b) & 1 == 1 {
                        cluster.cut(a, b);
                        pairs.push((a, b));
                    }
                }
            }
            let names: Vec<&str> = (0..hosts)
                .filter(|h| side >> h & 1 == 1)
                .map(|h| &*cluster.hosts[h].name)
                .collect();
            let text = format!("{} cut off from the others", names.join(" "));
            cluster.shared.note(text);
        } else {
            let a = self.host(cluster);
            let b = (a + self.random.random_range(1..hosts)) % hosts;
            let what = if kind < 8 {
                cluster.cut_one_way(a, b);
                "lost"
            } else {
                cluster.hold(a, b);
                "held back"
            };
            pairs.push((a, b));
            cluster.shared.note(format!(
                "messages from {} to {} are {what}",
                cluster.hosts[a].name, cluster.hosts[b].name
            ));
        }
        self.network = Some(Network { pairs, until_ms });
    }

    fn slow_down(&mut self, cluster: &mut Cluster, now_ms: u64) {
        if self.slow.is_some() {
            return;
        }
        let a = self.host(cluster);
        let b = (a + self.random.random_range(1..cluster.hosts.len())) % cluster.hosts.len();
        let latency_ms = *pick(&mut self.random, &[100, 700, 2_500]);
        cluster.slow(a, b, latency_ms);
        self.slow = Some((a, b, now_ms + self.random.random_range(500..=6_000)));
        cluster.shared.note(format!(
            "messages between {} and {} take up to {latency_ms} ms",
            cluster.hosts[a].name, cluster.hosts[b].name
        ));
    }

    fn break_disk(&mut self, cluster: &mut Cluster, now_ms: u64) {
        let number = self.host(cluster);
        let host = cluster.hosts[number].clone();
        let after = self.random.random_range(0..4);
        match self.random.random_range(0..3) {
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

    fn crash(
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
        self.stopping[number] = None;
        // Mostly back soon; sometimes away for long enough to need a backfill.
        let away_ms = match self.random.random_bool(0.8) {
            true => self.random.random_range(50..=3_000),
            false => self.random.random_range(3_000..=10_000),
        };
        self.down_until_ms[number] = Some(now_ms + away_ms);
        Ok(())
    }

    fn host(&mut self, cluster: &Cluster) -> usize {
        self.random.random_range(0..cluster.hosts.len())
    }

    fn crash_kind(&mut self, cluster: &Cluster) -> Crash {
        if cluster.shared.plan.power_loss && self.random.random_bool(0.7) {
            Crash::PowerLoss
        } else {
            Crash::Kill
        }
    }
}
