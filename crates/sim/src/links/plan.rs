//! What a seed decides about clusters that follow one another, from a generator of its own.

use std::time::Duration;

use dunlin_links::Times;
use dunlin_metadata::{KeyspaceSettings, Sync};
use dunlin_node::Sabotage;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::plan::{Plan, RangeFaults, SecretUse, pick};

/// Sets its choices apart.
const SEED: u64 = 0x11d4_5000;
/// Nodes of each cluster.
pub const NODES: usize = 3;
/// The tombstone grace of a run in which deletes are forgotten.
const SHORT_GRACE_S: u64 = 40;

/// Deletes are forgotten so long after the last one, in milliseconds.
const FORGOTTEN_MS: u64 = 55_000;
/// For so long before and after a disk is lost then, clients of its cluster write, in milliseconds.
pub const LATE_MS: u64 = 800;

/// Which cluster sends to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each to the next.
    Line,
    /// The same, and the last to the first.
    Ring,
    /// Each to all others.
    Mesh,
}

/// Whether deletes are forgotten, and what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgets {
    /// They are not.
    Never,
    /// A line is cut for longer than they are remembered.
    WhileCut,
    /// A disk is lost when they are.
    BeforeLoss,
}

/// A run of several clusters.
#[derive(Debug, Clone)]
pub struct LinkPlan {
    /// The seed all of this comes from.
    pub seed: u64,
    /// How many clusters.
    pub clusters: usize,
    /// Which sends to which.
    pub shape: Shape,
    /// Whether deletes are forgotten.
    pub forgets: Forgets,
    /// Different keys; every third is written in one cluster only.
    pub keys: u16,
    /// Clients of each cluster.
    pub clients: usize,
    /// Longest pause of a client between two operations, in milliseconds.
    pub pause_ms_max: u64,
    /// How far clocks are off at most, in milliseconds.
    pub skew_ms_max: i64,
    /// Whether crashes lose unsynced data.
    pub power_loss: bool,
    /// Longest pause between two faults, in milliseconds.
    pub fault_pause_ms_max: u64,
    /// How long clients go on, in milliseconds after all links are made.
    pub work_ms: u64,
    /// How long faults go on, in milliseconds after all links are made.
    pub faults_ms: u64,
    /// Deliberate bug in every node.
    pub sabotage: Sabotage,
}

impl LinkPlan {
    /// The run of a seed.
    pub fn new(seed: u64, sabotage: Sabotage) -> LinkPlan {
        let mut random = StdRng::seed_from_u64(seed ^ SEED);
        let clusters = *pick(&mut random, &[2, 2, 3, 3, 4]);
        let forgets = match random.random_range(0..10) {
            0..2 => Forgets::WhileCut,
            2..4 => Forgets::BeforeLoss,
            _ => Forgets::Never,
        };
        let work_ms = random.random_range(10_000..=20_000);
        LinkPlan {
            seed,
            clusters,
            shape: *pick(&mut random, &[Shape::Line, Shape::Ring, Shape::Mesh]),
            forgets,
            keys: *pick(&mut random, &[6, 12, 40]),
            clients: random.random_range(2..=4),
            pause_ms_max: random.random_range(60..=400),
            skew_ms_max: *pick(&mut random, &[0, 50, 200]),
            power_loss: random.random_bool(0.5),
            fault_pause_ms_max: random.random_range(600..=4_000),
            work_ms,
            faults_ms: work_ms,
            sabotage,
        }
        .forgetting()
    }

    fn forgetting(mut self) -> LinkPlan {
        match self.forgets {
            Forgets::Never => {}
            Forgets::WhileCut => {
                self.clusters = 2;
                self.faults_ms = 75_000;
            }
            Forgets::BeforeLoss => {
                self.clusters = 2;
                self.shape = Shape::Line;
                self.keys = 40;
                self.faults_ms = self.lost_ms() + 12_000;
            }
        }
        self
    }

    /// When the disk is lost in a run in which deletes are forgotten before, in milliseconds.
    pub fn lost_ms(&self) -> u64 {
        self.work_ms + FORGOTTEN_MS
    }

    /// Whether a plain run of this seed is followed by this one.
    pub fn is_drawn(seed: u64) -> bool {
        StdRng::seed_from_u64(seed ^ SEED ^ 0xff).random_bool(0.1)
    }

    /// Whether the run has the circumstances in which its deliberate bug matters.
    pub fn tempts(&self) -> bool {
        match self.sabotage {
            Sabotage::LinkNoAge => self.forgets == Forgets::WhileCut,
            Sabotage::LinkSnapshotAgain => self.forgets == Forgets::BeforeLoss,
            Sabotage::LinkRelog => self.shape == Shape::Mesh && self.clusters > 2,
            _ => self.forgets == Forgets::Never,
        }
    }

    /// Shorter than in real life, as the time is after which deletes are forgotten.
    pub fn times(&self) -> Times {
        Times {
            life: Duration::from_secs(3),
            round: Duration::from_millis(500),
            ages: Duration::from_millis(500),
            known: match self.forgets {
                Forgets::Never => Duration::from_secs(10),
                _ => Duration::from_secs(1),
            },
            commit: Duration::from_millis(500),
            grace_s_min: SHORT_GRACE_S,
        }
    }

    /// The links, each from a cluster to another.
    pub fn links(&self) -> Vec<(usize, usize)> {
        let all = 0..self.clusters;
        let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
        let leads = |(a, b): &(usize, usize)| match self.shape {
            Shape::Line => *b == *a + 1,
            Shape::Ring => *b == (*a + 1) % self.clusters,
            Shape::Mesh => a != b,
        };
        let mut links: Vec<(usize, usize)> = pairs.filter(leads).collect();
        // A link leads to a cluster that holds nothing, or whose entries have come by others.
        if self.shape == Shape::Mesh {
            links.sort_by_key(|&(a, b)| (a.max(b), a.min(b), a > b));
        }
        links
    }

    /// The clusters whose writes arrive in one, itself among them, over these links.
    pub fn reaching(&self, to: usize, links: &[(usize, usize)]) -> Vec<usize> {
        let mut found = vec![to];
        let mut next = 0;
        while let Some(at) = found.get(next).copied() {
            next += 1;
            for (a, b) in links {
                if *b == at && !found.contains(a) {
                    found.push(*a);
                }
            }
        }
        found
    }

    /// The plan of one cluster.
    pub fn of_cluster(&self) -> Plan {
        let grace_s = match self.forgets {
            Forgets::Never => 864_000,
            _ => SHORT_GRACE_S,
        };
        let settings = KeyspaceSettings {
            replicas: NODES as u8,
            partitions: 4,
            sync: Sync::Always,
            tombstone_grace_s: grace_s,
            ..KeyspaceSettings::default()
        };
        Plan {
            nodes: NODES,
            members: NODES,
            shards: 1,
            keyspaces: vec![(super::KEYSPACE.to_owned(), settings)],
            moves: false,
            deafens: false,
            buries: false,
            buries_late: false,
            twins: false,
            relapses: false,
            follows: false,
            views: false,
            ranges: false,
            range_faults: RangeFaults::default(),
            secrets: SecretUse::None,
            bad_clocks: false,
            slow_disks: false,
            // Nothing compares stores.
            values_only: true,
            ..Plan::new(self.seed, self.sabotage)
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
