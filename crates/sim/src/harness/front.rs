//! The side of a node that clients see: takes what they ask and has a shard coordinate it, as
//! `api/` does for HTTP.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dunlin_entry::{Kind, Stamp, Version};
use dunlin_message::Message;
use dunlin_node::http::ask_plugged;
use dunlin_node::{Clock, Coordinator, Failure, Scan, Services};
use dunlin_proto::pairs::CheckedPairs;
use dunlin_proto::{Condition, DirectRequest, WriteRequest};
use dunlin_ranges::DirectSession;
use dunlin_rpc::{Limits, Reply, Transport, serve_stream};

use super::ask::{Ask, Told, Verb};
use super::clock::SimClock;
use super::transport::SimTransport;

/// Port on which nodes listen for clients.
pub const PORT: u16 = 8000;

/// Serves clients for as long as it is polled.
pub async fn run(shards: Vec<Rc<Services>>, clock: Arc<SimClock>) -> std::io::Result<()> {
    let mut listener = SimTransport.listen(&format!("0.0.0.0:{PORT}")).await?;
    let turn = Rc::new(Cell::new(0));
    loop {
        let (stream, _) = listener.accept().await?;
        let (shards, turn, clock) = (shards.clone(), turn.clone(), clock.clone());
        // A client without HTTP between stays at one shard.
        turn.set((turn.get() + 1) % shards.len());
        let own = shards[turn.get()].clone();
        let session = DirectSession::new(&own, Box::new(|_, _| true));
        let service = Rc::new(move |ask: Ask, reply: Reply<Told>| {
            if let Verb::Direct(request) = ask.verb {
                let (own, session) = (own.clone(), session.clone());
                tokio::task::spawn_local(async move {
                    reply.send(direct(&own, &session, request).await)
                });
                return;
            }
            turn.set((turn.get() + 1) % shards.len());
            let (services, clock) = (shards[turn.get()].clone(), clock.clone());
            tokio::task::spawn_local(
                async move { reply.send(answer(&services, &clock, ask).await) },
            );
        });
        tokio::task::spawn_local(serve_stream(stream, service, |_| true, Limits::default()));
    }
}

async fn direct(services: &Services, session: &DirectSession, request: Bytes) -> Told {
    if let Err(failure) = services.coordinator().shard().may_read() {
        return Told::Failed(failure.to_string());
    }
    let Ok(request) = DirectRequest::decode(request) else {
        return Told::Failed("this is no request".to_owned());
    };
    let mut bytes = BytesMut::new();
    session.reply(request).await.encode(&mut bytes);
    Told::Direct(bytes.freeze())
}

async fn answer(services: &Rc<Services>, clock: &SimClock, ask: Ask) -> Told {
    let coordinator = services.coordinator().clone();
    if let Err(failure) = coordinator.shard().may_read() {
        return Told::Failed(failure.to_string());
    }
    let told = match ask.verb.clone() {
        Verb::Get => get(&coordinator, &ask).await,
        Verb::Scan => scan(&coordinator, &ask).await,
        Verb::Put(condition, expires_in_ms, value) => {
            let expiry_ms = expires_in_ms.map(|ms| clock.now_ms().saturating_add(ms));
            write(&coordinator, ask, Kind::Put, condition, expiry_ms, value).await
        }
        Verb::Http(line, body) => {
            let (method, target) = line.split_once(' ').unwrap_or_default();
            let method = method.parse().unwrap_or_default();
            let told = ask_plugged(services, method, target, body).await;
            Ok(match told {
                Ok((status, body)) => Told::Http(status.as_u16(), body),
                Err(rejected) => Told::Http(rejected.status.as_u16(), rejected.line.into()),
            })
        }
        Verb::Bulk(pairs) => bulk(&coordinator, ask, pairs).await,
        Verb::Direct(_) => Ok(Told::Failed("this is for a connection".to_owned())),
        Verb::Delete => {
            let (kind, condition) = (Kind::Delete, Condition::None);
            write(&coordinator, ask, kind, condition, None, Bytes::new()).await
        }
    };
    told.unwrap_or_else(|failure| match failure {
        Failure::ConditionFailed(_) => Told::ConditionFailed,
        other => Told::Failed(other.to_string()),
    })
}

async fn get(coordinator: &Rc<Coordinator>, ask: &Ask) -> Result<Told, Failure> {
    let shard = coordinator.shard();
    let item = coordinator.read(ask.keyspace, &ask.key, ask.quorum).await?;
    Ok(Told::Found(match item {
        Some(item) if shard.shows(&item)? => Some((item.stamp, item.value)),
        _ => None,
    }))
}

async fn write(
    coordinator: &Rc<Coordinator>,
    ask: Ask,
    kind: Kind,
    condition: Condition,
    expiry_ms: Option<u64>,
    value: Bytes,
) -> Result<Told, Failure> {
    let (deadline, floor) = window(&ask);
    let request = WriteRequest {
        keyspace: ask.keyspace,
        kind,
        ack: ask.quorum.ack,
        from: ask.quorum.from,
        condition,
        expiry_ms,
        replaces: None,
        given: None,
        key: ask.key,
        value,
        deadline,
        floor,
    };
    Ok(Told::Written(coordinator.write(request).await?))
}

async fn bulk(coordinator: &Rc<Coordinator>, ask: Ask, body: Bytes) -> Result<Told, Failure> {
    let Ok(pairs) = CheckedPairs::check(body, usize::MAX) else {
        return Ok(Told::Failed("these are no pairs".to_owned()));
    };
    let (deadline, floor) = window(&ask);
    let stored = coordinator.bulk(ask.keyspace, ask.quorum, deadline, floor, pairs);
    stored.await.map(|()| Told::Written(Stamp::default()))
}

/// Until when an attempt may be stamped, and above what.
fn window(ask: &Ask) -> (Version, Version) {
    let end = |ms| Version::new(ms, u16::MAX);
    (
        ask.deadline_ms.map_or(Version::MAX, end),
        ask.after_ms.map_or(Version(0), end),
    )
}

async fn scan(coordinator: &Rc<Coordinator>, ask: &Ask) -> Result<Told, Failure> {
    let mut scan = Scan::begin(coordinator, ask.keyspace, Bytes::new(), None, ask.quorum)?;
    let mut found = Vec::new();
    loop {
        let page = scan.next_page().await?;
        if page.is_empty() {
            return Ok(Told::All(found));
        }
        found.extend(page.into_iter().map(|item| (item.key, item.value)));
    }
}
