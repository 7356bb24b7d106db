//! A shard's life on its event loop, from opening to closing.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_metadata::Metadata;
use dunlin_proto::{Introduction, Request, Response, ShardAddress};
use dunlin_rpc::transport::{Detached, Transport};
use dunlin_rpc::{Hello, Inbox, Status, Stream, TcpTransport, accept, serve_inbox};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::StartError;
use super::loops::Birth;
use crate::api;
use crate::api::gate::Gate;
use crate::config::NodeConfig;
use crate::env::Env;
use crate::process::Process;
use crate::serve::ShardService;
use crate::services::Services;
use crate::shard::{OpenError, Shard, ShardParts};

const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// How long HTTP clients of a start wait for a refill to end, and for connections to the other
/// nodes, before they are served without.
const READY_PATIENCE: Duration = Duration::from_secs(2);

/// A connection on its way to the shard that will serve it.
pub(super) enum Incoming {
    Http(api::Accepted),
    /// With what it opened with.
    Peer(Detached, Introduction),
}

/// Who this start of the node is.
pub(super) struct Assigned {
    /// The cluster's number, as origins have it.
    pub cluster: u16,
    pub node: u16,
    pub incarnation: u32,
    /// The start before it that the data directory knows of; 0 when it is new.
    pub known_incarnation: u32,
    /// The last one that the directory knew of, incarnations that were left out aside.
    pub remembered_incarnation: u32,
}

impl Assigned {
    fn address(&self, shard: u16) -> ShardAddress {
        let node = self.node;
        ShardAddress { node, shard }
    }
}

/// What the first shard's thread accepts for all.
type Front = (
    std::net::TcpListener,
    Vec<UnboundedSender<Incoming>>,
    oneshot::Sender<Result<String, StartError>>,
);

pub(super) struct Setup {
    pub config: Arc<NodeConfig>,
    pub shard: u16,
    pub metadata: Metadata,
    pub process: Process,
    pub inbox: Inbox<Request, Response>,
    pub incoming: UnboundedReceiver<Incoming>,
    pub front: Option<Front>,
    pub assigned: oneshot::Receiver<Assigned>,
    pub ready: oneshot::Sender<Result<(), OpenError>>,
    pub stopped: watch::Receiver<bool>,
    /// How many shards of the node still have clients.
    pub gates: watch::Sender<usize>,
}

/// How a shard closed; gone when it panicked.
pub(super) type Ended = oneshot::Receiver<Result<(), String>>;

