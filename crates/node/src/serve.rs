//! Answering what other shards ask.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_proto::{
    Answerer, BEHIND, CANNOT, ClockAnswer, ReadAnswer, ReadRequest, Refusal, Request, Response,
    VectorsAnswer, VectorsRequest, WriteAnswer,
};
use dunlin_rpc::{Refused, Reply, Service, Sink, refusal};

use crate::sabotage::Sabotage;
use crate::serve_pages::Asked;
use crate::services::Services;
use crate::shard::{BatchDone, Shard, ShardStatus};

/// One shard as the answerer of calls.
pub struct ShardService {
    services: Rc<Services>,
    /// The node that calls; `None` within the process.
    asker: Option<u16>,
    /// By which step of its members it acts at least, as far as it has said so.
    step: Cell<u64>,
}

/// The step of a cluster whose members never changed: none is lower.
const FIRST_STEP: u64 = 3;

impl ShardService {
    /// For the calls of one connection, which the node with the number `asker` made, or another
    /// shard of this process.
    pub fn new(services: Rc<Services>, asker: Option<u16>) -> ShardService {
        ShardService {
            services,
            asker,
            step: Cell::new(FIRST_STEP),
        }
    }
}

const NO_PLUG: &str = "this node has no capability of that number";

/// Why nothing is answered that this node asks, if so.
fn refused(shard: &Shard, asker: Option<u16>) -> Option<&'static str> {
    // It goes by replicas that are no longer: what it asks and says must not count.
    if asker.is_some_and(|asker| shard.placement().is_dead(asker)) {
        return Some("the asking node is no part of the cluster");
    }
    let is_superseded = shard.is_superseded();
    is_superseded.then_some("another process runs as this node")
}

impl Service<Request, Response> for ShardService {
    fn open(&self, request: Request, sink: Sink<Response>) {
        if let Request::Plug { number, body } = request {
            if let Some(why) = refused(&self.services.shard, self.asker) {
                return sink.refuse(CANNOT, why);
            }
            return match self.services.plugged(number) {
                Some(plug) => plug.open(&self.services, body, sink),
                None => sink.refuse(CANNOT, NO_PLUG),
            };
        }
        let Some(asked) = Asked::of(request) else {
            return sink.refuse(refusal::NO_STREAM, "this is not answered with a stream");
        };
        let (services, asker) = (self.services.clone(), self.asker);
        sink.work(move |sink| async move {
            let is_refused = || refused(&services.shard, asker);
            asked.send_all(&services, is_refused, sink).await;
        });
    }

    fn notice(&self, request: Request) {
        let plug = match request {
            Request::Plug { number, body } => self.services.plugged(number).zip(Some(body)),
            _ => None,
        };
        let why = refused(&self.services.shard, self.asker);
        match (plug, why) {
            (Some((plug, body)), None) => plug.notice(&self.services, body),
            (_, why) => tracing::debug!(why, "a request without an answer was left out"),
        }
    }

