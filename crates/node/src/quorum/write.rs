//! A write: through the first reachable replica, which logs it and gathers the acknowledgements.

use std::rc::Rc;

use dunlin_entry::{Stamp, Version};
use dunlin_proto::{
    Condition, Refusal, Request, Response, ShardAddress, WriteAnswer, WriteRequest,
};
use dunlin_rpc::CallError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::attempt::{Moment, Window, window};
use super::decide::try_order;
use super::{Coordinator, Failure};
use crate::limits::ENTRY_TIMEOUT;
use crate::shard::Looked;

/// The outcome of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub found: Stamp,
    /// The write has a given timestamp, and was there already, or a newer one with this.
    pub is_held: bool,
}

impl Written {
    fn new(found: Stamp, is_held: bool) -> Written {
        Written { found, is_held }
    }
}

/// What is known of one attempt.
enum Attempt {
    Answered(WriteAnswer),
    /// It was not sent.
    Unsent,
    /// It may be logged, now or later, up to its deadline.
    GivenUp,
}

impl Coordinator {
    /// Carries out a write, wherever its replicas are.
    pub async fn write(self: &Rc<Self>, request: WriteRequest) -> Result<Stamp, Failure> {
        self.shard.judged()?;
        let begun = Instant::now();
        let written = match self.ranges_of(request.keyspace) {
            Some(ranges) => {
                self.shard.serves(request.keyspace)?;
                ranges.write(request).await
            }
            None => self.write_to_replicas(request).await.map(|w| w.found),
        };
        self.shard.latency().record(begun);
        written
    }

