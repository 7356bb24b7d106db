//! A read: `ack` replicas are asked, one more whenever that takes too long; the
//! newest answer wins, and a replica seen to be stale is mended.

use std::rc::Rc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
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
            return Err(Failure::NotEnoughReplicas {
                got: answers.count() as u8,
                need: quorum.ack,
            });
        }
        if self.env.sabotage == Sabotage::FirstAnswer {
            return Ok(answers.first().cloned());
        }
        self.mend_stale(keyspace, partition, key, &answers);
        Ok(answers.newest().cloned())
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

    /// Sends the newest record to replicas that answered with an older one; nobody waits for it.
    fn mend_stale(self: &Rc<Self>, keyspace: u32, partition: u16, key: &Bytes, answers: &Answers) {
        let stale = answers.stale();
        let Some(newest) = answers.newest() else {
            return;
        };
        let placement = self.placement();
        for replica in stale {
            // The entry's own `from` says who should hold it, not the reader's.
            let holds = placement
                .keyspace(keyspace)
                .is_some_and(|k| k.holds(replica, partition, newest.from));
            if !holds {
                continue;
            }
            self.counters.repairs.set(self.counters.repairs.get() + 1);
            let mut item = newest.clone();
            item.key = key.clone();
            let entry = copy_of(item, keyspace, partition);
            if replica == self.address {
                if self.append_copies(vec![entry], || ()).is_err() {
                    tracing::debug!("the own log refuses a repair");
                }
            } else if let Some(peer) = self.peer(replica) {
                let call = peer
                    .caller
                    .call(Request::Repair(vec![entry.encode()]), READ_TIMEOUT);
                tokio::task::spawn_local(call);
            }
        }
    }
}
