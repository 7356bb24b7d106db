//! Nodes that come, go, and are lost for good.

use rand::Rng;
use rand::seq::SliceRandom;

use super::Faults;
use crate::harness::cluster::{Cluster, HarnessError};

impl Faults {
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
    pub(super) fn change_members(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        if self.random.random_bool(0.1) && cluster.cancel_change()? {
            cluster
                .shared
                .note("the change of members is given up".into());
            return Ok(());
        }
        let nodes = cluster.hosts.len();
        let deafens = cluster.shared.plan.deafens;
        let most = nodes - usize::from(deafens);
        let count = if deafens {
            3
        } else {
            self.random.random_range(3..=nodes)
        };
        let mut to: Vec<u16> = (1..=most as u16).collect();
        if let Some(buried) = cluster.shared.buried.get() {
            to.retain(|id| *id != buried as u16 + 1);
        }
        to.shuffle(&mut self.random);
        to.truncate(count);
        if deafens {
            self.deafen(cluster, most);
        }
        let text = format!("nodes {to:?} are to hold the data");
        if cluster.change_members(to)? {
            cluster.shared.note(text);
        }
        Ok(())
    }
}
