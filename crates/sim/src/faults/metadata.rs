//! Faults of the metadata store, and of the way to it: for each node apart.

use dunlin_metadata::sim::Copy;
use rand::Rng;

use super::Faults;
use crate::harness::cluster::Cluster;
use crate::plan::pick;

/// What is wrong with the metadata store at present.
#[derive(Default)]
pub(super) struct StoreFaults {
    /// When each node reaches it again.
    cut_until_ms: Vec<Option<u64>>,
    /// When each node hears of changes at once again.
    late_until_ms: Vec<Option<u64>>,
    /// How it was before it lost its memory, and when that is put back.
    lost: Option<(Copy, u64)>,
    /// An old copy of it.
    old: Option<Copy>,
}

impl StoreFaults {
    pub(super) fn new(hosts: usize) -> StoreFaults {
        StoreFaults {
            cut_until_ms: vec![None; hosts],
            late_until_ms: vec![None; hosts],
            ..StoreFaults::default()
        }
    }

    /// Whether the store has lost its memory.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Whether every node hears at once of what changes.
    pub(super) fn is_sound(&self) -> bool {
        self.lost.is_none()
            && self.cut_until_ms.iter().all(Option::is_none)
            && self.late_until_ms.iter().all(Option::is_none)
    }
}

impl Faults {
    /// Something goes wrong with the metadata store, or with a node's way to it.
    pub(super) fn break_metadata(&mut self, cluster: &Cluster, now_ms: u64) {
        let store = &cluster.shared.store;
        let number = self.host(cluster);
        let name = cluster.hosts[number].name.clone();
        let until_ms = now_ms + self.random.random_range(300..=8_000);
        match self.random.random_range(0..10) {
            0..3 => {
                store.cut(&name, true);
                self.store.cut_until_ms[number] = Some(until_ms);
                cluster
                    .shared
                    .note(format!("{name} is cut off from the metadata store"));
            }
            3..5 => {
                let steps = *pick(&mut self.random, &[20, 200, 1_500]);
                store.delay(&name, steps);
                self.store.late_until_ms[number] = Some(until_ms);
                cluster
                    .shared
                    .note(format!("{name} hears late of the metadata store"));
            }
            5..6 => self.store.old = Some(store.save()),
            _ if self.store.lost.is_some() => {}
            // A node that believed it would be lost to the cluster: putting the store back does not
            // help it.
            6..8 => {
                if !self.all_know(cluster, 0) {
                    return;
                }
                self.store.lost = Some((store.save(), until_ms));
                store.wipe();
                store.write_foreign(self.random.random_range(0..100));
                cluster.shared.note("the metadata store is wiped".into());
            }
            _ => {
                let Some(old) = self.store.old.clone() else {
                    return;
                };
                if !self.all_know(cluster, old.revision()) {
                    return;
                }
                self.store.lost = Some((store.save(), until_ms));
                store.put_back(&old);
                cluster
                    .shared
                    .note("the metadata store is an old copy".into());
            }
        }
    }

    /// A node hears nothing of the metadata store for longer than most changes of the members take.
    pub(super) fn deafen(&mut self, cluster: &Cluster, number: usize) {
        let until_ms = cluster.now_ms() + self.random.random_range(4_000..=12_000);
        self.deafen_until(cluster, number, until_ms);
    }

    /// The same until then.
    pub(super) fn deafen_until(&mut self, cluster: &Cluster, number: usize, until_ms: u64) {
        let name = &cluster.hosts[number].name;
        cluster.shared.store.cut(name, true);
        self.store.cut_until_ms[number] = Some(until_ms);
        let text = format!("{name} is cut off from the metadata store while replicas change");
        cluster.shared.note(text);
    }

    /// Whether every node remembers more of the store than it had at a revision.
    fn all_know(&self, cluster: &Cluster, revision: u64) -> bool {
        let store = &cluster.shared.store;
        let buried = cluster.shared.buried.get();
        self.losses.rotten.is_none()
            && cluster.hosts.iter().all(|host| {
                let known = store.cached(&host.name);
                buried == Some(host.number()) || known.is_some_and(|t| t.revision > revision)
            })
    }

    /// Ends what has gone on for long enough: an operator puts the store back.
    pub(super) fn mend_metadata(&mut self, cluster: &Cluster, now_ms: u64) {
        let store = &cluster.shared.store;
        for (number, host) in cluster.hosts.iter().enumerate() {
            if self.store.cut_until_ms[number].is_some_and(|until| until <= now_ms) {
                self.store.cut_until_ms[number] = None;
                store.cut(&host.name, false);
                cluster
                    .shared
                    .note(format!("{} reaches the metadata store", host.name));
            }
            if self.store.late_until_ms[number].is_some_and(|until| until <= now_ms) {
                self.store.late_until_ms[number] = None;
                store.delay(&host.name, 0);
            }
        }
        if let Some((copy, until_ms)) = self.store.lost.take() {
            if until_ms <= now_ms {
                store.put_back(&copy);
                cluster.shared.note("the metadata store is put back".into());
            } else {
                self.store.lost = Some((copy, until_ms));
            }
        }
    }
}