/// Gives one shard to an event loop.
pub(super) fn spawn(setup: Setup) -> Result<Ended, StartError> {
    let name = format!("{}/{}", setup.config.name, setup.shard);
    let loops = setup.process.loops.clone();
    let (tell, ended) = oneshot::channel();
    let birth: Birth = Box::new(move || {
        Box::pin(async move {
            let tasks = LocalSet::new();
            let closed = tasks.run_until(live(setup)).await;
            // What its tasks hold, the files' locks among it, goes before it is said that it ended.
            drop(tasks);
            drop(tell.send(closed));
        })
    });
    match loops.place(birth) {
        Ok(()) => Ok(ended),
        Err(error) => Err(StartError::Data {
            path: name.into(),
            error,
        }),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "event loops of threads, which the simulation does not have, stop in any order"
)]
async fn live(mut setup: Setup) -> Result<(), String> {
    let begun = Instant::now();
    let mut listener = None;
    if let Some((http, incoming, bound)) = setup.front.take() {
        match TcpTransport.listen(&setup.config.listen).await {
            Ok(node) => {
                let address = node.local_addr().map_err(|e| e.to_string())?;
                drop(bound.send(Ok(address)));
                listener = Some((http, incoming, node));
            }
            Err(error) => {
                let address = setup.config.listen.clone();
                drop(bound.send(Err(StartError::Listen { address, error })));
                return Ok(());
            }
        }
    }
    let Ok(assigned) = setup.assigned.await else {
        return Ok(()); // the start was given up; whoever did so says why
    };
    let seed = u64::from(assigned.node) << 48
        ^ u64::from(assigned.incarnation) << 16
        ^ u64::from(setup.shard);
    let env = Env::real(&format!("{}/{}", setup.config.name, setup.shard), seed)
        .map_err(|e| e.to_string())?;
    let opened = Shard::open(ShardParts {
        config: setup.config.clone(),
        cluster: assigned.cluster,
        address: assigned.address(setup.shard),
        incarnation: assigned.incarnation,
        known_incarnation: assigned.known_incarnation,
        remembered_incarnation: assigned.remembered_incarnation,
        env,
        metadata: setup.metadata,
        process: setup.process.clone(),
    })
    .await;
    let shard = match opened {
        Ok(shard) => shard,
        Err(error) => {
            drop(setup.ready.send(Err(error)));
            return Ok(());
        }
    };
    let services = Services::new(shard.clone());
    services.run();
    let service = Rc::new(ShardService::new(services.clone(), None));
    tokio::task::spawn_local(serve_inbox(setup.inbox, service));
    let gate = Rc::new(Gate::new(services, READY_PATIENCE));
    setup.gates.send_modify(|open| *open += 1);
    tokio::task::spawn_local(take_incoming(setup.incoming, gate.clone()));
    let mut http_door = None;
    if let Some((http, incoming, node)) = listener {
        let name = setup.config.name.clone();
        let to_shards = incoming.clone();
        let guard = setup.config.guard.clone();
        let route = move |hello: Hello, stream: Box<dyn Stream>| {
            let wanted = Introduction::decode(hello.body, &name)
                .and_then(|said| Some((to_shards.get(said.shard as usize)?, said)));
            match wanted {
                Some((queue, said)) => {
                    if let Ok(detached) = stream.detach() {
                        drop(queue.send(Incoming::Peer(detached, said)));
                    }
                }
                None => {
                    tokio::task::spawn_local(async move {
                        drop(accept::refuse(stream, Status::NotServed, b"").await);
                    });
                }
            }
        };
        tokio::task::spawn_local(accept::run(node, HELLO_TIMEOUT, guard, route));
        let stalls = shard.stalls().clone();
        let door = tokio::task::spawn_local(api::accept_http(
            http,
            begun,
            stalls,
            setup.process.doors.clone(),
            setup.config.http_tls.clone(),
            move |turn, stream| {
                if let Some(queue) = incoming.get(turn % incoming.len()) {
                    drop(queue.send(Incoming::Http(stream)));
                }
            },
        ));
        http_door = Some(door.abort_handle());
    }
    gate.whole().await;
    drop(setup.ready.send(Ok(())));
    // An error means that the node was dropped, which stops it too.
    drop(setup.stopped.wait_for(|stop| *stop).await);
    if let Some(door) = http_door {
        door.abort();
    }
    // Clients first: what they have asked may need the others.
    gate.close().await;
    setup.gates.send_modify(|open| *open -= 1);
    // Those of other shards of this node may need this one. The sender is this shard's too.
    drop(setup.gates.subscribe().wait_for(|open| *open == 0).await);
    gate.services().leave().await;
    shard.close().await
}

async fn take_incoming(mut incoming: UnboundedReceiver<Incoming>, gate: Rc<Gate>) {
    while let Some(connection) = incoming.recv().await {
        match connection {
            Incoming::Http(accepted) => {
                let arrivals = accepted.arrivals(gate.shard().stalls());
                tokio::task::spawn_local(api::serve_http(accepted, arrivals, gate.clone()));
            }
            Incoming::Peer(detached, said) => {
                let services = gate.services().clone();
                tokio::task::spawn_local(async move {
                    if let Ok(stream) = detached.attach() {
                        services.serve_peer(stream, said).await;
                    }
                });
            }
        }
    }
}
