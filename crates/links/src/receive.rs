//! The receiver's side: batches of entries from another cluster, and the description of a target.

use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Entry, Version, cluster_number};
use dunlin_metadata::Mode;
use dunlin_node::http::{Answer, Rejected, json};
use dunlin_node::{Failure, LinkedKeyspace, Services};
use dunlin_proto::api::{EntriesTaken, FutureEntry, LinkTarget};
use dunlin_proto::{Condition, Given, WriteRequest};
use futures_util::future::join_all;
use hyper::StatusCode;

use crate::batch::{Preamble, decode};
use crate::place::cluster_id;
use crate::refused::Refused;
use crate::running::{HAS_RECORD, NUMBER, times};
use crate::sources::homes;
use crate::{arrivals, repairs};

/// The timeout of the request whether a shard holds anything.
const ASK_TIMEOUT: Duration = Duration::from_secs(4);

/// The class of an entry before anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sorted {
    /// This cluster has made it.
    Own,
    /// Its timestamp is in the future.
    Future,
    /// It is written.
    Write,
}

/// Sorts an entry; `own` is the number of this cluster, and a timestamp above `limit` is in the future. Pure.
pub(crate) fn sort(entry: &Entry, own: u16, limit: Version, is_repair: bool) -> Sorted {
    if entry.stamp.origin.cluster() == own && !is_repair {
        Sorted::Own
    } else if entry.rank().height() > limit {
        Sorted::Future
    } else {
        Sorted::Write
    }
}

/// The state of a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub cluster: u128,
    pub keyspace: u32,
    pub now_ms: u64,
    pub bound_ms: u64,
    /// How long a batch counts.
    pub life_ms: u64,
}

/// Until when the entries of a batch may be logged. Pure.
pub(crate) fn admit(preamble: &Preamble, here: Receiver) -> Result<Version, Refused> {
    if preamble.cluster == here.cluster {
        return Err(Refused::SameCluster);
    }
    if cluster_number(preamble.cluster) == cluster_number(here.cluster) {
        return Err(Refused::SameNumber);
    }
    if preamble.keyspace != here.keyspace {
        return Err(Refused::Keyspace);
    }
    let ahead_ms = preamble.sent.millis().saturating_sub(here.now_ms);
    if ahead_ms > here.bound_ms {
        return Err(Refused::Clock(ahead_ms));
    }
    // The receiver bounds the life of a batch by its own clock.
    let life_ms = here.life_ms + here.bound_ms;
    let latest = Version::new(here.now_ms + life_ms, 0);
    let deadline = preamble.deadline.min(latest);
    if deadline <= Version::new(here.now_ms, 0) {
        return Err(Refused::Late);
    }
    Ok(deadline)
}

/// `POST /v1/keyspaces/NAME/entries`.
pub(crate) async fn entries(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: Bytes,
) -> Result<Answer, Rejected> {
    services.stamp_clock()?;
    let id = keyspace.record.id;
    let (preamble, entries) = decode(body).map_err(|error| Rejected::bad(error.to_string()))?;
    let here = Receiver {
        cluster: services.cluster_number(),
        keyspace: id,
        now_ms: services.now_ms(),
        bound_ms: services.clock_bound_ms(),
        life_ms: times(services).life_ms(),
    };
    let deadline = match admit(&preamble, here) {
        Ok(deadline) => deadline,
        Err(refused) => return Ok(refused.answer()),
    };
    let inlet = (id, preamble.cluster, preamble.link);
    let own = cluster_number(here.cluster);
    let numbers = entries.iter().map(|entry| entry.stamp.origin.cluster());
    let numbers = numbers.filter(|number| *number != own).collect();
    if let Some(refused) = arrivals::refusal(services, keyspace, inlet, &numbers).await? {
        return Ok(refused.answer());
    }
    if preamble.is_repair
        && let Some(refused) = repairs::refusal(services, keyspace, &preamble, &entries).await?
    {
        return Ok(refused.answer());
    }
    // Other nodes take over timestamps up to the bound from their own clocks, which may be behind this one.
    let limit = Version::new(here.now_ms, 0).plus_ms(here.bound_ms / 2);
    let mut taken = EntriesTaken::default();
    let mut writes = Vec::with_capacity(entries.len());
    for entry in entries {
        match sort(&entry, own, limit, preamble.is_repair) {
            Sorted::Own => taken.own += 1,
            Sorted::Future => taken.future.push(FutureEntry {
                key_base64: STANDARD.encode(&entry.key),
                version: entry.stamp.to_string(),
            }),
            Sorted::Write => writes.push(write(entry, keyspace, deadline)),
        }
    }
    let given = writes.iter().filter_map(|write| write.given);
    if let Some(newest) = given.map(|given| given.stamp.version).max() {
        services.observe(newest);
    }
    let count = writes.len() as u64;
    let there = services
        .write_given(id, keyspace.quorum, deadline, writes.into_iter())
        .await?;
    taken.held = there.held;
    taken.older = there.older;
    taken.logged = count - there.held - there.older;
    taken.clock_ms = services.now_ms();
    Ok(json(StatusCode::OK, &taken))
}

