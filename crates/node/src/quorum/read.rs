//! A read: `ack` replicas are asked, one more whenever that takes too long; the
//! newest answer wins, and a replica seen to be stale is mended. A majority that did not agree does
//! so before the answer goes out: else the next reader could see an older value (decision 26). While
//! the replicas change from one set to another, a majority of each does (decision 19).

use std::rc::Rc;

use bytes::Bytes;
use dunlin_proto::{Item, ReadAnswer, ReadRequest, Request, Response, ShardAddress};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::decide::{Answers, Lacking, Quorum, try_order};
use super::{Coordinator, Failure};
use crate::doors::NoRoom;
use crate::env::LocalFuture;
use crate::limits::{COUNTED_BYTES, HEDGE_AFTER, READ_TIMEOUT};
use crate::replication::copy_of;
use crate::sabotage::Sabotage;

type Asked = LocalFuture<(ShardAddress, ReadAnswer)>;
/// Whether a replica has what is to be shown.
type Mended = LocalFuture<(ShardAddress, bool)>;

impl Coordinator {
    /// The newest record of a key among `ack` replicas, a tombstone too.
    pub async fn read(
        self: &Rc<Self>,
        keyspace: u32,
        key: &Bytes,
        quorum: Quorum,
    ) -> Result<Option<Item>, Failure> {
        let begun = Instant::now();
        if let Some(ranges) = self.ranges_of(keyspace) {
            self.shard.serves(keyspace)?;
            let read = ranges.read(keyspace, key.clone()).await;
            self.shard.latency().record(begun);
            return read;
        }
        let read = loop {
            let step = self.shard.placement().step();
            let was_bystander = self.is_bystander();
            let read = self.read_newest(keyspace, key, quorum).await;
            if self.shard.placement().step() == step || !was_bystander && !self.is_bystander() {
                break read;
            }
            // Where no phase waits for this node, what was asked by another than this counts for nothing.
            if begun.elapsed() >= READ_TIMEOUT {
                break Err(Failure::NotEnoughReplicas {
                    got: 0,
                    need: quorum.ack,
                });
            }
        };
        self.shard.latency().record(begun);
        read
    }

