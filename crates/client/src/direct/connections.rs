//! Connections without HTTP between: one to any server, and one to each leader.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_proto::{
    DIRECT_FRAME_BYTES, DIRECT_PROTOCOL, DIRECT_SHARD, DirectKey, DirectLeader, DirectReply,
    DirectRequest, ShardAddress,
};
use dunlin_rpc::{Caller, ConnectOptions, Keepalive, attach};
use http_body_util::BodyExt;
use hyper::header::{CONNECTION, UPGRADE};
use hyper::{HeaderMap, Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::leaders::Leaders;
use crate::call::{Call, Opening, Reply, Servers, refusal};
use crate::error::ClientError;

/// When a server counts as lost.
const KEEPALIVE: Keepalive = Keepalive {
    ping_interval: Duration::from_secs(2),
    dead_after: Duration::from_secs(6),
};
/// After a leader could not be connected to, it is not tried again for so long.
const PAUSE: Duration = Duration::from_secs(2);

/// A connection, and the server behind it.
#[derive(Clone)]
pub(super) struct DirectConnection {
    /// The server, for people.
    pub server: String,
    /// Sends it requests.
    pub caller: Caller<DirectRequest, DirectReply>,
}

/// A leader's shard.
enum Link {
    Connecting,
    Failed(Instant),
    Connected(DirectConnection),
}

/// All connections of a client.
pub(super) struct Connections {
    pub servers: Arc<Servers>,
    /// To the server that is preferred, whichever shard of it.
    any: RefCell<Option<DirectConnection>>,
    /// Held by the one that connects.
    connecting: Mutex<()>,
    leaders: RefCell<Leaders>,
    links: RefCell<BTreeMap<ShardAddress, Link>>,
}

impl Connections {
    pub fn new(servers: Arc<Servers>) -> Rc<Connections> {
        Rc::new(Connections {
            servers,
            any: RefCell::default(),
            connecting: Mutex::default(),
            leaders: RefCell::default(),
            links: RefCell::default(),
        })
    }

    /// The best connection for a key: to the shard that leads its range, where that is known and connected.
    pub async fn best(&self, key: &DirectKey) -> Result<DirectConnection, ClientError> {
        match self.to_leader(key) {
            Some(connection) => Ok(connection),
            None => self.any().await,
        }
    }

    fn to_leader(&self, key: &DirectKey) -> Option<DirectConnection> {
        let at = self.leaders.borrow().find(key)?;
        match self.links.borrow().get(&at)? {
            Link::Connected(to) if to.caller.is_connected() => Some(to.clone()),
            _ => None,
        }
    }

    async fn any(&self) -> Result<DirectConnection, ClientError> {
        let live = || {
            let kept = self.any.borrow();
            kept.clone().filter(|kept| kept.caller.is_connected())
        };
        if let Some(connection) = live() {
            return Ok(connection);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(connection) = live() {
            return Ok(connection);
        }
        let (connection, _) = upgrade(&self.servers, self.servers.opening(&call()).await?).await?;
        self.any.replace(Some(connection.clone()));
        Ok(connection)
    }

    /// Goes on without a server that could not answer, and at the next where it was the preferred one.
    pub fn leave(&self, left: &DirectConnection) {
        self.links.borrow_mut().retain(|_, link| match link {
            Link::Connected(to) => to.server != left.server,
            _ => true,
        });
        let mut any = self.any.borrow_mut();
        if any.take_if(|any| any.server == left.server).is_some() {
            self.servers.prefer_next();
        }
    }

    /// A range is led elsewhere than at the shard that answered: it is connected to in the background.
    pub fn learn(self: &Rc<Self>, leader: DirectLeader) {
        let DirectLeader {
            span,
            at,
            shards,
            http,
        } = leader;
        self.leaders.borrow_mut().add(span, at);
        let now = Instant::now();
        let is_known = match self.links.borrow().get(&at) {
            Some(Link::Connecting) => true,
            Some(Link::Failed(since)) => now < *since + PAUSE,
            Some(Link::Connected(to)) => to.caller.is_connected(),
            None => false,
        };
        if is_known {
            return;
        }
        self.links.borrow_mut().insert(at, Link::Connecting);
        let all = self.clone();
        tokio::task::spawn_local(async move {
            let connected = all.connect(at, shards, &http).await;
            let link = connected.map_or(Link::Failed(Instant::now()), Link::Connected);
            all.links.borrow_mut().insert(at, link);
        });
    }

    /// Connects to a shard. A server gives connections to its shards in turn, so it may take several.
    async fn connect(&self, at: ShardAddress, shards: u16, http: &str) -> Option<DirectConnection> {
        let pool = self.servers.pool_at(http);
        let wanted = format!("{}/{}", at.node, at.shard);
        for _ in 0..2 * u32::from(shards.max(1)) {
            let opening = self.servers.opening_at(&pool, &call()).await.ok()?;
            let (connection, shard) = upgrade(&self.servers, opening).await.ok()?;
            if shard == wanted {
                return Some(connection);
            }
        }
        None
    }
}

fn call() -> Call {
    let mut call = Call::new(Method::GET, "/v1/direct".to_owned());
    call.header(CONNECTION.as_str(), "upgrade".to_owned());
    call.header(UPGRADE.as_str(), DIRECT_PROTOCOL.to_owned());
    call
}

/// Has a connection go on without HTTP; it, and the shard that serves it.
async fn upgrade(
    servers: &Servers,
    opening: Opening,
) -> Result<(DirectConnection, String), ClientError> {
    let Opening {
        server, response, ..
    } = opening;
    let interrupted = |reason: String| ClientError::Interrupted {
        server: server.clone(),
        reason,
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (parts, body) = response.into_parts();
        let body = body.collect().await;
        let body = body.map_err(|error| interrupted(error.to_string()))?;
        servers.prefer_next();
        return Err(refusal(Reply {
            server: server.clone(),
            head: Response::from_parts(parts, ()),
            body: body.to_bytes(),
        }));
    }
    let shard = shard_of(response.headers());
    let upgraded = hyper::upgrade::on(response).await;
    let upgraded = upgraded.map_err(|error| interrupted(error.to_string()))?;
    let stream = Box::new(TokioIo::new(upgraded));
    let options = ConnectOptions {
        keepalive: KEEPALIVE,
        frame_bytes_max: DIRECT_FRAME_BYTES,
        ..ConnectOptions::default()
    };
    let caller = attach(stream, &options);
    Ok((DirectConnection { server, caller }, shard))
}

fn shard_of(headers: &HeaderMap) -> String {
    let named = headers
        .get(DIRECT_SHARD)
        .and_then(|named| named.to_str().ok());
    named.unwrap_or_default().to_owned()
}
