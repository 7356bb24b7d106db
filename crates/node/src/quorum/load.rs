//! Loads: a large body of pairs goes to the replicas as files, with one stamp, and what cannot go so as puts
//! (decision 45).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::{Kind, Origin, Stamp, Version};
use dunlin_proto::pairs::CheckedPairs;
use dunlin_proto::{LoadAnswer, LoadRequest, LoadStep, Request, Response, ShardAddress};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;

use super::attempt::Window;
use super::load_split::{Part, split};
use super::load_take::{Prepared, acknowledged, to_take};
use super::terms::Terms;
use super::{Coordinator, Failure, Quorum};
use crate::config::NodeConfig;
use crate::loads::FILE_BYTES_MIN;
use crate::shard::Peer;

/// Nodes that read less know nothing of loads.
const READS_LOADS: u8 = 4;
/// For how long a replica is waited for that writes files, or takes them over.
const STEP_TIMEOUT: Duration = Duration::from_secs(15);
/// Messages with pairs on their way to one replica: what else goes there waits behind them.
const PIECES_IN_FLIGHT: usize = 2;

/// What goes on from one load to the next.
#[derive(Default)]
pub(super) struct Loading {
    /// Who has taken the last.
    level: BTreeSet<ShardAddress>,
}

/// Pairs of a body, by partition.
pub(super) type Parts = BTreeMap<u16, Part>;

/// A load that has its stamp.
#[derive(Clone, Copy)]
struct Load {
    stamp: Stamp,
    after: Version,
    keyspace: u32,
    /// What its pairs carry.
    from: u8,
}

impl Load {
    fn step(&self, step: LoadStep) -> LoadRequest {
        LoadRequest {
            stamp: self.stamp,
            after: self.after,
            keyspace: self.keyspace,
            from: self.from,
            step,
        }
    }
}

/// Whether so many bytes of a partition are enough for a file.
pub(super) fn is_file(bytes: usize, config: &NodeConfig) -> bool {
    bytes >= FILE_BYTES_MIN.min(config.ingest_bytes)
}

impl Coordinator {
    /// Stores the pairs of a body, in no order; done when each is acknowledged as `quorum` asks. What is
    /// enough for files goes so, where nothing is in its way; all else is put. Answers how many bytes went as
    /// files.
    ///
    /// # Errors
    /// The first failure. Any number of pairs may have been written by then, unless it says otherwise.
    pub async fn store(
        self: &Rc<Self>,
        keyspace: u32,
        quorum: Quorum,
        pairs: CheckedPairs,
        deadline: Version,
        floor: Version,
    ) -> Result<u64, Failure> {
        let terms = Terms::new(&self.shard, keyspace, quorum, deadline, floor);
        if pairs.bytes < self.shard.config().load_bytes as u64 || !self.may_load(keyspace) {
            return self.bulk(terms, pairs).await.map(|()| 0);
        }
        self.shard.judged()?;
        self.shard.serves(keyspace)?;
        self.widen_for(keyspace, quorum.from).await?;
        let partitions = {
            let placement = self.shard.placement();
            let placed = placement.keyspace(keyspace);
            placed.ok_or(Failure::UnknownKeyspace)?.partition_count()
        };
        let lost = |_| Failure::NotEnoughReplicas {
            got: 0,
            need: quorum.ack,
        };
        let apart = self
            .shard
            .env()
            .store_runner
            .run_apart(move || split(pairs, partitions));
        let parts = apart.await.map_err(|_| lost(()))?;
        // Whoever asks may hang up: what is half done here must be done to its end, and is here for as long.
        let (coordinator, busy) = (self.clone(), self.shard.busy());
        let mut held = self.shard.front().doors.account();
        held.set(parts.values().map(|part| part.bytes).sum());
        let load = tokio::task::spawn_local(async move {
            let loaded = coordinator.load_all(terms, parts).await;
            drop((busy, held));
            loaded
        });
        let (rest, loaded, up_to) = load.await.map_err(|_| lost(()))??;
        if rest.is_empty() {
            return Ok(loaded);
        }
        let rest = rest.into_values().flat_map(Part::pairs);
        let is_begun = loaded > 0 || up_to > Version(0);
        match self.bulk(terms.above(up_to), rest).await {
            Err(Failure::TooLate) if is_begun => Err(Failure::Overdue),
            Err(Failure::NotReached { need, .. }) if is_begun => {
                Err(Failure::NotEnoughReplicas { got: 0, need })
            }
            put => put.map(|()| loaded),
        }
    }

