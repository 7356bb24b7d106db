//! What goes wrong, and when: decided step by step by the seed.

mod disk;
mod drops;
mod leader;
mod loss;
mod members;
mod metadata;
mod network;
mod process;
mod relapse;
mod swap;
mod targets;
mod twins;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::checks;
use crate::harness::cluster::{Cluster, Crash, HarnessError};
use crate::harness::host::Phase;
use crate::history::Loss;

/// How far off clocks may be that nodes put up with, in milliseconds.
const CLOCK_OFF_MS: i64 = 10_000;
const YEARS_70_MS: i64 = 70 * 365 * 86_400_000;

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
    /// When a process is killed, where that happens often; decided apart as well.
    next_restart_ms: u64,
    restarts: StdRng,
    unseating: leader::Unseating,
    /// When a node is lost for good.
    bury_ms: u64,
    /// The one that is to be, and hears nobody already.
    dying: Option<usize>,
    network: Option<Network>,
    slow: Option<(usize, usize, u64)>,
    /// When each host starts again, for those that are down.
    down_until_ms: Vec<Option<u64>>,
    /// When each disk has room again, for those that have none.
    full_until_ms: Vec<Option<u64>>,
    /// Hosts asked to stop, with how long to wait for it.
    stopping: Vec<Option<u64>>,
    /// When each host goes on, for those that are held.
    held_until_ms: Vec<Option<u64>>,
    store: metadata::StoreFaults,
    losses: loss::Losses,
    twins: twins::Twins,
    relapse: relapse::Relapse,
    ranges: OfRanges,
}

/// Faults of transactional keyspaces.
struct OfRanges {
    drops: drops::Drops,
    targets: targets::Targets,
    swaps: swap::Swaps,
}

