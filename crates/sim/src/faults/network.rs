//! Faults of the network: sides that do not hear one another, lost and held messages, slowness.

use rand::Rng;

use super::{Faults, Network};
use crate::harness::cluster::Cluster;
use crate::plan::pick;

impl Faults {
    pub(super) fn break_network(&mut self, cluster: &mut Cluster, now_ms: u64) {
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
            let mut text = format!("{} cut off from the others", names.join(" "));
            // Clients may be on one of the sides, or reach both.
            let clients = cluster.hosts.len();
            let kept = self.random.random_range(0..3);
            if kept < 2 {
                for host in (0..hosts).filter(|host| side >> host & 1 == kept) {
                    cluster.cut(host, clients);
                    pairs.push((host, clients));
                }
                text += if kept == 1 {
                    ", and from clients"
                } else {
                    ", which have no clients"
                };
            }
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

    /// Hosts do not hear one another until then.
    pub(super) fn part(
        &mut self,
        cluster: &mut Cluster,
        pairs: Vec<(usize, usize)>,
        until_ms: u64,
    ) {
        for (a, b) in &pairs {
            cluster.cut(*a, *b);
        }
        self.network = Some(Network { pairs, until_ms });
    }

    /// Cuts a host that was down off from others again, if the network is broken still; whether it is back.
    pub(super) fn cut_again(&self, cluster: &mut Cluster, host: usize, others: &[usize]) -> bool {
        let is_back = self.down_until_ms[host].is_none();
        if is_back && self.network.is_some() {
            others.iter().for_each(|other| cluster.cut(host, *other));
        }
        is_back
    }

    /// What is broken of the network is whole again.
    pub(super) fn end_network(&mut self, cluster: &mut Cluster) {
        let Some(network) = self.network.take() else {
            return;
        };
        for (a, b) in network.pairs {
            // A host that lost its power stays alone until it is back.
            let is_down = |host: usize| self.down_until_ms.get(host).is_some_and(Option::is_some);
            if !is_down(a) && !is_down(b) {
                cluster.mend(a, b);
            }
        }
        cluster.shared.note("the network is whole".into());
    }

    /// One that is to be lost for good hears nobody but its clients from now on.
    pub(super) fn isolate(&mut self, cluster: &mut Cluster, now_ms: u64) {
        let members = cluster
            .shared
            .metadata
            .topology()
            .borrow()
            .members
            .ids
            .clone();
        let holds = |host: &usize| {
            let is_up = self.down_until_ms.get(*host).is_some_and(Option::is_none);
            is_up
                && members.contains(&(*host as u16 + 1))
                && !cluster.hosts[*host].live().is_empty()
        };
        let holding: Vec<usize> = (0..cluster.shared.plan.nodes).filter(holds).collect();
        if holding.is_empty() {
            return;
        }
        let dying = *pick(&mut self.random, &holding);
        self.dying = Some(dying);
        self.bury_ms = now_ms + 1_000;
        let others = (0..cluster.hosts.len()).filter(|other| *other != dying);
        let pairs = others.map(|other| (dying.min(other), dying.max(other)));
        self.part(cluster, pairs.collect(), u64::MAX);
        let name = &cluster.hosts[dying].name;
        let text = format!("{name} is cut off from the others, and will be lost");
        cluster.shared.note(text);
    }

    pub(super) fn slow_down(&mut self, cluster: &mut Cluster, now_ms: u64) {
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
}