    fn handle(&self, request: Request, reply: Reply<Response>) {
        let shard = &self.services.shard;
        if let Some(why) = refused(shard, self.asker) {
            return reply.refuse(CANNOT, why);
        }
        let placement = shard.placement();
        let is_fenced = self.asker.is_some_and(|asker| !placement.is_awaited(asker))
            && shard.env().sabotage != Sabotage::ServeBehind;
        if is_behind(&request, is_fenced, self.step.get(), placement.step()) {
            return reply.refuse(
                BEHIND,
                "the asking node acts by an older phase, or says none",
            );
        }
        match request {
            Request::Acts(step) => {
                self.step.set(step);
                reply.send(Response::Done);
            }
            Request::Write(write) => {
                let Ok(looked) = shard.may_stamp() else {
                    let refused = WriteAnswer::Refused(Refusal::Clock);
                    return reply.send(Response::Written(refused));
                };
                let busy = shard.busy();
                let done = move |answer| {
                    reply.send(Response::Written(answer));
                    drop(busy);
                };
                self.services
                    .coordinator
                    .enter(write, looked, Box::new(done));
            }
            Request::Read(read) => answer_read(shard, read, reply),
            Request::Replicate(batch) => {
                // Not its own owner: the answer waits in the shard's queue, and ends with it.
                let answerer = Rc::downgrade(shard);
                shard.append_batch(batch, move |answer| {
                    // Dropped, it is refused: what a twin has does not count.
                    if answerer.upgrade().is_some_and(|s| !s.is_superseded()) {
                        reply.send(Response::Replicated(answer));
                    }
                });
            }
            Request::Position(origin) => {
                reply.send(Response::Position(shard.has_up_to(origin)));
            }
            Request::Vectors(theirs) => answer_vector(shard, &theirs, reply),
            Request::Pull(pull) => {
                let replication = self.services.replication.clone();
                reply.work(async move { Ok(Response::Pulled(replication.serve_pull(pull).await)) });
            }
            Request::Scan(scan) => {
                let (coordinator, busy) = (self.services.coordinator.clone(), shard.busy());
                reply.work(async move {
                    let page = coordinator.serve_scan(scan).await;
                    drop(busy);
                    page.map(Response::Page)
                        .ok_or(Refused::new(CANNOT, "the range cannot be read"))
                });
            }
            Request::Repair(encoded) => answer_repair(shard, encoded, reply),
            Request::Status { counts_keys: false } => answer_status(&shard.status(), reply),
            Request::Status { counts_keys: true } => {
                let shard = shard.clone();
                tokio::task::spawn_local(async move {
                    answer_status(&shard.status_with_keys().await, reply);
                });
            }
            Request::Tail(tail) => {
                let moves = self.services.moves.clone();
                reply.work(async move { Ok(Response::Tail(moves.serve_tail(tail).await)) });
            }
            Request::Reach(asker) => reply.send(Response::Reached(shard.stands_to(asker))),
            Request::Leaving(asker) => {
                if let Some(peer) = shard.peer(asker) {
                    peer.is_leaving.set(true);
                }
                reply.send(Response::Done);
            }
            Request::Ready => {
                let shard = shard.clone();
                tokio::task::spawn_local(async move {
                    match serde_json::to_vec(&shard.lacks().await) {
                        Ok(json) => reply.send(Response::Ready(json.into())),
                        Err(error) => reply.refuse(CANNOT, &error.to_string()),
                    }
                });
            }
            Request::Far(far) => {
                let coordinator = self.services.coordinator.clone();
                reply.work(async move {
                    let page = coordinator.serve_far(far).await;
                    page.map(Response::Page)
                        .map_err(|why| Refused::new(CANNOT, why))
                });
            }
            Request::Clock(asked) => reply.send(Response::Clock(ClockAnswer {
                now_ms: shard.clock().now_ms(),
                drops: shard.drops_after(asked.order),
            })),
            Request::Snapshot(_) | Request::Fill(_) => {
                reply.refuse(CANNOT, "this is answered with a stream");
            }
            Request::Plug { number, body } => match self.services.plugged(number) {
                Some(plug) => plug.call(&self.services, body, reply),
                None => reply.refuse(CANNOT, NO_PLUG),
            },
            Request::Move => match serde_json::to_vec(&self.services.moves.state()) {
                Ok(json) => reply.send(Response::Moved(json.into())),
                Err(error) => reply.refuse(CANNOT, &error.to_string()),
            },
        }
    }
}

fn answer_status(status: &ShardStatus, reply: Reply<Response>) {
    match serde_json::to_vec(status) {
        Ok(json) => reply.send(Response::Status(json.into())),
        Err(error) => reply.refuse(CANNOT, &error.to_string()),
    }
}

/// Whether a request is by replicas that may be read no more, or that need not have what is shown. `said`
/// is the asker's step as it said it last, `own` the answerer's.
fn is_behind(request: &Request, is_fenced: bool, said: u64, own: u64) -> bool {
    match request {
        Request::Acts(step) => *step < own,
        Request::Read(_) | Request::Scan(_) | Request::Repair(_) => is_fenced && said < own,
        _ => false,
    }
}

fn answer_read(shard: &Rc<Shard>, read: ReadRequest, reply: Reply<Response>) {
    if shard.is_dropped(read.keyspace) {
        return reply.send(Response::Read(ReadAnswer::Unknown));
    }
    match shard.read_cached(&read) {
        Some(answer) => reply.send(Response::Read(answer)),
        None => {
            let (shard, busy) = (shard.clone(), shard.busy());
            tokio::task::spawn_local(async move {
                reply.send(Response::Read(shard.read_disk(read).await));
                drop(busy);
            });
        }
    }
}

/// The vector is told once everything it names has been applied: the asker may build on it.
fn answer_vector(shard: &Rc<Shard>, theirs: &VectorsRequest, reply: Reply<Response>) {
    let vector = shard.vector();
    for (origin, version) in theirs.vector.iter() {
        shard.is_far(version, vector.get(origin));
    }
    let answerer = Answerer {
        life: shard.life(),
        contradiction: shard.told_by(&theirs.asker),
        final_to: shard.final_to(),
    };
    shard.finish_after_queue(BatchDone::new(move |_, _| {
        reply.send(Response::Vectors(VectorsAnswer { vector, answerer }));
    }));
}

fn answer_repair(shard: &Rc<Shard>, encoded: Vec<Bytes>, reply: Reply<Response>) {
    let decoded: Result<Vec<Entry>, _> = encoded.into_iter().map(Entry::decode).collect();
    match decoded {
        Ok(entries) => {
            if let Err(nonsense) = shard.admit(&entries, None) {
                return reply.refuse(CANNOT, &nonsense.to_string());
            }
            if entries.iter().any(|entry| shard.is_dropped(entry.keyspace)) {
                return reply.refuse(CANNOT, "the keyspace is dropped");
            }
            // Refused by the log: the reply is dropped with the closure, which refuses the call.
            if let Err(error) = shard.append_copies(entries, move || reply.send(Response::Done)) {
                tracing::debug!(%error, "a repair was refused");
            }
        }
        Err(error) => reply.refuse(CANNOT, &error.to_string()),
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
