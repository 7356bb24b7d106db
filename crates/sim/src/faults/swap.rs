//! A replica that is cut off is replaced, and at once one that stays is killed: both come back without the others. A
//! leader that they elect by the former configuration does not know the writes that the new one has acknowledged.

use dunlin_metadata::Retarget;
use dunlin_proto::api::RangeStatus;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};

use super::Faults;
use crate::harness::cluster::{Cluster, Crash, HarnessError};

/// How long the replacement may take.
const SWAP_MS: u64 = 6_000;

/// Where replacements are; decided apart from all else.
pub(super) struct Swaps {
    next_ms: u64,
    random: StdRng,
    now: Option<Swap>,
    /// A host that was killed, and whom it is cut off from once it is back.
    cut_again: Option<(usize, [usize; 2])>,
}

/// A replacement under way, by numbers of hosts.
#[derive(Debug, Clone)]
struct Swap {
    keyspace: u32,
    range: u64,
    leads: usize,
    /// Stays.
    stays: usize,
    /// Is cut off, and replaced.
    goes: usize,
    comes: usize,
    /// The configuration with which the sides are parted.
    config: u64,
    until_ms: u64,
}

impl Swaps {
    pub fn new(seed: u64) -> Swaps {
        Swaps {
            next_ms: 4_000,
            random: StdRng::seed_from_u64(seed ^ 0x50a4_5300),
            now: None,
            cut_again: None,
        }
    }
}

impl Faults {
    /// Begins a replacement, or parts the sides when it has come far enough.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn swap(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        if !cluster.shared.plan.range_faults.swaps {
            return Ok(());
        }
        if let Some((host, others)) = self.ranges.swaps.cut_again
            && self.cut_again(cluster, host, &others)
        {
            self.ranges.swaps.cut_again = None;
        }
        if let Some(swap) = self.ranges.swaps.now.clone() {
            return self.go_on_swapping(cluster, now_ms, &swap);
        }
        if now_ms < self.ranges.swaps.next_ms || self.network.is_some() {
            return Ok(());
        }
        self.ranges.swaps.next_ms = now_ms + self.ranges.swaps.random.random_range(500..=3_000);
        let Some(swap) = self.choose_swap(cluster, now_ms) else {
            return Ok(());
        };
        let topology = cluster.shared.metadata.topology().borrow().clone();
        let name = |host: usize| cluster.hosts[host].name.clone();
        let wish = Retarget::Move {
            from: name(swap.goes),
            to: name(swap.comes),
            shard: None,
            instead: true,
        };
        let keyspace = topology.keyspace(swap.keyspace);
        let keyspace = keyspace.map(|keyspace| keyspace.name.clone());
        let keyspace = keyspace.unwrap_or_default();
        if !cluster.retarget(&keyspace, swap.range as u16, &wish)? {
            return Ok(());
        }
        let text = format!("of range {keyspace}/{}: {wish:?}", swap.range);
        cluster.shared.note(text);
        let others = (0..cluster.hosts.len()).filter(|host| *host != swap.goes);
        self.part(
            cluster,
            others.map(|other| (swap.goes, other)).collect(),
            swap.until_ms,
        );
        // It would learn of its replacement there, and go.
        self.deafen_until(cluster, swap.goes, swap.until_ms);
        self.ranges.swaps.now = Some(swap);
        Ok(())
    }

    fn go_on_swapping(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
        swap: &Swap,
    ) -> Result<(), HarnessError> {
        let leads = led(cluster).into_iter();
        let mut leads = leads.filter(|(row, _)| is_of(row, swap));
        let is_ready = leads.any(|(row, host)| host == swap.leads && row.config >= swap.config);
        drop(leads);
        if !is_ready && now_ms < swap.until_ms {
            return Ok(());
        }
        self.ranges.swaps.now = None;
        if !is_ready {
            return Ok(());
        }
        self.end_network(cluster);
        let for_ms = self.ranges.swaps.random.random_range(4_000..=8_000);
        let mut pairs = Vec::new();
        for new in [swap.leads, swap.comes] {
            for old in [swap.stays, swap.goes] {
                pairs.push((new, old));
            }
        }
        self.part(cluster, pairs, now_ms + for_ms);
        let names =
            |hosts: [usize; 2]| hosts.map(|host| cluster.hosts[host].name.clone()).join(" ");
        let text = format!(
            "{} and {} are parted for {for_ms} ms",
            names([swap.leads, swap.comes]),
            names([swap.stays, swap.goes])
        );
        cluster.shared.note(text);
        self.deafen_until(cluster, swap.goes, now_ms + for_ms);
        self.ranges.swaps.cut_again = Some((swap.stays, [swap.leads, swap.comes]));
        let stays = swap.stays;
        if self.down_until_ms[stays].is_none() && self.held_until_ms[stays].is_none() {
            self.crash(cluster, stays, Crash::Kill, now_ms, "its range was changed")?;
            let away_ms = self.ranges.swaps.random.random_range(10..=200);
            self.down_until_ms[stays] = Some(now_ms + away_ms);
        }
        Ok(())
    }

    fn choose_swap(&mut self, cluster: &Cluster, now_ms: u64) -> Option<Swap> {
        let all = led(cluster);
        let (row, leads) = all.choose(&mut self.ranges.swaps.random)?;
        if !row.led.whole || row.led.replicas.len() != 3 {
            return None;
        }
        let host = |at: &str| {
            let name = at.split('/').next();
            let mut hosts = cluster.hosts.iter();
            hosts.position(|host| Some(&*host.name) == name)
        };
        let replicas = row.led.replicas.iter();
        let held: Vec<usize> = replicas.filter_map(|replica| host(&replica.at)).collect();
        let mut others: Vec<usize> = held.iter().copied().filter(|h| h != leads).collect();
        others.shuffle(&mut self.ranges.swaps.random);
        let free = (0..cluster.hosts.len()).filter(|host| !held.contains(host));
        let free: Vec<usize> = free.collect();
        let is_up = |host: &usize| {
            self.down_until_ms[*host].is_none() && self.held_until_ms[*host].is_none()
        };
        let comes = *free.choose(&mut self.ranges.swaps.random)?;
        let [stays, goes] = others[..] else {
            return None;
        };
        if ![*leads, stays, goes, comes].iter().all(is_up) {
            return None;
        }
        // A target, a learner, both configurations, the new one; and then it is published.
        let steps = self.ranges.swaps.random.random_range(3..=4);
        Some(Swap {
            keyspace: row.number,
            range: row.range,
            leads: *leads,
            stays,
            goes,
            comes,
            config: row.config + steps,
            until_ms: now_ms + SWAP_MS,
        })
    }
}

fn is_of(row: &RangeStatus, swap: &Swap) -> bool {
    (row.number, row.range) == (swap.keyspace, swap.range)
}

/// Rows of leaders, with their hosts.
fn led(cluster: &Cluster) -> Vec<(RangeStatus, usize)> {
    let hosts = cluster.hosts.iter().enumerate();
    let rows = hosts.flat_map(|(number, host)| {
        let live = host.live().into_iter();
        let rows = live.flat_map(|shard| shard.status().ranges);
        rows.map(move |row| (row, number)).collect::<Vec<_>>()
    });
    rows.filter(|(row, _)| row.role == "leader").collect()
}
