//! When the next phase of a change may begin, and its beginning. Every node looks; whoever sees it
//! first begins it, for the metadata store takes each step once.

use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_metadata::{Change, Phase};
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
            let states = self.states().await;
            if !waits_for(&change, &self.living(), &states).is_empty() {
                continue;
            }
            match self
                .shard
                .metadata
                .advance_change(change.id, change.phase)
                .await
            {
                Ok(()) => tracing::info!(change = change.id, after = %change.phase, "next phase"),
                Err(error) => tracing::warn!(%error, "a change of members does not go on"),
            }
        }
    }

    /// Every shard of every node that is not gone for good.
    pub(crate) fn living(&self) -> Vec<ShardAddress> {
        let placement = self.shard.placement();
        let shards = placement.shards();
        shards.filter(|s| !placement.is_dead(s.node)).collect()
    }

    /// How far each living shard is; those that do not answer are left out.
    pub(crate) async fn states(&self) -> BTreeMap<ShardAddress, MoveState> {
        let asked = self.living().into_iter().map(|address| async move {
            if address == self.shard.address {
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