    /// Loads what can be, here and at others. Answers what is left, how many bytes were written, and a stamp
    /// above which what is left is to be put: zero where nothing of it was begun elsewhere.
    async fn load_all(&self, terms: Terms, parts: Parts) -> Result<(Parts, u64, Version), Failure> {
        let mut away = self.who_loads(&terms, &parts);
        let of_here = away.remove(&self.shard.address()).unwrap_or_default();
        let (here, mut parts): (Parts, Parts) = parts
            .into_iter()
            .partition(|(partition, _)| of_here.contains(partition));
        let (own, given) = tokio::join!(self.load(terms, here), self.give(terms, &parts, away));
        let is_begun = given.up_to > Version(0);
        let (rest, mut loaded) = match own {
            Err(Failure::TooLate) if is_begun => return Err(Failure::Overdue),
            own => own?,
        };
        parts.retain(|partition, part| {
            let is_left = !given.partitions.contains(partition);
            loaded += if is_left { 0 } else { part.bytes as u64 };
            is_left
        });
        parts.extend(rest);
        Ok((parts, loaded, given.up_to))
    }

    pub(super) fn may_load(&self, keyspace: u32) -> bool {
        let placement = self.shard.placement();
        placement.reads() >= READS_LOADS
            && placement.change.is_none()
            && placement.keyspace(keyspace).is_some()
            && self.shard.answers()
            && !self.shard.is_superseded()
            // Where stamps far ahead are about, each write has to look.
            && !self.shard.has_met_far()
    }

    /// Loads what can be; answers what is left, and how many bytes were written.
    pub(super) async fn load(
        &self,
        terms: Terms,
        mut parts: Parts,
    ) -> Result<(Parts, u64), Failure> {
        let Terms {
            keyspace,
            quorum,
            deadline,
            floor,
            ..
        } = terms;
        if parts.is_empty() {
            return Ok((parts, 0));
        }
        let mut loading = self.loading.lock().await;
        self.shard.may_stamp()?;
        if terms.is_overtaken(&self.shard) {
            return Err(Failure::TooLate);
        }
        let until = match self.window(floor, deadline) {
            Window::Until(until) => until,
            Window::TooLate => return Err(Failure::TooLate),
            Window::TooFarAhead => return Err(Failure::TooFarAhead),
        };
        let me = self.shard.address();
        let mut replicas: BTreeMap<u16, Vec<ShardAddress>> = BTreeMap::new();
        let from = {
            let placement = self.shard.placement();
            let placed = placement
                .keyspace(keyspace)
                .ok_or(Failure::UnknownKeyspace)?;
            if placement.change.is_some() || !placed.keyspace.takes(quorum.from) {
                return Ok((parts, 0));
            }
            for (partition, part) in &parts {
                let all = placed.replicas(*partition, quorum.from);
                if is_file(part.bytes, self.shard.config()) && all.contains(&me) {
                    replicas.insert(*partition, all.to_vec());
                }
            }
            placed.width_of_write(Kind::Put, quorum.from)
        };
        if replicas.is_empty() {
            return Ok((parts, 0));
        }
        let origin = self.shard.origin().of_loads();
        let after = self.shard.has_up_to(origin);
        if self.is_any_behind(origin, after, &loading.level) {
            return Ok((parts, 0));
        }
        let Some(version) = self.shard.clock().next(floor, until) else {
            return Err(Failure::TooLate);
        };
        let load = Load {
            stamp: Stamp::new(version, origin),
            after,
            keyspace,
            from,
        };
        let prepared = self.prepare(&load, &parts, &replicas, &loading.level).await;
        let listed = replicas.iter().map(|(p, all)| (*p, &all[..]));
        let taken = to_take(listed, &prepared, me, quorum.ack);
        let leave_out: Vec<u16> = parts
            .keys()
            .copied()
            .filter(|p| !taken.contains(p))
            .collect();
        let step = match taken.is_empty() {
            true => LoadStep::Drop,
            false => LoadStep::Commit { leave_out },
        };
        let (level, counts) = self.finish(&load, step, prepared.keys().copied()).await;
        if taken.is_empty() || !level.contains(&me) {
            // Nobody else has any of it: all goes as puts, which are stamped above it.
            loading.level.clear();
            return Ok((parts, 0));
        }
        loading.level = level;
        let bytes: usize = taken
            .iter()
            .filter_map(|p| parts.get(p))
            .map(|part| part.bytes)
            .sum();
        let of_taken = taken
            .iter()
            .filter_map(|p| replicas.get(p))
            .map(|all| &all[..]);
        let got = acknowledged(of_taken, &counts).unwrap_or(0);
        if got < quorum.ack {
            let need = quorum.ack;
            return Err(Failure::NotEnoughReplicas { got, need });
        }
        parts.retain(|partition, _| !taken.contains(partition));
        Ok((parts, bytes as u64))
    }

