//! Links from other clusters, where their receiver keeps them: in `_system`.

use std::collections::BTreeSet;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Stamp, cluster_number};
use dunlin_node::http::Rejected;
use dunlin_node::{Failure, LinkedKeyspace, Sabotage, Services};
use dunlin_proto::Condition;
use dunlin_proto::api::LinkReport;
use hyper::StatusCode;
use tokio::time::Instant;

use crate::age::{Age, Checked};
use crate::home::home_of;
use crate::inbound::Inbound;
use crate::refused::Refused;
use crate::running::{Inlet, LinksAtShard, times};
use crate::sources::{Source, homes};
use crate::system::{list, write};

/// Concurrent changes of a record are read again so often.
const TRIES: usize = 8;

fn prefix(keyspace: u32) -> String {
    format!("link-in/{keyspace:08x}/")
}

fn key((keyspace, cluster, link): Inlet) -> Bytes {
    let prefix = prefix(keyspace);
    format!("{prefix}{cluster:032x}/{link}").into()
}

/// The link of a key behind `link-in/`.
fn inlet(key: &[u8]) -> Option<Inlet> {
    let key = std::str::from_utf8(key).ok()?.strip_prefix("link-in/")?;
    let mut parts = key.split('/');
    let keyspace = u32::from_str_radix(parts.next()?, 16).ok()?;
    let cluster = u128::from_str_radix(parts.next()?, 16).ok()?;
    Some((keyspace, cluster, parts.next()?.parse().ok()?))
}

async fn of_prefix(services: &Rc<Services>, prefix: String) -> Result<Vec<(u32, Source)>, Failure> {
    let mut sources = Vec::new();
    for item in list(services, prefix).await? {
        match (inlet(&item.key), serde_json::from_slice(&item.value)) {
            (Some((keyspace, cluster, link)), Ok(inbound)) => {
                let cluster = format!("{cluster:032x}");
                let source = Source {
                    cluster,
                    link,
                    inbound,
                };
                sources.push((keyspace, source));
            }
            (_, failed) => {
                let key = String::from_utf8_lossy(&item.key);
                tracing::warn!(%key, ?failed, "the record of a link from another cluster cannot be read");
            }
        }
    }
    Ok(sources)
}

/// The links from other clusters to a keyspace.
pub(crate) async fn sources(
    services: &Rc<Services>,
    keyspace: u32,
) -> Result<Vec<Source>, Failure> {
    let all = of_prefix(services, prefix(keyspace)).await?;
    Ok(all.into_iter().map(|(_, source)| source).collect())
}