pub(crate) fn write(entry: Entry, keyspace: &LinkedKeyspace, deadline: Version) -> WriteRequest {
    WriteRequest {
        keyspace: keyspace.record.id,
        kind: entry.kind,
        ack: keyspace.quorum.ack,
        from: keyspace.quorum.from,
        condition: Condition::None,
        expiry_ms: entry.expiry_ms,
        key: entry.key,
        value: entry.value,
        deadline,
        floor: Version(0),
        replaces: entry.replaces,
        given: Some(Given {
            stamp: entry.stamp,
            is_expiry: entry.is_expiry,
        }),
    }
}

/// `GET /v1/keyspaces/NAME/link-target`.
pub(crate) async fn target(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
) -> Result<LinkTarget, Rejected> {
    let is_quorum = keyspace.record.settings.mode == Mode::Quorum;
    let id = keyspace.record.id;
    let sources = arrivals::sources(services, id).await?;
    let own = cluster_id(services);
    let homes = homes(&sources).into_iter().map(str::to_owned);
    Ok(LinkTarget {
        is_empty: !is_quorum || is_empty(services, id).await?,
        homes: homes.chain([own]).collect(),
        ..target_here(services, keyspace)
    })
}

/// The same, but for whether it is empty.
pub(crate) fn target_here(services: &Services, keyspace: &LinkedKeyspace) -> LinkTarget {
    let settings = &keyspace.record.settings;
    let is_quorum = settings.mode == Mode::Quorum;
    LinkTarget {
        cluster: cluster_id(services),
        keyspace_id: keyspace.record.id,
        mode: if is_quorum { "quorum" } else { "transactional" }.to_owned(),
        tombstone_grace_s: settings.tombstone_grace_s,
        max_body_bytes: services.max_body_bytes() as u64,
        clock_ms: services.now_ms(),
        clock_bound_ms: services.clock_bound_ms(),
        is_empty: false,
        homes: Vec::new(),
    }
}

/// Whether no shard of the cluster holds any record of a keyspace.
async fn is_empty(services: &Rc<Services>, keyspace: u32) -> Result<bool, Rejected> {
    let own = services.shard().address();
    let shards = services.all_shards().into_iter();
    let others = shards.filter(|(at, is_gone)| *at != own && !is_gone);
    let requests = others.map(|(at, _)| async move {
        let body = ask_has_record(keyspace);
        let answer = services.ask(at, NUMBER, body, ASK_TIMEOUT).await;
        (at, answer.ok().and_then(|answer| answer.first().copied()))
    });
    let mut has_any = services.has_record(keyspace).await?;
    for (at, answer) in join_all(requests).await {
        match answer {
            Some(0) => {}
            Some(1) => has_any = true,
            _ => {
                let line = format!(
                    "{} does not say whether it holds anything of the keyspace: all nodes must be up when a link is made",
                    services.label_of(at)
                );
                return Err(Rejected::new(StatusCode::SERVICE_UNAVAILABLE, line));
            }
        }
    }
    Ok(!has_any)
}

fn ask_has_record(keyspace: u32) -> Bytes {
    let mut out = BytesMut::with_capacity(5);
    out.put_u8(HAS_RECORD);
    out.put_u32_le(keyspace);
    out.freeze()
}

/// Answers that: 1 where this shard holds any, 0 where it holds none, 2 where it cannot say.
pub(crate) async fn has_record(services: &Rc<Services>, mut body: Bytes) -> Bytes {
    let answer = match body.try_get_u32_le() {
        // Not heard of yet, and so nothing of it can be here; but a write may be on its way.
        Ok(keyspace) => match services.has_record(keyspace).await {
            Ok(has_any) => u8::from(has_any),
            Err(Failure::UnknownKeyspace) => 0,
            Err(_) => 2,
        },
        Err(_) => 2,
    };
    Bytes::copy_from_slice(&[answer])
}

#[cfg(test)]
#[path = "receive_tests.rs"]
mod tests;
