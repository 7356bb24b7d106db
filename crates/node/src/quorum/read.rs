//! A read: `ack` replicas are asked, one more whenever that takes too long; the
//! newest answer wins, and a replica seen to be stale is mended. A majority that did not agree does
//! so before the answer goes out: else the next reader could see an older value (decision 26).

use std::rc::Rc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Failure;
use super::decide::{Answers, Quorum, try_order};
use crate::env::LocalFuture;
use crate::limits::{HEDGE_AFTER, READ_TIMEOUT};
use crate::message::{Item, ReadAnswer, ReadRequest, Request, Response};
use crate::placement::ShardAddress;
use crate::replication::copy_of;
use crate::sabotage::Sabotage;
use crate::shard::Shard;

type Asked = LocalFuture<(ShardAddress, ReadAnswer)>;
type Mended = LocalFuture<bool>;

impl Shard {
    /// The newest record of a key among `ack` replicas, a tombstone too.
    pub async fn read_quorum(
        self: &Rc<Self>,
        keyspace: u32,
        key: &Bytes,
        quorum: Quorum,
    ) -> Result<Option<Item>, Failure> {
        let begun = Instant::now();
        let read = self.read_newest(keyspace, key, quorum).await;
        self.latency.record(begun);
        read
    }

    async fn read_newest(
        self: &Rc<Self>,
        keyspace: u32,
        key: &Bytes,
        quorum: Quorum,
    ) -> Result<Option<Item>, Failure> {
        self.counters.reads.set(self.counters.reads.get() + 1);
        self.serves(keyspace)?;
        let placement = self.placement();
        let placed = placement
            .keyspace(keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        let partition = placed.partition_of(key);
        let replicas = placed.replicas(partition, quorum.from);
        let order = try_order(replicas, self.address, self.next_turn(), |r| {
            self.is_reachable(r)
        });
        let mut request = ReadRequest {
            keyspace,
            partition,
            have: None,
            key: key.clone(),
        };
        let mut answers = Answers::default();
        let mut rest = order.into_iter();
        if replicas.contains(&self.address) {
            rest.next();
            // Reading here first is nearly free, and saves the others sending the same value.
            let answer = match self.read_cached(&request) {
                Some(answer) => answer,
                None => self.read_disk(request.clone()).await,
            };
            answers.add(self.address, answer);
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
        if self.env.sabotage == Sabotage::FirstAnswer {
            return Ok(answers.first().cloned());
        }
        if answers.agree() {
            return Ok(answers.into_newest());
        }
        let mut written_back = self.mend_stale(keyspace, partition, key, &answers);
        // Whoever reads next must not see less. Where those who answered agree, nothing is waited for.
        let lacking = need.saturating_sub(answers.count() - answers.stale().len());
        if lacking > 0 && is_majority(quorum) {
            // Who cannot take it, with a full disk for one, is not needed where another has it already.
            request.have = answers.newest().map(|item| item.stamp);
            for replica in replicas.iter().filter(|r| !answers.has(**r)) {
                let asked = self.ask(*replica, request.clone());
                written_back.push(Box::pin(async { asked.await.1 == ReadAnswer::Same }));
            }
            let got = self.await_written_back(written_back, lacking).await;
            if got < lacking {
                return Err(Failure::NotEnoughReplicas {
                    got: (need - lacking + got) as u8,
                    need: quorum.ack,
                });
            }
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
        let reachable = || replicas.iter().filter(|r| self.is_reachable(**r)).count();
        let before = reachable();
        self.wait_for_reach(replicas, || reachable() >= need).await;
        if reachable() > before {
            let silent = replicas.iter().copied().filter(|r| !answers.has(*r));
            let silent: Vec<ShardAddress> = silent.filter(|r| self.is_reachable(*r)).collect();
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
                        self.counters.hedges.set(self.counters.hedges.get() + 1);
                        asked.push(self.ask(replica, request.clone()));
                    }
                }
            }
        }
    }

    fn ask(self: &Rc<Self>, replica: ShardAddress, request: ReadRequest) -> Asked {
        let call = self
            .peer(replica)
            .map(|p| p.caller.call(Request::Read(request), READ_TIMEOUT));
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
    fn mend_stale(
        self: &Rc<Self>,
        keyspace: u32,
        partition: u16,
        key: &Bytes,
        answers: &Answers,
    ) -> Vec<Mended> {
        let mut mended: Vec<Mended> = Vec::new();
        let stale = answers.stale();
        let Some(newest) = answers.newest() else {
            return mended;
        };
        let placement = self.placement();
        for replica in stale {
            // What the reader asked for does not say who should hold it.
            let holds = placement
                .keyspace(keyspace)
                .is_some_and(|k| k.holds(replica, partition, newest.from));
            if !holds {
                mended.push(Box::pin(async { true }));
                continue;
            }
            self.counters.repairs.set(self.counters.repairs.get() + 1);
            let mut item = newest.clone();
            item.key = key.clone();
            let entry = copy_of(item, keyspace, partition);
            if replica == self.address {
                let (tell, told) = oneshot::channel();
                let done = move || {
                    let _ = tell.send(());
                };
                if self.append_copies(vec![entry], done).is_err() {
                    tracing::debug!("the own log refuses a repair");
                }
                mended.push(Box::pin(async { told.await.is_ok() }));
            } else if let Some(peer) = self.peer(replica) {
                let call = peer
                    .caller
                    .call(Request::Repair(vec![entry.encode()]), READ_TIMEOUT);
                mended.push(Box::pin(async { matches!(call.await, Ok(Response::Done)) }));
            }
        }
        mended
    }

    /// Waits until `enough` replicas have what they were sent; how many do.
    async fn await_written_back(&self, mended: Vec<Mended>, enough: usize) -> usize {
        let mut mended: FuturesUnordered<Mended> = mended.into_iter().collect();
        let mut got = 0;
        let gather = async {
            while got < enough
                && let Some(has_it) = mended.next().await
            {
                got += usize::from(has_it);
            }
        };
        // Timed out, those who have it by then count.
        drop(tokio::time::timeout(READ_TIMEOUT, gather).await);
        got
    }
}

/// Whether any two reads and writes like this meet.
fn is_majority(quorum: Quorum) -> bool {
    quorum.ack > quorum.from / 2
}