    /// The same of a keyspace of mode quorum.
    pub(super) async fn write_to_replicas(
        self: &Rc<Self>,
        request: WriteRequest,
    ) -> Result<Written, Failure> {
        self.shard.serves(request.keyspace)?;
        self.widen_for(request.keyspace, request.from).await?;
        let placement = self.shard.placement();
        let keyspace = placement
            .keyspace(request.keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        let partition = keyspace.partition_of(&request.key);
        let replicas = keyspace.replicas(partition, request.from);
        let also = keyspace.also(partition, request.from);
        let reachable =
            |set: &[ShardAddress]| set.iter().filter(|r| self.shard.is_reachable(**r)).count();
        let ack = request.ack as usize;
        let is_enough = || reachable(replicas) >= ack && reachable(also) >= ack.min(also.len());
        if !is_enough() {
            let all: Vec<ShardAddress> = replicas.iter().chain(also).copied().collect();
            self.shard.wait_for_reach(&all, is_enough).await;
            if !is_enough() {
                // Known beforehand: better refused than half done.
                let (of_read, of_also) = (reachable(replicas), reachable(also));
                let is_read_short = of_read < ack;
                return Err(Failure::NotReached {
                    reached: if is_read_short { of_read } else { of_also } as u8,
                    need: request.ack,
                });
            }
        }
        let order = self.entry_order(replicas, request.condition);
        let unknown = Failure::NotEnoughReplicas {
            got: 0,
            need: request.ack,
        };
        let mut failure = unknown.clone();
        let mut floor = request.floor;
        let mut is_given_up = false;
        let stalls = self.shard.stalls().count();
        let mut entries = order.into_iter();
        let mut entry = entries.next();
        let mut learned = false;
        while let Some(at) = entry {
            let looked = match self.shard.may_stamp() {
                Ok(looked) => looked,
                Err(mistrust) => {
                    failure = mistrust;
                    break;
                }
            };
            let deadline = match self.window(floor, request.deadline) {
                // This loop stood still since the write came: the client may have given it up.
                _ if self.shard.stalls().count() != stalls && request.deadline == Version::MAX => {
                    failure = Failure::TooLate;
                    break;
                }
                Window::Until(deadline) => deadline,
                Window::TooLate => {
                    failure = Failure::TooLate;
                    break;
                }
                Window::TooFarAhead => {
                    failure = Failure::TooFarAhead;
                    break;
                }
            };
            let attempt = WriteRequest {
                deadline,
                floor,
                ..request.clone()
            };
            match self.write_through(at, attempt, looked).await {
                Attempt::Answered(WriteAnswer::Done(stamp)) => {
                    return Ok(Written::new(stamp, false));
                }
                Attempt::Answered(WriteAnswer::Held(stamp)) => {
                    return Ok(Written::new(stamp, true));
                }
                Attempt::Answered(WriteAnswer::ConditionFailed(current)) => {
                    return Err(Failure::ConditionFailed(current));
                }
                Attempt::Answered(WriteAnswer::NotEnough { got }) => {
                    return Err(Failure::NotEnoughReplicas {
                        got,
                        need: request.ack,
                    });
                }
                Attempt::Answered(WriteAnswer::Overtaken) => return Err(Failure::Overtaken),
                Attempt::Answered(WriteAnswer::Beyond(_)) => {
                    return Err(Failure::Beyond(self.shard.name_of(request.keyspace)));
                }
                // Nothing was written there: another replica may take it.
                Attempt::Answered(WriteAnswer::Refused(refusal)) => {
                    failure = Failure::from(refusal);
                }
                // The entry's clock is ahead of this one, which does not know it yet.
                Attempt::Answered(WriteAnswer::TooLate(clock)) => {
                    failure = Failure::TooLate;
                    if !learned && self.shard.clock().observe(clock) {
                        learned = true;
                        continue;
                    }
                }
                Attempt::Unsent => {}
                Attempt::GivenUp => {
                    floor = deadline;
                    is_given_up = true;
                    // Whether a conditional write happened is unknown, and trying it again would
                    // test its own effect.
                    if request.condition != Condition::None {
                        break;
                    }
                }
            }
            entry = entries.next();
            learned = false;
        }
        // Only where nothing was given up is it known that nothing was written.
        Err(if is_given_up { unknown } else { failure })
    }

    /// The replicas to try as the entry of a write, in order.
    fn entry_order(&self, replicas: &[ShardAddress], condition: Condition) -> Vec<ShardAddress> {
        // Conditional writes to one key meet at one replica, where the order in which they came decides.
        let is_reachable = |replica: ShardAddress| self.shard.is_reachable(replica);
        if condition == Condition::None {
            let own = self.shard.address();
            return try_order(replicas, own, self.shard.next_turn(), is_reachable);
        }
        let reachable = replicas.iter().copied();
        reachable.filter(|replica| is_reachable(*replica)).collect()
    }

    /// Until when an attempt may be stamped that begins now.
    pub(crate) fn window(&self, floor: Version, deadline: Version) -> Window {
        let now = Moment {
            wall: Version::new(self.shard.clock().now_ms(), 0),
            hybrid: self.shard.clock().now(),
            bound_ms: self.shard.clock().bound_ms(),
        };
        window(now, floor, deadline)
    }

    async fn write_through(
        self: &Rc<Self>,
        entry: ShardAddress,
        attempt: WriteRequest,
        looked: Looked,
    ) -> Attempt {
        // Nothing is waited for up to here.
        if entry == self.shard.address() {
            let (tell, told) = oneshot::channel();
            let done = Box::new(move |answer| drop(tell.send(answer)));
            self.enter(attempt, looked, done);
            // No answer: what became of it is not known.
            return told.await.map_or(Attempt::GivenUp, Attempt::Answered);
        }
        let Some(peer) = self.shard.peer(entry) else {
            return Attempt::Unsent;
        };
        if !peer.caller.is_connected() {
            return Attempt::Unsent;
        }
        let answer = peer
            .caller
            .call(Request::Write(attempt), ENTRY_TIMEOUT)
            .await;
        match answer {
            Ok(Response::Written(answer)) => Attempt::Answered(answer),
            Err(CallError::Overloaded | CallError::TooLarge { .. }) => Attempt::Unsent,
            _ => Attempt::GivenUp,
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
            Refusal::Clock => Failure::Clock(
                "no replica of the key that can be asked has a clock that is known to be right: see dunlin status".into(),
            ),
        }
    }
}
