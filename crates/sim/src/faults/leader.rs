//! Whoever leads the transactional keyspace is held for a while, or killed: what it had begun must not count when
//! it goes on.

use rand::Rng;

use super::Faults;
use crate::harness::cluster::{Cluster, Crash, HarnessError};

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
        if !cluster.shared.plan.unseats || now_ms < self.next_unseat_ms {
            return Ok(());
        }
        self.next_unseat_ms = now_ms + self.unseats.random_range(2_500..=6_000);
        let leads = |shard: &std::rc::Rc<dunlin_node::Shard>| {
            shard
                .status()
                .ranges
                .iter()
                .any(|range| range.role == "leader")
        };
        let mut hosts = cluster.hosts.iter();
        let Some(number) = hosts.position(|host| host.live().iter().any(leads)) else {
            return Ok(());
        };
        if self.held_until_ms[number].is_some() || self.down_until_ms[number].is_some() {
            return Ok(());
        }
        if self.unseats.random_bool(0.4) {
            self.crash(cluster, number, Crash::Kill, now_ms, "it leads")?;
            let away_ms = self.unseats.random_range(20..=3_000);
            self.down_until_ms[number] = Some(now_ms + away_ms);
            return Ok(());
        }
        let for_ms = self.unseats.random_range(2_000..=4_500);
        cluster.hosts[number].pause.hold();
        self.held_until_ms[number] = Some(now_ms + for_ms);
        let name = &cluster.hosts[number].name;
        let text = format!("{name}, which leads, is held for {for_ms} ms");
        cluster.shared.note(text);
        Ok(())
    }
}