/// The links from other clusters to keyspaces in use.
pub(crate) async fn all(services: &Rc<Services>) -> Result<Vec<(LinkedKeyspace, Source)>, Failure> {
    let all = of_prefix(services, "link-in/".to_owned()).await?;
    let named = |(id, source): (u32, Source)| {
        let keyspace = services.linked_keyspace(&services.keyspace_name(id))?;
        (keyspace.record.id == id).then_some((keyspace, source))
    };
    Ok(all.into_iter().filter_map(named).collect())
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

/// Changes the record of a link, and checks its age; a record that is missing is made.
async fn change(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    inlet: Inlet,
    change: impl Fn(Inbound) -> Inbound,
) -> Result<(Inbound, Checked), Rejected> {
    let system = services.make_system().await?;
    let sender = format!("{:032x}", inlet.1);
    for _ in 0..TRIES {
        let now_ms = services.now_ms();
        let known = read(services, system, inlet).await?;
        let before = known.as_ref().map(|(inbound, _)| inbound.clone());
        let inbound = change(before.clone().unwrap_or_else(|| Inbound::new(now_ms)));
        let (inbound, checked) = inbound.check(&sender, now_ms, grace_ms(services, keyspace));
        if before.as_ref() == Some(&inbound) {
            return Ok((inbound, checked));
        }
        let condition = known.map_or(Condition::Absent, |(_, version)| Condition::Is(version));
        let value = serde_json::to_vec(&inbound).unwrap_or_default();
        match write(services, system, key(inlet), Some(value.into()), condition).await {
            Ok(_) => return Ok((inbound, checked)),
            Err(Failure::ConditionFailed(_)) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(Failure::Busy.into())
}

/// The tombstone grace of a keyspace, in milliseconds.
pub(crate) fn grace_ms(services: &Services, keyspace: &LinkedKeyspace) -> u64 {
    let settings = &keyspace.record.settings;
    match services.sabotage() {
        Sabotage::LinkNoAge => u64::MAX,
        _ => settings.tombstone_grace_s.saturating_mul(1_000),
    }
}

/// Why entries of the clusters with these numbers are refused that arrive over a link, if so.
pub(crate) async fn refusal(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    inlet: Inlet,
    numbers: &BTreeSet<u16>,
) -> Result<Option<Refused>, Rejected> {
    let own = LinksAtShard::of(services);
    let known = own
        .as_ref()
        .and_then(|own| own.inlets.borrow().get(&inlet).cloned());
    if let Some((at, brings)) = known
        && at.elapsed() < times(services).known
        && numbers.is_subset(&brings)
    {
        return Ok(None);
    }
    let (inbound, checked) = change(services, keyspace, inlet, |inbound| inbound).await?;
    let brings = inbound.numbers();
    let has_unreported = !numbers.is_subset(&brings);
    let refusal = of_link(&inbound, &checked).or(has_unreported.then_some(Refused::Home));
    if let Some(own) = own {
        let mut inlets = own.inlets.borrow_mut();
        if refusal.is_none() {
            inlets.insert(inlet, (Instant::now(), Rc::new(brings)));
        } else {
            inlets.remove(&inlet);
        }
    }
    Ok(refusal)
}

/// `POST /v1/keyspaces/NAME/link-progress`: the sender's report. Why its link is refused, if so.
pub(crate) async fn report(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: &[u8],
) -> Result<Option<Refused>, Rejected> {
    let wrong = |error: &dyn std::fmt::Display| {
        Rejected::bad(format!("the body is no report of a link: {error}"))
    };
    let report: LinkReport = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
    let cluster = u128::from_str_radix(&report.cluster, 16).map_err(|error| wrong(&error))?;
    let mut ids = BTreeSet::from([services.cluster_number(), cluster]);
    for key in report.homes.keys() {
        ids.insert(u128::from_str_radix(home_of(key).0, 16).map_err(|error| wrong(&error))?);
    }
    let id = keyspace.record.id;
    let sources = sources(services, id).await?;
    let known = homes(&sources).into_iter();
    ids.extend(known.filter_map(|home| u128::from_str_radix(home, 16).ok()));
    let numbers: BTreeSet<u16> = ids.iter().map(|id| cluster_number(*id)).collect();
    if numbers.len() < ids.len() {
        return Ok(Some(Refused::SameNumber));
    }
    let (now_ms, bound_ms) = (services.now_ms(), services.clock_bound_ms());
    let changed = change(services, keyspace, (id, cluster, report.link), |inbound| {
        let names = (report.name.as_str(), report.prefix.as_str());
        let mut inbound = inbound.report(names, &report.homes, (now_ms, bound_ms));
        inbound.keyspace_id = report.keyspace_id;
        if report.is_dropped {
            inbound.drop_link(now_ms)
        } else {
            inbound
        }
    });
    let (inbound, checked) = changed.await?;
    Ok(of_link(&inbound, &checked))
}

/// Why all of a link is refused, if so.
fn of_link(inbound: &Inbound, checked: &Checked) -> Option<Refused> {
    match checked.age {
        _ if inbound.is_dropped() => Some(Refused::Dropped),
        Age::Broken => Some(Refused::Broken),
        Age::Good | Age::Late => None,
    }
}

/// Number of the keyspace that a link from another cluster leads from; 0 where that was not reported.
pub(crate) async fn sender_keyspace(
    services: &Rc<Services>,
    inlet: Inlet,
) -> Result<u32, Rejected> {
    let system = services.make_system().await?;
    let known = read(services, system, inlet).await?;
    Ok(known.map_or(0, |(inbound, _)| inbound.keyspace_id))
}

/// Refuses a link from now on.
pub(crate) async fn refuse(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    (cluster, link): (u128, u32),
) -> Result<(), Rejected> {
    let inlet = (keyspace.record.id, cluster, link);
    let system = services.make_system().await?;
    if read(services, system, inlet).await?.is_none() {
        let line =
            "there is no such link from another cluster: dunlin link list shows which there are";
        return Err(Rejected::new(StatusCode::NOT_FOUND, line));
    }
    let now_ms = services.now_ms();
    change(services, keyspace, inlet, |inbound| {
        inbound.drop_link(now_ms)
    })
    .await?;
    Ok(())
}

/// Notes which links are broken, though nothing arrives over them: a grace that is raised later takes nothing back.
pub(crate) async fn check_ages(services: &Rc<Services>) -> Result<(), Rejected> {
    for (keyspace, source) in all(services).await? {
        let (now_ms, grace_ms) = (services.now_ms(), grace_ms(services, &keyspace));
        let inbound = source.inbound.clone();
        let (checked, _) = inbound.check(&source.cluster, now_ms, grace_ms);
        if checked == source.inbound {
            continue;
        }
        let cluster = u128::from_str_radix(&source.cluster, 16).unwrap_or(0);
        let inlet = (keyspace.record.id, cluster, source.link);
        change(services, &keyspace, inlet, |inbound| inbound).await?;
    }
    Ok(())
}
