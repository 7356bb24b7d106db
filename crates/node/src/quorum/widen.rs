//! A write that asks for more replicas than any before it in its keyspace.
//!
//! Whoever stamps a delete must know how wide any earlier put may have been stored. So the greater
//! `from` is noted in the metadata store first, then every node that may stamp writes says that it
//! knows of it, which is noted, too; only then is the write stamped (decision 25).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_proto::{Request, Response, ShardAddress};
use futures_util::FutureExt;
use futures_util::future::{Shared, join_all};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Coordinator, Failure};
use crate::limits::{ASK_WIDTH_PAUSE, ASK_WIDTH_TIMEOUT, WRITE_TIMEOUT};
use crate::moves::MoveState;
use crate::placement::Placement;
use crate::sabotage::Sabotage;

/// How a widening ends, for all who wait for it. They are woken in the order in which they began to.
pub(super) type Ended = Shared<oneshot::Receiver<Result<(), Failure>>>;

/// By keyspace and `from`: all writes that wait for it wait together.
pub(super) type Widening = RefCell<BTreeMap<(u32, u8), Ended>>;

/// By how many replicas a shard knows entries to be stored, of each keyspace by its number where that is
/// more than the keyspace's settings say.
type Widths = Vec<(u32, u8)>;

/// Whether a shard that said this knows that a keyspace's entries are stored by so many replicas.
fn knows(told: &[(u32, u8)], keyspace: u32, width: u8) -> bool {
    told.iter()
        .any(|(id, known)| *id == keyspace && *known >= width)
}

/// Shards that have not said that they know how wide a keyspace's entries are stored.
fn unaware(
    writers: impl Iterator<Item = ShardAddress>,
    told: &BTreeMap<ShardAddress, Widths>,
    keyspace: u32,
    width: u8,
) -> Vec<ShardAddress> {
    let knows = |shard: &ShardAddress| {
        told.get(shard)
            .is_some_and(|told| knows(told, keyspace, width))
    };
    writers.filter(|shard| !knows(shard)).collect()
}

impl Coordinator {
    /// Makes sure that a write with this `from` may be stamped.
    pub(super) async fn widen_for(self: &Rc<Self>, keyspace: u32, from: u8) -> Result<(), Failure> {
        let placement = self.shard.placement();
        let found = placement.keyspace(keyspace);
        let found = found.ok_or(Failure::UnknownKeyspace)?;
        if found.keyspace.takes(from) || self.shard.env().sabotage == Sabotage::NarrowFrom {
            Ok(())
        } else {
            self.widen(keyspace, from).await
        }
    }

    /// Has every node that may stamp writes know of `from`, within a write's time.
    pub(super) async fn widen(self: &Rc<Self>, keyspace: u32, from: u8) -> Result<(), Failure> {
        let ended = self.widening_of(keyspace, from);
        // Without an answer this shard is stopping.
        ended.await.unwrap_or(Err(Failure::Busy))
    }

    /// The widening under way, begun if there is none. It goes on although whoever asked first has
    /// left.
    fn widening_of(self: &Rc<Self>, keyspace: u32, from: u8) -> Ended {
        let mut waiting = self.widening.borrow_mut();
        let begin = || {
            let (tell, ended) = oneshot::channel();
            let coordinator = self.clone();
            tokio::task::spawn_local(async move {
                let widened = coordinator.try_widen(keyspace, from).await;
                coordinator.widening.borrow_mut().remove(&(keyspace, from));
                // All who waited may have left.
                let _ = tell.send(widened);
            });
            ended.shared()
        };
        let ended = waiting.entry((keyspace, from)).or_insert_with(begin);
        ended.clone()
    }

    async fn try_widen(&self, id: u32, from: u8) -> Result<(), Failure> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let mut is_noted = false;
        let mut is_confirmed = false;
        let mut waits: Vec<ShardAddress> = Vec::new();
        loop {
            let placement = self.shard.placement();
            let keyspace = placement.keyspace(id);
            let keyspace = &keyspace.ok_or(Failure::UnknownKeyspace)?.keyspace;
            if keyspace.takes(from) {
                return Ok(());
            }
            let refused = |why: String| Failure::NotWidened {
                from,
                known: keyspace.known,
                why,
            };
            if !is_noted {
                let noted = self.note(&keyspace.name, id, from, 0, deadline).await;
                noted.map_err(refused)?;
                is_noted = true;
            }
            // Who is asked in the last moment has no time to answer, and would be named as one that does not know.
            if Instant::now() + ASK_WIDTH_PAUSE >= deadline {
                return Err(refused(waits_for(&placement, &waits)));
            }
            if !is_confirmed {
                let told = self.ask_widths(&placement, deadline).await;
                // Who they all are is known for sure once this shard knows of the width itself.
                let all = placement.writers().chain([self.shard.address()]);
                waits = unaware(all, &told, id, from);
                if waits.is_empty() {
                    let noted = self.note(&keyspace.name, id, from, from, deadline).await;
                    noted.map_err(refused)?;
                    is_confirmed = true;
                    tracing::info!(keyspace = keyspace.name, from, "widened");
                }
            }
            sleep(ASK_WIDTH_PAUSE).await;
        }
    }

    async fn note(
        &self,
        name: &str,
        id: u32,
        widest: u8,
        known: u8,
        deadline: Instant,
    ) -> Result<(), String> {
        let noting = self
            .shard
            .metadata()
            .widen_keyspace(name, id, widest, known);
        let noted = timeout_at(deadline, noting).await;
        let why = match noted {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the metadata store does not answer".to_owned(),
        };
        Err(format!("that is to be noted first, and {why}: try again"))
    }

    /// What those that can be asked now say of themselves.
    async fn ask_widths(
        &self,
        placement: &Placement,
        deadline: Instant,
    ) -> BTreeMap<ShardAddress, Widths> {
        let left = deadline.saturating_duration_since(Instant::now());
        let asked = placement.writers().map(|address| async move {
            let peer = self
                .shard
                .peer(address)
                .filter(|p| p.caller.is_connected())?;
            let asked = peer.caller.call(Request::Move, left.min(ASK_WIDTH_TIMEOUT));
            match asked.await {
                Ok(Response::Moved(json)) => {
                    let state: MoveState = serde_json::from_slice(&json).ok()?;
                    Some((address, state.widths))
                }
                _ => None,
            }
        });
        let told = join_all(asked).await.into_iter().flatten();
        told.chain([(self.shard.address(), self.shard.placement().widths())])
            .collect()
    }
}

/// What a write says that waits for these shards; for none, when only this one's next look is due.
fn waits_for(placement: &Placement, shards: &[ShardAddress]) -> String {
    let mut names: Vec<&str> = shards
        .iter()
        .filter_map(|shard| placement.nodes.get(&shard.node))
        .map(|node| node.name.as_str())
        .collect();
    names.dedup();
    let who = match &names[..] {
        [] => return "try again".to_owned(),
        [name] => format!("{name} does"),
        names => format!("{} do", names.join(", ")),
    };
    format!(
        "all nodes are to know of it first, and {who} not yet: try again when all run this version, \
         or remove what is gone for good"
    )
}

#[cfg(test)]
#[path = "widen_tests.rs"]
mod tests;
