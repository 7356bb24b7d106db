//! A shard's life on its event loop, from opening to closing.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_metadata::Metadata;
use dunlin_rpc::transport::{Detached, Transport};
use dunlin_rpc::{Inbox, Limits, TcpTransport, accept, serve_accepted, serve_inbox};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::StartError;
use super::loops::Birth;
use crate::api;
use crate::config::NodeConfig;
use crate::env::Env;
use crate::message::{Request, Response};
use crate::placement::ShardAddress;
use crate::process::{Process, shard_wanted};
use crate::shard::{OpenError, Shard, ShardParts, ShardService};

const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// How long HTTP clients of a start wait for a refill to end, and for connections to the other
/// nodes, before they are served without.
const READY_PATIENCE: Duration = Duration::from_secs(2);

/// A connection on its way to the shard that will serve it.
pub(super) enum Incoming {
    Http(std::net::TcpStream),
    /// With the number of the node that asks.
    Peer(Detached, u16),
}

/// What the metadata store gave the node.
pub(super) struct Assigned {
    pub node: u16,
    pub incarnation: u32,
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

async fn live(mut setup: Setup) -> Result<(), String> {
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
        address: ShardAddress {
            node: assigned.node,
            shard: setup.shard,
        },
        incarnation: assigned.incarnation,
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
    shard.run();
    let service = Rc::new(ShardService::new(shard.clone(), None));
    tokio::task::spawn_local(serve_inbox(setup.inbox, service));
    let whole = Rc::new(Whole {
        shard: shard.clone(),
        patience: Instant::now() + READY_PATIENCE,
    });
    tokio::task::spawn_local(take_incoming(setup.incoming, whole.clone()));
    if let Some((http, incoming, node)) = listener {
        let name = setup.config.name.clone();
        let to_shards = incoming.clone();
        tokio::task::spawn_local(accept::run(node, HELLO_TIMEOUT, move |hello, stream| {
            let wanted = shard_wanted(&hello, &name)
                .and_then(|(shard, asker)| Some((to_shards.get(shard as usize)?, asker)));
            match wanted {
                Some((queue, asker)) => {
                    if let Ok(detached) = stream.detach() {
                        drop(queue.send(Incoming::Peer(detached, asker)));
                    }
                }
                None => {
                    tokio::task::spawn_local(async move { drop(accept::refuse(stream).await) });
                }
            }
        }));
        tokio::task::spawn_local(api::accept_http(http, move |turn, stream| {
            if let Some(queue) = incoming.get(turn % incoming.len()) {
                drop(queue.send(Incoming::Http(stream)));
            }
        }));
    }
    whole.or_patience_ends().await;
    drop(setup.ready.send(Ok(())));
    // An error means that the node was dropped, which stops it too.
    drop(setup.stopped.wait_for(|stop| *stop).await);
    shard.close().await
}

/// A new node is whole as soon as the others have told it so, usually at once: a client that comes
/// right after the start should not meet one that cannot answer.
struct Whole {
    shard: Rc<Shard>,
    patience: Instant,
}

impl Whole {
    async fn or_patience_ends(&self) {
        self.wait(|shard| !shard.is_refilling()).await;
    }

    /// The same for clients: without the other nodes it could only refuse what they ask.
    async fn and_connected_or_patience_ends(&self) {
        self.wait(|shard| !shard.is_refilling() && shard.reaches_majority())
            .await;
    }

    async fn wait(&self, is_ready: impl Fn(&Shard) -> bool) {
        while !is_ready(&self.shard) && Instant::now() < self.patience {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn take_incoming(mut incoming: UnboundedReceiver<Incoming>, whole: Rc<Whole>) {
    while let Some(connection) = incoming.recv().await {
        match connection {
            Incoming::Http(stream) => {
                let whole = whole.clone();
                tokio::task::spawn_local(async move {
                    whole.and_connected_or_patience_ends().await;
                    api::serve_http(stream, whole.shard.clone()).await;
                });
            }
            Incoming::Peer(detached, asker) => {
                let service = Rc::new(ShardService::new(whole.shard.clone(), Some(asker)));
                tokio::task::spawn_local(async move {
                    if let Ok(stream) = detached.attach() {
                        serve_accepted(stream, service, Limits::default()).await;
                    }
                });
            }
        }
    }
}
