//! Many writes of one request: none waits for the one before, and those that enter the log here need
//! no task of their own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dunlin_entry::{Kind, Stamp, Version};
use dunlin_proto::pairs::Pair;
use dunlin_proto::{Condition, Given, WriteAnswer, WriteRequest};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::attempt::Window;
use super::{Coordinator, Failure, Quorum};

/// Puts of one request that wait for their acknowledgements.
const IN_FLIGHT: usize = 4096;
/// Puts begun in one go; other requests have their turn after so many.
const BEGUN_AT_ONCE: usize = 512;

/// Writes with given timestamps that were not logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlreadyThere {
    /// Those that were there.
    pub held: u64,
    /// Those in place of which something newer was.
    pub older: u64,
}

impl AlreadyThere {
    /// One more, where this was found.
    fn and(mut self, given: Option<Given>, found: Stamp) -> AlreadyThere {
        if given.is_some_and(|given| given.stamp < found) {
            self.older += 1;
        } else {
            self.held += 1;
        }
        self
    }
}

/// What becomes of the puts that were begun here.
#[derive(Default)]
struct Begun {
    /// Its name.
    keyspace: String,
    waiting: Cell<usize>,
    there: Cell<AlreadyThere>,
    failure: RefCell<Option<Failure>>,
    /// Not written here: another replica may take them.
    elsewhere: RefCell<Vec<WriteRequest>>,
    answered: Notify,
}

impl Begun {
    fn note(&self, found: Option<(Given, Stamp)>) {
        if let Some((given, found)) = found {
            self.there.set(self.there.get().and(Some(given), found));
        }
    }
}

/// The wait for one answer. Dropped without one, as when the shard stops: the put goes elsewhere.
struct Ticket {
    begun: Rc<Begun>,
    put: Option<WriteRequest>,
    /// Until when the attempt under way may be stamped.
    until: Version,
}

impl Ticket {
    fn new(begun: &Rc<Begun>, put: WriteRequest, until: Version) -> Ticket {
        begun.waiting.set(begun.waiting.get() + 1);
        Ticket {
            begun: begun.clone(),
            put: Some(put),
            until,
        }
    }

    fn answer(mut self, answer: WriteAnswer) {
        let need = self.put.as_ref().map_or(0, |put| put.ack);
        let failure = match answer {
            WriteAnswer::Done(_) => None,
            WriteAnswer::Held(held) => {
                let given = self.put.as_ref().and_then(|put| put.given);
                let there = self.begun.there.get();
                self.begun.there.set(there.and(given, held));
                None
            }
            WriteAnswer::NotEnough { got } => Some(Failure::NotEnoughReplicas { got, need }),
            WriteAnswer::ConditionFailed(current) => Some(Failure::ConditionFailed(current)),
            WriteAnswer::Overtaken => Some(Failure::Overtaken),
            WriteAnswer::Beyond(_) => Some(Failure::Beyond(self.begun.keyspace.clone())),
            WriteAnswer::Refused(_) | WriteAnswer::TooLate(_) => {
                // Nothing was written here: the next attempt needs no floor for this one.
                self.until = Version(0);
                return;
            }
        };
        self.put = None;
        if failure.is_some() {
            *self.begun.failure.borrow_mut() = failure;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let begun = &self.begun;
        begun.waiting.set(begun.waiting.get() - 1);
        begun
            .elsewhere
            .borrow_mut()
            .extend(self.put.take().map(|put| WriteRequest {
                floor: put.floor.max(self.until),
                ..put
            }));
        begun.answered.notify_one();
    }
}

impl Coordinator {
    /// Puts `pairs`, as `write_all` does.
    ///
    /// # Errors
    /// The first failure. Any number of pairs may have been written by then.
    pub async fn bulk(
        self: &Rc<Self>,
        keyspace: u32,
        quorum: Quorum,
        deadline: Version,
        floor: Version,
        pairs: impl Iterator<Item = Pair>,
    ) -> Result<(), Failure> {
        let puts = pairs.map(|pair| WriteRequest {
            keyspace,
            kind: Kind::Put,
            ack: quorum.ack,
            from: quorum.from,
            condition: Condition::None,
            expiry_ms: pair.expires_ms,
            key: pair.key,
            value: pair.value,
            deadline,
            floor,
            replaces: None,
            given: None,
        });
        self.write_all(keyspace, quorum.from, (floor, deadline), puts)
            .await
            .map(drop)
    }

