//! A write: through the first reachable replica, which logs it and gathers the acknowledgements.

use std::rc::Rc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Failure;
use super::decide::try_order;
use crate::limits::ENTRY_TIMEOUT;
use crate::message::{Condition, Refusal, Request, Response, WriteAnswer, WriteRequest};
use crate::placement::ShardAddress;
use crate::shard::Shard;
use dunlin_store::Stamp;

impl Shard {
    /// Carries out a write, wherever its replicas are.
    pub async fn coordinate_write(
        self: &Rc<Self>,
        request: WriteRequest,
    ) -> Result<Stamp, Failure> {
        let begun = Instant::now();
        let written = self.write_to_replicas(request).await;
        self.latency.record(begun);
        written
    }

    async fn write_to_replicas(self: &Rc<Self>, request: WriteRequest) -> Result<Stamp, Failure> {
        let placement = self.placement();
        let keyspace = placement
            .keyspace(request.keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        let partition = keyspace.partition_of(&request.key);
        let replicas = keyspace.replicas(partition, request.from);
        let also = keyspace.also(partition, request.from);
        let reachable =
            |set: &[ShardAddress]| set.iter().filter(|r| self.is_reachable(**r)).count();
        let ack = request.ack as usize;
        if reachable(replicas) < ack || reachable(also) < ack.min(also.len()) {
            // Known beforehand: better refused than half done.
            return Err(Failure::NotEnoughReplicas {
                got: 0,
                need: request.ack,
            });
        }
        // Conditional writes to one key meet at one replica, where the order in which they came decides.
        let order: Vec<ShardAddress> = if request.condition == Condition::None {
            try_order(replicas, self.address, self.next_turn(), |r| {
                self.is_reachable(r)
            })
        } else {
            replicas
                .iter()
                .copied()
                .filter(|r| self.is_reachable(*r))
                .collect()
        };
        let mut failure = Failure::NotEnoughReplicas {
            got: 0,
            need: request.ack,
        };
        for entry in order {
            match self.write_through(entry, &request).await {
                Some(WriteAnswer::Done(stamp)) => return Ok(stamp),
                Some(WriteAnswer::ConditionFailed(current)) => {
                    return Err(Failure::ConditionFailed(current));
                }
                Some(WriteAnswer::NotEnough { got }) => {
                    return Err(Failure::NotEnoughReplicas {
                        got,
                        need: request.ack,
                    });
                }
                // Nothing was written there: another replica may take it.
                Some(WriteAnswer::Refused(refusal)) => failure = Failure::from(refusal),
                // Whether a conditional write happened is unknown, and trying it again would test its own effect.
                None if request.condition != Condition::None => break,
                None => {}
            }
        }
        Err(failure)
    }

    async fn write_through(
        self: &Rc<Self>,
        entry: ShardAddress,
        request: &WriteRequest,
    ) -> Option<WriteAnswer> {
        if entry == self.address {
            let (tell, told) = oneshot::channel();
            let done = Box::new(move |answer| drop(tell.send(answer)));
            self.write(request.clone(), done);
            // No answer: what became of it is not known.
            return told.await.ok();
        }
        let peer = self.peer(entry)?;
        if !peer.caller.is_connected() {
            return None;
        }
        let answer = peer
            .caller
            .call(Request::Write(request.clone()), ENTRY_TIMEOUT)
            .await;
        match answer {
            Ok(Response::Written(answer)) => Some(answer),
            _ => None,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSpace => Failure::NoSpace,
            Refusal::LogFailed => Failure::LogFailed,
            Refusal::Busy => Failure::Busy,
            Refusal::UnknownKeyspace => Failure::UnknownKeyspace,
        }
    }
}
