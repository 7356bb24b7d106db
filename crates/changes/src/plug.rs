//! What plugs into the node: the paths of change streams, and requests of other shards.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_metadata::Role;
use dunlin_node::http::{Answer, Ask, LocalFuture, Need, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged};
use dunlin_node::{FollowError, Services};
use dunlin_proto::api::StreamStatus;
use dunlin_proto::{CANNOT, Response, TokenError};
use dunlin_rpc::{Reply, Sink};
use hyper::Method;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::gauge::Streams;
use crate::item::{Item, Open, What};
use crate::lease::{self, Leaving};
use crate::pins::Pins;
use crate::places::Places;
use crate::reading::{Reading, beginning};
use crate::subscription::{PARAMS, Subscription};
use crate::tail::Tails;
use crate::target;
use crate::turn::Turns;
use crate::{body, cursor_http};

/// Its number among the capabilities.
pub(crate) const NUMBER: u8 = 1;

const READ: Need = Need::Keyspace(Role::Read);
const WRITE: Need = Need::Keyspace(Role::Write);
const OF_CURSORS: &[Rule] = &[Rule::new(Method::GET, &[], READ)];
const OF_CURSOR: &[Rule] = &[
    Rule::new(Method::GET, &[], READ),
    Rule::new(Method::PUT, &[], WRITE),
    Rule::new(Method::DELETE, &[], WRITE),
];
const OF_COMMIT: &[Rule] = &[Rule::new(Method::POST, &[], WRITE)];
/// How often it is looked what cursors still need of the log.
const PIN_INTERVAL: Duration = Duration::from_secs(5);
/// How often memory for clients that do not read is bounded.
const BOUND_INTERVAL: Duration = Duration::from_millis(500);
/// For whom all of the log is kept before the cursors are read, for a minute at most.
const ALL_CURSORS: &str = "cursors, which could not be read yet";
const OF_CHANGES: &[Rule] = &[Rule::new(Method::GET, PARAMS, READ)];

/// Change streams.
#[derive(Debug)]
pub struct Changes;

impl Plug for Changes {
    fn attach(&self) -> Rc<dyn Plugged> {
        let (behind, leaving) = lease::channel();
        Rc::new(AtShard {
            behind,
            leaving: RefCell::new(Some(leaving)),
            tails: Rc::default(),
            streams: Rc::default(),
            places: Rc::default(),
            turns: Turns::default(),
        })
    }
}

/// Change streams at one shard.
pub(crate) struct AtShard {
    /// Takes cursors whose streams broke off.
    behind: UnboundedSender<Leaving>,
    leaving: RefCell<Option<UnboundedReceiver<Leaving>>>,
    /// The ends of logs that are read for many.
    pub tails: Rc<Tails>,
    pub streams: Rc<Streams>,
    pub places: Rc<Places>,
    pub turns: Turns,
}

impl AtShard {
    /// Those of a shard, where they are plugged in.
    pub fn of(services: &Services) -> Option<Rc<AtShard>> {
        services.find()
    }
}

impl Plugged for AtShard {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]> {
        match parts {
            ["keyspaces", _, "changes"] => Some(OF_CHANGES),
            ["keyspaces", _, "cursors"] => Some(OF_CURSORS),
            ["keyspaces", _, "cursors", _] => Some(OF_CURSOR),
            ["keyspaces", _, "cursors", _, "commit" | "renew"] => Some(OF_COMMIT),
            _ => None,
        }
    }

    fn http(&self, services: Rc<Services>, ask: Ask) -> LocalFuture<Result<Answer, Rejected>> {
        if ask.parts.get(2).is_some_and(|part| part == "cursors") {
            return Box::pin(cursor_http::answer(services, ask));
        }
        let behind = self.behind.clone();
        Box::pin(async move {
            let subscription = Subscription::of(&services, &ask, behind).await?;
            Ok(body::answer(services, subscription, ask))
        })
    }

    fn run(&self, services: &Rc<Services>) {
        if let Some(leaving) = self.leaving.take() {
            let services = Rc::downgrade(services);
            tokio::task::spawn_local(lease::release_all(services, leaving));
        }
        let streams = Rc::downgrade(&self.streams);
        tokio::task::spawn_local(async move {
            while let Some(streams) = streams.upgrade() {
                streams.bound();
                drop(streams);
                tokio::time::sleep(BOUND_INTERVAL).await;
            }
        });
        // What they need is not known yet.
        services.followers().keep_all(ALL_CURSORS);
        let services = Rc::downgrade(services);
        tokio::task::spawn_local(async move {
            let mut pins = Pins::default();
            while let Some(services) = services.upgrade() {
                if pins.renew(&services).await {
                    services.followers().let_go(ALL_CURSORS);
                }
                drop(services);
                tokio::time::sleep(PIN_INTERVAL).await;
            }
        });
    }

    fn streams(&self, services: &Services) -> Vec<StreamStatus> {
        self.streams.status(services)
    }

    fn call(&self, services: &Rc<Services>, body: Bytes, reply: Reply<Response>) {
        reply.send(Response::Plug(target::answer(services, body)));
    }

    fn open(&self, services: &Rc<Services>, body: Bytes, sink: Sink<Response>) {
        let open = match Open::decode(body) {
            Ok(open) => open,
            Err(malformed) => return sink.refuse(CANNOT, &malformed.to_string()),
        };
        let services = services.clone();
        sink.work(move |sink| send_all(services, open, sink));
    }
}

/// Streams one follower to another shard.
async fn send_all(services: Rc<Services>, open: Open, mut sink: Sink<Response>) {
    let keyspace = open.keyspace;
    let mut reading = match Reading::open(&services, open).await {
        Ok(reading) => reading,
        Err(FollowError::Token(TokenError::PutBack(_))) => {
            let cluster = services.cluster_number();
            let item = Item {
                what: What::PutBack,
                token: Rc::new(beginning(cluster, keyspace)),
                end: 0,
                forgotten: Version(0),
                is_done: true,
            };
            // Nobody is there any more where it cannot be sent.
            drop(sink.send(Response::Plug(item.encode())).await);
            return sink.end();
        }
        Err(error) => return sink.refuse(CANNOT, &error.to_string()),
    };
    loop {
        let item = match reading.next().await {
            Ok(item) => item,
            Err(error) => return sink.refuse(CANNOT, &error.to_string()),
        };
        let is_done = item.is_done;
        if let Err(error) = sink.send(Response::Plug(item.encode())).await {
            tracing::debug!(%error, "a change stream of another shard ends");
            return;
        }
        if is_done {
            return sink.end();
        }
    }
}