impl Faults {
    /// The faults of a cluster's seed.
    pub fn new(cluster: &Cluster) -> Faults {
        let hosts = cluster.hosts.len();
        let seed = cluster.shared.plan.seed;
        let mut random = StdRng::seed_from_u64(seed ^ 0xfa17);
        Faults {
            bury_ms: match cluster.shared.plan.buries {
                true if cluster.shared.plan.buries_late => cluster.shared.plan.chaos_ms - 1_500,
                true => random.random_range(2_000..=10_000),
                false => u64::MAX,
            },
            random,
            next_ms: 1_000,
            next_change_ms: 1_500,
            cuts: StdRng::seed_from_u64(seed ^ 0xc075),
            next_cut_ms: 2_000,
            cut_ack: 1,
            next_restart_ms: 1_500,
            restarts: StdRng::seed_from_u64(seed ^ 0x5ea1),
            unseating: leader::Unseating::new(seed),
            dying: None,
            network: None,
            slow: None,
            down_until_ms: vec![None; hosts],
            full_until_ms: vec![None; hosts],
            stopping: vec![None; hosts],
            held_until_ms: vec![None; hosts],
            store: metadata::StoreFaults::new(hosts),
            losses: loss::Losses::new(hosts),
            twins: twins::Twins::new(seed),
            relapse: relapse::Relapse::new(seed),
            ranges: OfRanges {
                drops: drops::Drops::new(seed),
                targets: targets::Targets::new(seed),
                swaps: swap::Swaps::new(seed),
            },
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
        self.go_on_relapsing(cluster, now_ms)?;
        self.unseat(cluster, now_ms)?;
        self.drop_keyspaces(cluster, now_ms)?;
        self.retarget(cluster, now_ms)?;
        self.swap(cluster, now_ms)?;
        if now_ms >= self.next_ms && !self.relapse.is_under_way() {
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
        if cluster.shared.plan.restarts && now_ms >= self.next_restart_ms {
            self.restart_one(cluster, now_ms)?;
        }
        self.lose_disk(cluster, now_ms)?;
        self.start_twin(cluster, now_ms)?;
        let may_bury = self.losses.is_nothing_lacking()
            && !self.twins.are_there()
            && (now_ms < self.bury_ms || checks::whole(cluster).is_ok());
        let is_late = cluster.shared.plan.buries_late && self.dying.is_none();
        if now_ms >= self.bury_ms && may_bury && is_late {
            self.end_network(cluster);
            self.isolate(cluster, now_ms);
        } else if now_ms >= self.bury_ms && may_bury {
            let number = self.dying.unwrap_or_else(|| self.host(cluster));
            self.bury_ms = u64::MAX;
            if self.down_until_ms[number].is_none() {
                self.crash(cluster, number, Crash::Kill, now_ms, "lost for good")?;
            }
            if self.dying.is_some() {
                // Nothing hides what goes with it.
                cluster.shared.phase.set(Phase::Quiet);
            }
            self.down_until_ms[number] = Some(u64::MAX);
            cluster.shared.buried.set(Some(number));
            let mut history = cluster.shared.history.borrow_mut();
            history.lose(now_ms, number, Loss::Disk);
        }
        if now_ms.is_multiple_of(500) {
            self.bury(cluster)?;
        }
        Ok(())
    }

    /// Ends all faults: the network is whole, disks have room, all nodes are up.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub fn heal(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        self.replace_rotten(cluster, u64::MAX)?;
        self.end_due(cluster, u64::MAX)?;
        self.undrop_keyspaces(cluster)?;
        for host in &cluster.hosts {
            if host.clock.offset_ms().abs() > CLOCK_OFF_MS {
                host.set_clock(0);
            }
            host.disk.set_capacity(None);
            // What was to fail and has not yet, will not.
            host.disk.fail_sync(u64::MAX);
            host.disk.fail_write(u64::MAX);
        }
        cluster.shared.note("all faults end".into());
        Ok(())
    }

    fn end_due(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        if self.network.as_ref().is_some_and(|n| n.until_ms <= now_ms) {
            self.end_network(cluster);
        }
        if self.slow.is_some_and(|(_, _, until)| until <= now_ms)
            && let Some((a, b, _)) = self.slow.take()
        {
            cluster.slow(a, b, 10);
        }
        self.let_go(cluster, now_ms);
        self.end_twin(cluster, now_ms)?;
        if now_ms == u64::MAX {
            self.end_relapse(cluster)?;
        }
        self.mend_metadata(cluster, now_ms);
        for number in 0..cluster.hosts.len() {
            if self.full_until_ms[number].is_some_and(|until| until <= now_ms) {
                self.full_until_ms[number] = None;
                let host = &cluster.hosts[number];
                host.disk.set_capacity(None);
                host.disk.run_out_of_descriptors(false);
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
            0..6 if plan.bad_metadata && !self.twins.are_there() => {
                self.break_metadata(cluster, now_ms)
            }
            0..24 => self.break_network(cluster, now_ms),
            24..31 => self.slow_down(cluster, now_ms),
            31..50 => {
                let (number, crash) = (self.host(cluster), self.crash_kind(cluster));
                self.crash(cluster, number, crash, now_ms, "a fault")?;
            }
            50..54 => {
                let crash = self.crash_kind(cluster);
                for number in 0..cluster.hosts.len() {
                    self.crash(cluster, number, crash, now_ms, "all fail at once")?;
                }
            }
            54..60 => self.stop(cluster, now_ms),
            60..72 if plan.pauses && !self.twins.are_there() => self.hold(cluster, now_ms),
            72..84 if plan.bad_clocks => self.jump(cluster),
            84..100 if plan.bad_disks => self.break_disk(cluster, now_ms),
            _ => {}
        }
        Ok(())
    }

    /// A clock jumps: mostly to within what nodes put up with, sometimes far away, one at a time.
    fn jump(&mut self, cluster: &Cluster) {
        let number = self.host(cluster);
        let is_far = |offset_ms: i64| offset_ms.abs() > CLOCK_OFF_MS;
        let others = cluster.hosts.iter().filter(|host| host.number() != number);
        let may_be_far = !others
            .into_iter()
            .any(|host| is_far(host.clock.offset_ms()));
        let offset_ms = match self.random.random_range(0..10) {
            0 if may_be_far => YEARS_70_MS,
            1..3 if may_be_far => self.random.random_range(-3_600_000..=3_600_000),
            3..6 => self.random.random_range(-CLOCK_OFF_MS..=CLOCK_OFF_MS),
            _ => self.random.random_range(-500..=500),
        };
        let host = &cluster.hosts[number];
        host.set_clock(offset_ms);
        cluster
            .shared
            .note(format!("the clock of {} is {offset_ms} ms off", host.name));
    }

    fn host(&mut self, cluster: &Cluster) -> usize {
        self.random.random_range(0..cluster.hosts.len())
    }

    /// Nothing is wrong that would be in the way.
    fn is_all_well(&self, cluster: &Cluster) -> bool {
        let all_none = |times: &[Option<u64>]| times.iter().all(Option::is_none);
        self.network.is_none()
            && self.slow.is_none()
            && all_none(&self.down_until_ms)
            && all_none(&self.held_until_ms)
            && all_none(&self.stopping)
            && all_none(&self.full_until_ms)
            && self.store.is_sound()
            && self.may_lose(cluster)
    }
}