    /// Carries out writes to one keyspace, in no order; done when each is acknowledged as its quorum asks. Each is
    /// logged up to the deadline and above the floor, which are the same of all; without a deadline,
    /// [`Version::MAX`], only while this event loop has not stood still since they came. Answers how many of those with
    /// given timestamps were there already.
    ///
    /// # Errors
    /// The first failure. Any number of them may have been written by then.
    pub(crate) async fn write_all(
        self: &Rc<Self>,
        keyspace: u32,
        from: u8,
        (floor, deadline): (Version, Version),
        mut writes: impl Iterator<Item = WriteRequest>,
    ) -> Result<AlreadyThere, Failure> {
        let stalls = self.shard.stalls().count();
        self.shard.judged()?;
        self.shard.serves(keyspace)?;
        self.widen_for(keyspace, from).await?;
        let here = Rc::new(Begun {
            keyspace: self.shard.name_of(keyspace),
            ..Begun::default()
        });
        let mut elsewhere = FuturesUnordered::new();
        let mut is_begun = false;
        let mut is_more = true;
        loop {
            let looked = match self.shard.may_stamp() {
                Err(mistrust) if !is_begun => return Err(mistrust),
                looked => looked.ok(),
            };
            let window = match self.window(floor, deadline) {
                // Who sent them may have given up, and written something else since.
                _ if deadline == Version::MAX && self.shard.stalls().count() != stalls => {
                    Window::TooLate
                }
                window => window,
            };
            let until = match window {
                Window::Until(until) => until,
                // All is begun: only what is under way is still waited for.
                _ if !is_more => floor,
                // Nothing was written, which is said only where it is sure.
                Window::TooLate if !is_begun => return Err(Failure::TooLate),
                Window::TooLate => return Err(Failure::Overdue),
                Window::TooFarAhead => return Err(Failure::TooFarAhead),
            };
            for _ in 0..BEGUN_AT_ONCE {
                if here.waiting.get() + elsewhere.len() >= IN_FLIGHT {
                    break;
                }
                let Some(put) = writes.next() else {
                    is_more = false;
                    break;
                };
                is_begun = true;
                if let Some(looked) = looked
                    && self.enters_here(&put)?
                {
                    let ticket = Ticket::new(&here, put.clone(), until);
                    let attempt = WriteRequest {
                        deadline: until,
                        ..put
                    };
                    self.enter(
                        attempt,
                        looked,
                        Box::new(move |answer| ticket.answer(answer)),
                    );
                } else {
                    elsewhere.push(self.clone().put(put));
                }
            }
            // Begins those that go elsewhere, and takes what has been answered.
            while let Some(Some(answered)) = elsewhere.next().now_or_never() {
                here.note(answered?);
            }
            for put in here.elsewhere.take() {
                elsewhere.push(self.clone().put(put));
            }
            if let Some(failure) = here.failure.take() {
                return Err(failure);
            }
            let waiting = here.waiting.get() + elsewhere.len();
            if waiting == 0 && !is_more {
                return Ok(here.there.get());
            }
            if is_more && waiting < IN_FLIGHT {
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                biased;
                () = here.answered.notified() => {}
                Some(answered) = elsewhere.next() => {
                    here.note(answered?);
                }
            }
        }
    }

    /// Whether this shard is the entry replica of a put that can succeed now.
    fn enters_here(&self, put: &WriteRequest) -> Result<bool, Failure> {
        let placement = self.shard.placement();
        let keyspace = placement
            .keyspace(put.keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        let partition = keyspace.partition_of(&put.key);
        let replicas = keyspace.replicas(partition, put.from);
        if !keyspace.also(partition, put.from).is_empty() {
            // The partition is on its way to other nodes: that takes the longer way.
            return Ok(false);
        }
        let reachable = || {
            replicas
                .iter()
                .filter(|r| self.shard.is_reachable(**r))
                .count()
        };
        Ok(replicas.contains(&self.shard.address()) && reachable() >= put.ack as usize)
    }

    /// The timestamps of the write and of the record that was there already, if there was one.
    async fn put(self: Rc<Self>, put: WriteRequest) -> Result<Option<(Given, Stamp)>, Failure> {
        let given = put.given;
        let start = Instant::now();
        let written = self.write_to_replicas(put).await;
        self.shard.latency().record(start);
        match written {
            Ok(written) => Ok(given
                .filter(|_| written.is_held)
                .map(|g| (g, written.found))),
            // Others of the request may be written.
            Err(Failure::TooLate) => Err(Failure::Overdue),
            Err(failure) => Err(failure),
        }
    }
}
