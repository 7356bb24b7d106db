//! An operator has replicas of ranges moved, and others lead.

use dunlin_metadata::Retarget;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::Faults;
use crate::harness::cluster::{Cluster, HarnessError};

/// Targets of ranges; decided apart from all else.
pub(super) struct Targets {
    next_ms: u64,
    random: StdRng,
}

impl Targets {
    pub fn new(seed: u64) -> Targets {
        Targets {
            next_ms: 3_000,
            random: StdRng::seed_from_u64(seed ^ 0x7a46_3700),
        }
    }
}

impl Faults {
    /// Gives a range another target, if it is time for it.
    ///
    /// # Errors
    /// When no cluster answers.
    pub(super) fn retarget(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        if !cluster.shared.plan.range_faults.retargets || now_ms < self.ranges.targets.next_ms {
            return Ok(());
        }
        let random = &mut self.ranges.targets.random;
        self.ranges.targets.next_ms = now_ms + random.random_range(200..=4_000);
        let topology = cluster.shared.metadata.topology().borrow().clone();
        let keyspaces = topology.keyspaces.iter();
        let ranges = keyspaces.flat_map(|keyspace| {
            let ranges = keyspace.ranges.iter();
            ranges.map(|range| (keyspace.name.clone(), range.number))
        });
        let ranges: Vec<(String, u16)> = ranges.collect();
        let mut name = || {
            let nodes = topology.nodes.choose(random);
            nodes.map(|node| node.name.clone()).unwrap_or_default()
        };
        let (node, from, to) = (name(), name(), name());
        let wish = if random.random_bool(0.4) {
            Retarget::Lead { node }
        } else {
            let shards = cluster.shared.plan.shards;
            Retarget::Move {
                from,
                to,
                shard: random
                    .random_bool(0.5)
                    .then(|| random.random_range(0..shards)),
                instead: random.random_bool(0.5),
            }
        };
        if let Some((keyspace, number)) = ranges.choose(random)
            && cluster.retarget(keyspace, *number, &wish)?
        {
            let text = format!("range {keyspace}/{number} has a new target: {wish:?}");
            cluster.shared.note(text);
        }
        Ok(())
    }
}
