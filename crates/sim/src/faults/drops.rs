//! Keyspaces of lists are dropped under the transactions that append to them, and undropped, or purged when their delay is
//! over.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::Faults;
use crate::harness::cluster::{Cluster, HarnessError, SIDES};

/// The keyspaces that are dropped, decided apart from all else.
pub(super) struct Drops {
    random: StdRng,
    next_ms: u64,
    /// When each is undropped.
    until_ms: [Option<u64>; SIDES.len()],
}

impl Drops {
    pub fn new(seed: u64) -> Drops {
        Drops {
            random: StdRng::seed_from_u64(seed ^ 0xd509_d509),
            next_ms: 3_000,
            until_ms: [None; SIDES.len()],
        }
    }
}

impl Faults {
    /// Drops and undrops keyspaces at their time.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn drop_keyspaces(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        if !cluster.shared.plan.range_faults.drops {
            return Ok(());
        }
        for (number, side) in SIDES.iter().enumerate() {
            if self.ranges.drops.until_ms[number].is_some_and(|until_ms| until_ms <= now_ms) {
                self.ranges.drops.until_ms[number] = None;
                undrop(cluster, side)?;
            }
        }
        if now_ms < self.ranges.drops.next_ms {
            return Ok(());
        }
        let random = &mut self.ranges.drops.random;
        self.ranges.drops.next_ms = now_ms + random.random_range(1_000..=6_000);
        let number = random.random_range(0..SIDES.len());
        // Some are left for so long that they are purged.
        let for_ms = if random.random_bool(0.4) {
            20_000
        } else {
            random.random_range(100..=5_000)
        };
        if self.ranges.drops.until_ms[number].is_none()
            && cluster.drop_keyspace(SIDES[number], now_ms)?
        {
            cluster.counts.ranges.drops += 1;
            cluster.shared.note(format!("{} is dropped", SIDES[number]));
            self.ranges.drops.until_ms[number] = Some(now_ms + for_ms);
        }
        Ok(())
    }

    /// Undrops all that are not purged.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn undrop_keyspaces(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        for (number, side) in SIDES.iter().enumerate() {
            if self.ranges.drops.until_ms[number].take().is_some() {
                undrop(cluster, side)?;
            }
        }
        Ok(())
    }
}

fn undrop(cluster: &mut Cluster, side: &str) -> Result<(), HarnessError> {
    let text = if cluster.undrop_keyspace(side)? {
        format!("{side} is undropped")
    } else {
        cluster.counts.ranges.purges += 1;
        format!("{side} is purged")
    };
    cluster.shared.note(text);
    Ok(())
}
