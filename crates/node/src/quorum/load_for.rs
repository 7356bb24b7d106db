//! Pairs of a body that this shard does not hold are given to one that does, to load them there (decision 45).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_proto::{LoadForAnswer, LoadForRequest, Request, Response, ShardAddress};
use dunlin_rpc::{CallError, refusal};
use futures_util::future::join_all;
use tokio::sync::Mutex;

use super::attempt::Window;
use super::load::{Parts, is_file};
use super::load_holder::{bundles, holder};
use super::load_split::Part;
use super::terms::Terms;
use super::{Coordinator, Failure, Quorum};
use crate::sabotage::Sabotage;

/// For how long a shard is waited for that loads: as long as its replicas may take for two of their steps.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);
/// A shard that has others to load first, or whose clock is ahead, is asked so often.
const TRIES: usize = 2;

/// To whom something is being given: one bundle at a time, or those that wait would come late.
pub(super) type Giving = BTreeMap<ShardAddress, Rc<Mutex<()>>>;

/// What has become of the pairs that others were given.
#[derive(Default)]
pub(super) struct Given {
    /// Of which all is acknowledged.
    pub partitions: BTreeSet<u16>,
    /// The rest is there with a stamp no higher than this, if at all, now or later.
    pub up_to: Version,
}

impl Coordinator {
    /// Of the partitions those that this shard holds, and those that are loaded elsewhere, by shard.
    pub(super) fn who_loads(
        &self,
        terms: &Terms,
        parts: &Parts,
    ) -> BTreeMap<ShardAddress, BTreeSet<u16>> {
        let mut all: BTreeMap<ShardAddress, BTreeSet<u16>> = BTreeMap::new();
        let placement = self.shard.placement();
        let Some(placed) = placement.keyspace(terms.keyspace) else {
            return all;
        };
        let files = parts
            .iter()
            .filter(|(_, part)| is_file(part.bytes, self.shard.config()));
        for (partition, _) in files {
            let replicas = placed.replicas(*partition, terms.quorum.from);
            let reachable = |at| self.shard.is_reachable(at);
            if let Some(at) = holder(replicas, self.shard.address(), reachable) {
                all.entry(at).or_default().insert(*partition);
            }
        }
        all
    }

    /// Has partitions loaded by the shards that hold them. What does not come to be stays in `parts`.
    pub(super) async fn give(
        &self,
        terms: Terms,
        parts: &Parts,
        to: BTreeMap<ShardAddress, BTreeSet<u16>>,
    ) -> Given {
        let given = to.into_iter().map(|(at, partitions)| async move {
            let lock = {
                let mut giving = self.giving.borrow_mut();
                giving.entry(at).or_default().clone()
            };
            let listed = partitions
                .iter()
                .filter_map(|p| Some((*p, parts.get(p)?.bytes)));
            let mut given = Given::default();
            for bundle in bundles(listed) {
                let held = lock.lock().await;
                let answered = self.give_bundle(at, terms, parts, &bundle).await;
                drop(held);
                given.up_to = given.up_to.max(answered.up_to);
                if answered.partitions.is_empty() {
                    // It will not have the next one either.
                    break;
                }
                given.partitions.extend(answered.partitions);
            }
            given
        });
        let all = join_all(given).await;
        all.into_iter().fold(Given::default(), |mut all, given| {
            all.partitions.extend(given.partitions);
            all.up_to = all.up_to.max(given.up_to);
            all
        })
    }