    async fn read_newest(
        self: &Rc<Self>,
        keyspace: u32,
        key: &Bytes,
        quorum: Quorum,
    ) -> Result<Option<Item>, Failure> {
        self.shard
            .counters()
            .reads
            .set(self.shard.counters().reads.get() + 1);
        self.shard.serves(keyspace)?;
        let placement = self.shard.placement();
        let placed = placement
            .keyspace(keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        let partition = placed.partition_of(key);
        let replicas = placed.replicas(partition, quorum.from);
        let order = try_order(
            replicas,
            self.shard.address(),
            self.shard.next_turn(),
            |r| self.shard.is_reachable(r),
        );
        let mut request = ReadRequest {
            keyspace,
            partition,
            have: None,
            key: key.clone(),
        };
        let mut held = self.shard.front().doors.account();
        let mut answers = Answers::default();
        let mut rest = order.into_iter();
        if replicas.contains(&self.shard.address()) {
            rest.next();
            // Reading here first is nearly free, and saves the others sending the same value.
            let answer = match self.shard.read_cached(&request) {
                Some(answer) => answer,
                None => self.shard.read_disk(request.clone()).await,
            };
            answers.add(self.shard.address(), answer);
            // A large value waits here for the others.
            let waiting_bytes = answers.newest().map_or(0, |item| item.value.len());
            if waiting_bytes > COUNTED_BYTES {
                held.grow(waiting_bytes).map_err(|NoRoom| Failure::Full)?;
            }
            request.have = answers.newest().map(|item| item.stamp);
        }
        let need = quorum.ack as usize;
        if answers.count() < need {
            self.ask_others(&request, need, rest, &mut answers).await;
        }
        if answers.count() < need {
            self.ask_returned(&request, need, replicas, &mut answers)
                .await;
        }
        if answers.count() < need {
            return Err(Failure::NotEnoughReplicas {
                got: answers.count() as u8,
                need: quorum.ack,
            });
        }
        if self.shard.env().sabotage == Sabotage::FirstAnswer {
            return Ok(answers.first().cloned());
        }
        // Whoever reads next must not see less. Where those who answered agree, and stay the ones that
        // are read, nothing is waited for.
        let stays = placement.change.is_none() && Rc::ptr_eq(&placement, &self.shard.placement());
        if answers.agree() && (stays || !is_majority(quorum)) {
            return Ok(answers.into_newest());
        }
        let mended = self.mend_stale(&request, &answers);
        if is_majority(quorum) {
            self.await_shown(request, quorum, &answers, mended).await?;
        }
        Ok(answers.into_newest())
    }

    /// Asks again where too few answered, if more can be asked in a moment.
    async fn ask_returned(
        self: &Rc<Self>,
        request: &ReadRequest,
        need: usize,
        replicas: &[ShardAddress],
        answers: &mut Answers,
    ) {
        let reachable = || {
            replicas
                .iter()
                .filter(|r| self.shard.is_reachable(**r))
                .count()
        };
        let before = reachable();
        self.shard
            .wait_for_reach(replicas, || reachable() >= need)
            .await;
        if reachable() > before {
            let silent = replicas.iter().copied().filter(|r| !answers.has(*r));
            let silent: Vec<ShardAddress> =
                silent.filter(|r| self.shard.is_reachable(*r)).collect();
            self.ask_others(request, need, silent.into_iter(), answers)
                .await;
        }
    }

    async fn ask_others(
        self: &Rc<Self>,
        request: &ReadRequest,
        need: usize,
        mut rest: impl Iterator<Item = ShardAddress>,
        answers: &mut Answers,
    ) {
        let deadline = Instant::now() + READ_TIMEOUT;
        let mut asked: FuturesUnordered<Asked> = FuturesUnordered::new();
        loop {
            let wanted = need - answers.count();
            while asked.len() < wanted {
                match rest.next() {
                    Some(replica) => asked.push(self.ask(replica, request.clone())),
                    None => break,
                }
            }
            if asked.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                Some((from, answer)) = asked.next() => {
                    answers.add(from, answer);
                    if answers.count() >= need {
                        return;
                    }
                }
                () = tokio::time::sleep(HEDGE_AFTER) => {
                    if Instant::now() >= deadline {
                        return;
                    }
                    if let Some(replica) = rest.next() {
                        self.shard.counters().hedges.set(self.shard.counters().hedges.get() + 1);
                        asked.push(self.ask(replica, request.clone()));
                    }
                }
            }
        }
    }

    fn ask(self: &Rc<Self>, replica: ShardAddress, request: ReadRequest) -> Asked {
        let call = self
            .shard
            .peer(replica)
            .map(|p| self.call(&p, Request::Read(request), READ_TIMEOUT));
        Box::pin(async move {
            let answer = match call {
                Some(call) => call.await.ok(),
                None => None,
            };
            match answer {
                Some(Response::Read(answer)) => (replica, answer),
                // No answer counts for as little as a damaged one.
                _ => (replica, ReadAnswer::Unknown),
            }
        })
    }

    /// Sends the newest record to replicas that answered with an older one; what tells of each
    /// whether it has it then. It goes there whether or not that is waited for.
    fn mend_stale(self: &Rc<Self>, request: &ReadRequest, answers: &Answers) -> Vec<Mended> {
        let Some(newest) = answers.newest() else {
            return Vec::new();
        };
        let stale = answers.stale().into_iter();
        stale
            .map(|replica| self.send_newest(replica, request, newest))
            .collect()
    }

