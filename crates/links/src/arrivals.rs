//! Links from other clusters, where their receiver keeps them: in `_system`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_node::http::Rejected;
use dunlin_node::{Failure, LinkedKeyspace, Services};
use dunlin_proto::Condition;
use dunlin_proto::api::LinkReport;
use hyper::StatusCode;
use tokio::time::Instant;

use crate::age::Age;
use crate::inbound::Inbound;
use crate::running::{Inlet, LinksAtShard};
use crate::system::write;

/// For so long the age of a link is not read again.
const KNOWN: Duration = Duration::from_secs(10);
/// Concurrent changes of a record are read again so often.
const TRIES: usize = 8;

fn key((keyspace, cluster, link): Inlet) -> Bytes {
    format!("link-in/{keyspace:08x}/{cluster:032x}/{link}").into()
}

async fn read(
    services: &Rc<Services>,
    system: u32,
    inlet: Inlet,
) -> Result<Option<(Inbound, Stamp)>, Rejected> {
    let item = services.read(system, &key(inlet)).await?;
    let parsed = item.map(|item| Ok((serde_json::from_slice(&item.value)?, item.stamp)));
    parsed.transpose().map_err(|error: serde_json::Error| {
        let line = format!("the record of this link cannot be read: {error}");
        Rejected::new(StatusCode::INTERNAL_SERVER_ERROR, line)
    })
}

/// Changes the record of a link; one that is missing is made.
async fn change(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    inlet: Inlet,
    change: impl Fn(Inbound) -> Inbound,
) -> Result<Age, Rejected> {
    let system = services.make_system().await?;
    let grace_ms = keyspace
        .record
        .settings
        .tombstone_grace_s
        .saturating_mul(1_000);
    for _ in 0..TRIES {
        let now_ms = services.now_ms();
        let known = read(services, system, inlet).await?;
        let before = known.as_ref().map(|(inbound, _)| inbound.clone());
        let inbound = change(before.clone().unwrap_or_else(|| Inbound::new(now_ms)));
        let (inbound, age) = inbound.check(now_ms, grace_ms);
        if before.as_ref() == Some(&inbound) {
            return Ok(age);
        }
        let condition = known.map_or(Condition::Absent, |(_, version)| Condition::Is(version));
        let value = serde_json::to_vec(&inbound).unwrap_or_default();
        match write(services, system, key(inlet), Some(value.into()), condition).await {
            Ok(_) => return Ok(age),
            Err(Failure::ConditionFailed(_)) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(Failure::Busy.into())
}

/// The age of a link whose batch has arrived.
pub(crate) async fn age(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    inlet: Inlet,
) -> Result<Age, Rejected> {
    let own = LinksAtShard::of(services);
    let known = own
        .as_ref()
        .and_then(|own| own.ages.borrow().get(&inlet).copied());
    if let Some((at, age)) = known
        && at.elapsed() < KNOWN
        && age != Age::Broken
    {
        return Ok(age);
    }
    let age = change(services, keyspace, inlet, |inbound| inbound).await?;
    if let Some(own) = own {
        own.ages.borrow_mut().insert(inlet, (Instant::now(), age));
    }
    Ok(age)
}

/// `POST /v1/keyspaces/NAME/link-progress`: the sender's report.
pub(crate) async fn report(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: &[u8],
) -> Result<Age, Rejected> {
    let wrong = |error: &dyn std::fmt::Display| {
        Rejected::bad(format!("the body is no report of a link: {error}"))
    };
    let report: LinkReport = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
    let cluster = u128::from_str_radix(&report.cluster, 16).map_err(|error| wrong(&error))?;
    let mut delivered = BTreeMap::new();
    for (home, text) in &report.delivered {
        let version = u64::from_str_radix(text, 16).map_err(|error| wrong(&error))?;
        delivered.insert(home.clone(), Version(version));
    }
    let inlet = (keyspace.record.id, cluster, report.link);
    change(services, keyspace, inlet, |inbound| {
        inbound.report(&report.name, &delivered, services.now_ms())
    })
    .await
}
