//! The members of a local cluster follow `--nodes`: a start with more nodes lets the new ones take
//! over their share, a start without a member is refused.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use dunlin_metadata::{Metadata, Topology};

use crate::failure::Failure;
use crate::members;

/// What the metadata said before the start.
pub struct Before(Arc<Topology>);

impl Before {
    /// Refuses a start without one of the nodes that hold data: some keys could not be read or
    /// written.
    pub fn check(metadata: &Metadata, nodes: usize, data: &Path) -> Result<Before, Failure> {
        let topology = metadata.topology().borrow().clone();
        let change = topology.members.change.iter();
        let dead: BTreeSet<u16> = change.clone().flat_map(|c| c.dead.clone()).collect();
        let holders = change.flat_map(|c| &c.to).chain(&topology.members.ids);
        let holders: BTreeSet<u16> = holders.copied().filter(|id| !dead.contains(id)).collect();
        let left_out: Vec<String> = topology
            .nodes
            .iter()
            .filter(|node| holders.contains(&node.id))
            .filter(|node| (1..=nodes).all(|number| node.name != name(number)))
            .map(|node| node.name.clone())
            .collect();
        match members::verb(&left_out, "holds data", "hold data") {
            None => Ok(Before(topology)),
            Some(who) => Err(Failure::Failed(format!(
                "in {} {who}, too: start with more --nodes (to have fewer, let dunlin node drain \
                 take their data away first)",
                data.display()
            ))),
        }
    }

    /// Makes the nodes that this start has brought members, and says in a line what is not yet as
    /// it shall be. On the first start, when there is no data, it waits until all is.
    pub async fn grow(&self, metadata: &Metadata) -> Option<String> {
        let Before(before) = self;
        let mut watch = metadata.topology();
        let now = watch.borrow().clone();
        if let Some(change) = &now.members.change {
            let id = change.id;
            return Some(format!(
                "change {id} of the members goes on: dunlin node list shows how far it is"
            ));
        }
        let spare = |node: &u16| !now.members.ids.contains(node);
        let is_known = |node: &u16| before.node(*node).is_some();
        // Before the first change none can have been drained: they came in a start that was killed.
        let is_new = |node: &u16| before.members.changes == 0 || !is_known(node);
        let spare: Vec<u16> = now.nodes.iter().map(|node| node.id).filter(spare).collect();
        let (new, drained): (Vec<u16>, Vec<u16>) = spare.into_iter().partition(is_new);
        let names = |ids: &[u16]| -> Vec<String> {
            let nodes = ids.iter().filter_map(|id| now.node(*id));
            nodes.map(|node| node.name.clone()).collect()
        };
        let idle = match &names(&drained)[..] {
            [] => None,
            names => Some(members::spare(names)),
        };
        if new.is_empty() {
            return idle;
        }
        let to = [&now.members.ids[..], &new].concat();
        if let Err(error) = metadata.begin_change(to, Vec::new()).await {
            return Some(format!("{}: {error}", members::spare(&names(&new))));
        }
        if before.nodes.is_empty() {
            // An error would mean that the metadata is gone, and with it the cluster.
            drop(watch.wait_for(|now| now.members.change.is_none()).await);
            return None;
        }
        let joining = members::verb(&names(&new), "takes", "take").unwrap_or_default();
        let joining =
            format!("{joining} over a share of the data now: dunlin node list shows how far it is");
        Some(
            [Some(joining), idle]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }
}

/// The name of a node, counted from 1.
pub fn name(number: usize) -> String {
    format!("n{number}")
}