    /// Sends a replica the newest record, at once.
    fn send_newest(
        self: &Rc<Self>,
        replica: ShardAddress,
        request: &ReadRequest,
        newest: &Item,
    ) -> Mended {
        // What the reader asked for does not say who should hold it.
        let placement = self.shard.placement();
        let holds = placement
            .keyspace(request.keyspace)
            .is_some_and(|k| k.holds(replica, request.partition, newest.from));
        if !holds {
            return Box::pin(async move { (replica, true) });
        }
        self.shard
            .counters()
            .repairs
            .set(self.shard.counters().repairs.get() + 1);
        let mut item = newest.clone();
        item.key = request.key.clone();
        let entry = copy_of(item, request.keyspace, request.partition);
        if replica == self.shard.address() {
            let (tell, told) = oneshot::channel();
            let done = move || {
                let _ = tell.send(());
            };
            if self.shard.append_copies(vec![entry], done).is_err() {
                tracing::debug!("the own log refuses a repair");
            }
            return Box::pin(async move { (replica, told.await.is_ok()) });
        }
        let peer = self.shard.peer(replica);
        let call = peer.map(|peer| {
            let repair = Request::Repair(vec![entry.encode()]);
            self.call(&peer, repair, READ_TIMEOUT)
        });
        Box::pin(async move {
            let has_it = match call {
                Some(call) => matches!(call.await, Ok(Response::Done)),
                None => false,
            };
            (replica, has_it)
        })
    }

    /// Waits until so many replicas have the newest of the answers that every majority meets one, by
    /// the members as they are when it ends. `mended` is on its way already.
    async fn await_shown(
        self: &Rc<Self>,
        mut request: ReadRequest,
        quorum: Quorum,
        answers: &Answers,
        mended: Vec<Mended>,
    ) -> Result<(), Failure> {
        let Some(newest) = answers.newest() else {
            return Ok(());
        };
        request.have = Some(newest.stamp);
        let deadline = Instant::now() + READ_TIMEOUT;
        let need = quorum.ack as usize;
        let mut have = answers.fresh();
        let mut asked = answers.answered();
        let mut mended: FuturesUnordered<Mended> = mended.into_iter().collect();
        loop {
            let placement = self.shard.placement();
            let placed = placement
                .keyspace(request.keyspace)
                .ok_or(Failure::UnknownKeyspace)?;
            let replicas = placed.replicas(request.partition, quorum.from);
            let also = placed.also(request.partition, quorum.from);
            let lacking = Lacking::of(need, replicas, also, &have);
            // Nothing is waited for from here to the answer: these are the members it is true of.
            if lacking.is_nothing() {
                return Ok(());
            }
            // Who cannot take it, with a full disk for one, is not needed where another has it.
            for replica in lacking.whom_to_ask(replicas, also) {
                if !asked.contains(&replica) {
                    asked.push(replica);
                    let is_sent = !also.is_empty();
                    mended.push(self.look(replica, request.clone(), newest.clone(), is_sent));
                }
            }
            match tokio::time::timeout_at(deadline, mended.next()).await {
                Ok(Some((replica, has_it))) => {
                    if has_it {
                        have.push(replica);
                    }
                }
                Ok(None) | Err(_) => {
                    return Err(Failure::NotEnoughReplicas {
                        got: need.saturating_sub(lacking.most()) as u8,
                        need: quorum.ack,
                    });
                }
            }
        }
    }

    /// Asks a replica whether it has the newest record, and sends it there if it is to be.
    fn look(
        self: &Rc<Self>,
        replica: ShardAddress,
        request: ReadRequest,
        newest: Item,
        is_sent: bool,
    ) -> Mended {
        let coordinator = self.clone();
        // Sent at once.
        let asked = (replica != self.shard.address()).then(|| self.ask(replica, request.clone()));
        Box::pin(async move {
            let answer = match asked {
                Some(asked) => asked.await.1,
                None => match coordinator.shard.read_cached(&request) {
                    Some(answer) => answer,
                    None => coordinator.shard.read_disk(request.clone()).await,
                },
            };
            match answer {
                ReadAnswer::Same => (replica, true),
                ReadAnswer::Value(item) if item.rank() >= newest.rank() => (replica, true),
                ReadAnswer::Value(_) | ReadAnswer::Absent if is_sent => {
                    coordinator.send_newest(replica, &request, &newest).await
                }
                _ => (replica, false),
            }
        })
    }
}

/// Whether any two reads and writes like this meet.
fn is_majority(quorum: Quorum) -> bool {
    quorum.ack > quorum.from / 2
}