    /// Whether somebody within reach lacks a load. It would not be level before they end, and compare stores
    /// again and again until then.
    fn is_any_behind(&self, of: Origin, after: Version, level: &BTreeSet<ShardAddress>) -> bool {
        let peers = self.shard.peers();
        let sharing = peers.values().filter(|peer| peer.shares.get());
        let mut near = sharing.filter(|peer| self.shard.is_reachable(peer.address));
        near.any(|peer| !is_level(peer, of, after, level))
    }

    /// Brings each replica its part and has it written into files.
    async fn prepare(
        &self,
        load: &Load,
        parts: &Parts,
        replicas: &BTreeMap<u16, Vec<ShardAddress>>,
        level: &BTreeSet<ShardAddress>,
    ) -> Prepared {
        let holders = {
            let placement = self.shard.placement();
            let placed = placement.keyspace(load.keyspace);
            let holds =
                |at, partition| placed.is_some_and(|placed| placed.holds(at, partition, load.from));
            let of = |at| {
                let all = replicas.keys().copied();
                all.filter(|partition| holds(at, *partition))
                    .collect::<Vec<u16>>()
            };
            let peers = self.shard.peers();
            // Who shares anything is to hear of each, so that it can take the next.
            let others = peers.values().filter(|peer| {
                let is_level = is_level(peer, load.stamp.origin, load.after, level);
                peer.shares.get() && self.shard.is_reachable(peer.address) && is_level
            });
            let others = others.map(|peer| peer.address);
            let all = others.chain([self.shard.address()]);
            all.map(|at| (at, of(at))).collect::<Vec<_>>()
        };
        let given = holders.into_iter().map(|(at, partitions)| async move {
            let pieces = partitions.iter().flat_map(|partition| {
                let pieces = parts
                    .get(partition)
                    .into_iter()
                    .flat_map(|part| &part.pieces);
                pieces.map(|pairs| LoadStep::Part {
                    partition: *partition,
                    pairs: pairs.clone(),
                })
            });
            // A piece that does not come in its place is one that a file cannot be written of.
            let sent = pieces.map(|step| self.ask_load(at, load.step(step)));
            let mut sent = stream::iter(sent).buffered(PIECES_IN_FLIGHT);
            while let Some(answer) = sent.next().await {
                if answer != Some(LoadAnswer::Done) {
                    return None;
                }
            }
            match self.ask_load(at, load.step(LoadStep::Prepare)).await {
                Some(LoadAnswer::Prepared { in_the_way }) => {
                    Some((at, in_the_way.into_iter().collect()))
                }
                _ => None,
            }
        });
        join_all(given).await.into_iter().flatten().collect()
    }

    /// Has a load taken over, or forgotten, here first: nobody has what its own writer has not. Answers who has
    /// it, and whose word on it counts.
    async fn finish(
        &self,
        load: &Load,
        step: LoadStep,
        by: impl Iterator<Item = ShardAddress>,
    ) -> (BTreeSet<ShardAddress>, BTreeSet<ShardAddress>) {
        let me = self.shard.address();
        let own = self.ask_load(me, load.step(step.clone())).await;
        let step = match own {
            Some(LoadAnswer::Committed { .. }) => step,
            _ => LoadStep::Drop,
        };
        let others = by.filter(|at| *at != me).map(|at| {
            let step = load.step(step.clone());
            async move { (at, self.ask_load(at, step).await) }
        });
        let mut answers = join_all(others).await;
        answers.push((me, own));
        let (mut level, mut counts) = (BTreeSet::new(), BTreeSet::new());
        for (at, answer) in answers {
            if let Some(LoadAnswer::Committed { unsure }) = answer {
                level.insert(at);
                if unsure < load.stamp.version {
                    counts.insert(at);
                }
            }
        }
        (level, counts)
    }

    /// Asks a shard for a step, this one too; none without an answer.
    async fn ask_load(&self, at: ShardAddress, request: LoadRequest) -> Option<LoadAnswer> {
        if at == self.shard.address() {
            return Some(self.loads.take(request).await);
        }
        let peer = self.shard.peer(at)?;
        // Pairs are many: puts do not wait behind them. A piece that overtakes another is found out.
        let answer = match request.step {
            LoadStep::Part { .. } => peer.call_aside(Request::Load(request), STEP_TIMEOUT).await,
            _ => peer.caller.call(Request::Load(request), STEP_TIMEOUT).await,
        };
        match answer {
            Ok(Response::Loaded(answer)) => Some(answer),
            _ => None,
        }
    }
}

/// Whether it has loads up to `after`, as it answered to the last one or has told since.
fn is_level(peer: &Peer, of: Origin, after: Version, level: &BTreeSet<ShardAddress>) -> bool {
    level.contains(&peer.address) || peer.has(of, after)
}
