//! When the next phase of a change may begin, and its beginning. Every node looks; whoever sees it
//! first begins it, for the metadata store takes each step once.

use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_metadata::{Change, Phase, ranges_outside};
use dunlin_proto::{Request, Response, ShardAddress};
use futures_util::future::join_all;

use super::{MoveState, Moves};
use crate::limits::{CALL_TIMEOUT, MOVE_INTERVAL};

/// Shards whose state does not allow the next phase yet; none when it may begin.
pub(crate) fn waits_for(
    change: &Change,
    shards: &[ShardAddress],
    states: &BTreeMap<ShardAddress, MoveState>,
) -> Vec<ShardAddress> {
    let is_ready = |state: &MoveState| {
        let acts = state.change == change.id && state.phase == Some(change.phase);
        acts && match change.phase {
            Phase::Copy => state.filled,
            Phase::Joint => state.caught_up,
            Phase::Switch => state.level,
            Phase::Settle => true,
        }
    };
    shards
        .iter()
        .filter(|shard| !states.get(shard).is_some_and(is_ready))
        .copied()
        .collect()
}

impl Moves {
    /// Looks after changes for as long as the shard runs. One shard of a node does it.
    pub(super) async fn conduct_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(MOVE_INTERVAL).await;
            let Some(change) = self.shard.placement().change.clone() else {
                continue;
            };
            if change.phase == Phase::Copy && !self.ranges_outside(&change.to).is_empty() {
                continue;
            }
            let states = self.states_of(self.concerned()).await;
            if !waits_for(&change, &self.concerned(), &states).is_empty() {
                continue;
            }
            match self
                .shard
                .metadata()
                .advance_change(change.id, change.phase)
                .await
            {
                Ok(()) => tracing::info!(change = change.id, after = %change.phase, "next phase"),
                Err(error) => tracing::warn!(%error, "a change of members does not go on"),
            }
        }
    }

    /// Ranges that keep a change in its first phase, a line each.
    pub(crate) fn ranges_outside(&self, to: &[u16]) -> Vec<String> {
        ranges_outside(&self.shard.metadata().topology().borrow(), to)
    }

    /// Every shard of every node that is not gone for good.
    pub(crate) fn living(&self) -> Vec<ShardAddress> {
        let placement = self.shard.placement();
        let shards = placement.shards();
        shards.filter(|s| !placement.is_dead(s.node)).collect()
    }

    /// Every shard that a change waits for: those of members before it and after it. Others are not
    /// answered while they act by an older phase; but those of this process, which do not say who they
    /// are, and which are there as long as it is.
    pub(crate) fn concerned(&self) -> Vec<ShardAddress> {
        let placement = self.shard.placement();
        let is_near = |shard: &ShardAddress| {
            let node = placement.nodes.get(&shard.node);
            node.is_some_and(|n| self.shard.is_near(&n.name, shard.shard))
        };
        let living = self.living().into_iter();
        living
            .filter(|shard| !placement.is_outside(*shard) || is_near(shard))
            .collect()
    }

    /// How far each living shard is; those that do not answer are left out.
    pub(crate) async fn states(&self) -> BTreeMap<ShardAddress, MoveState> {
        self.states_of(self.living()).await
    }

    /// The same of some.
    pub(super) async fn states_of(
        &self,
        shards: Vec<ShardAddress>,
    ) -> BTreeMap<ShardAddress, MoveState> {
        let asked = shards.into_iter().map(|address| async move {
            if address == self.shard.address() {
                return Some((address, self.state()));
            }
            let peer = self.shard.peer(address)?;
            match peer.caller.call(Request::Move, CALL_TIMEOUT).await {
                Ok(Response::Moved(json)) => Some((address, serde_json::from_slice(&json).ok()?)),
                _ => None,
            }
        });
        join_all(asked).await.into_iter().flatten().collect()
    }
}

#[cfg(test)]
#[path = "conduct_tests.rs"]
mod tests;