    async fn give_bundle(
        &self,
        at: ShardAddress,
        terms: Terms,
        parts: &Parts,
        bundle: &[u16],
    ) -> Given {
        let nothing = Given::default();
        for _ in 0..TRIES {
            // Looks at the clock first, and so sees a stall that has just ended.
            if self.shard.may_stamp().is_err() || terms.is_overtaken(&self.shard) {
                return nothing;
            }
            // Whoever is not heard of may stamp it up to here, and what goes another way goes above.
            let Window::Until(until) = self.window(terms.floor, terms.deadline) else {
                return nothing;
            };
            let peer = self.shard.peer(at);
            let Some(peer) = peer.filter(|peer| peer.caller.is_connected()) else {
                return nothing;
            };
            let pieces = bundle
                .iter()
                .filter_map(|p| Some((*p, parts.get(p)?.pieces.clone())));
            let request = LoadForRequest {
                keyspace: terms.keyspace,
                ack: terms.quorum.ack,
                from: terms.quorum.from,
                deadline: until,
                floor: terms.floor,
                parts: pieces.collect(),
            };
            let answer = peer.call_aside(Request::LoadFor(request), LOAD_TIMEOUT);
            let is_blind = self.shard.env().sabotage == Sabotage::CountGiven;
            match answer.await {
                Ok(Response::LoadedFor(LoadForAnswer::Late { clock })) => {
                    self.shard.clock().observe(clock);
                }
                Ok(Response::LoadedFor(LoadForAnswer::Loaded { partitions, up_to })) => {
                    let partitions = match is_blind {
                        true => bundle.to_vec(),
                        false => partitions,
                    };
                    return Given {
                        partitions: partitions
                            .into_iter()
                            .filter(|p| bundle.contains(p))
                            .collect(),
                        up_to,
                    };
                }
                Ok(Response::LoadedFor(LoadForAnswer::Refused)) => return nothing,
                // It was not sent, or not taken: a build before this one knows nothing of it.
                Err(CallError::Overloaded | CallError::TooLarge { .. }) => return nothing,
                Err(CallError::Refused { code, .. }) if code != refusal::DROPPED => return nothing,
                _ => {
                    return Given {
                        partitions: BTreeSet::new(),
                        up_to: until,
                    };
                }
            }
        }
        nothing
    }

    /// Loads what another shard was asked to store, to its end, whether or not it is waited for.
    pub(crate) async fn load_for(self: &Rc<Self>, request: LoadForRequest) -> LoadForAnswer {
        let LoadForRequest {
            keyspace,
            ack,
            from,
            deadline,
            floor,
            ..
        } = request;
        let mut held = self.shard.front().doors.account();
        let is_known = self.shard.judged().is_ok() && self.shard.serves(keyspace).is_ok();
        if !is_known || !self.may_load(keyspace) || held.grow(request.bytes()).is_err() {
            return LoadForAnswer::Refused;
        }
        let given = request.parts.len();
        let parts = request.parts.into_iter().map(|(partition, pieces)| {
            let bytes = pieces.iter().map(|piece| piece.len()).sum();
            (partition, Part { pieces, bytes })
        });
        let parts: Parts = parts.collect();
        if parts.len() < given {
            return LoadForAnswer::Refused;
        }
        let all: BTreeSet<u16> = parts.keys().copied().collect();
        let terms = Terms::new(&self.shard, keyspace, Quorum { ack, from }, deadline, floor);
        let (coordinator, busy) = (self.clone(), self.shard.busy());
        let load = tokio::task::spawn_local(async move {
            let loaded = coordinator.load(terms, parts).await;
            drop((busy, held));
            loaded
        });
        let partitions = match load.await {
            Ok(Ok((rest, _))) => all.into_iter().filter(|p| !rest.contains_key(p)).collect(),
            Ok(Err(Failure::TooLate)) => {
                let clock = self.shard.clock().now();
                return LoadForAnswer::Late { clock };
            }
            // It is here, perhaps, and not where it should be.
            Ok(Err(Failure::NotEnoughReplicas { .. })) | Err(_) => Vec::new(),
            Ok(Err(_)) => return LoadForAnswer::Refused,
        };
        LoadForAnswer::Loaded {
            partitions,
            // Nothing was stamped above its deadline.
            up_to: self.shard.clock().now().min(deadline),
        }
    }
}
