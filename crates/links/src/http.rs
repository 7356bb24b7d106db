//! The paths of links.

use std::rc::Rc;
use std::time::Duration;

use dunlin_metadata::{LinkChange, LinkRecord, LinkSettings, Role};
use dunlin_node::http::{Answer, Ask, Rejected, empty, json};
use dunlin_node::{LinkedKeyspace, Services};
use dunlin_proto::api::{Homes, LinkStatus};
use hyper::{Method, StatusCode};
use serde_json::json;
use tokio::time::timeout;

use crate::lookup::{find, named};
use crate::running::LinksAtShard;
use crate::{arrivals, create, kept, receive, report, status, verify};

/// How long the target of a dropped link is tried.
const DROP_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a request.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let services = &services;
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    match parts[..] {
        ["links"] => return all(services, &ask).await,
        ["inbound-links"] => return inbound(services, &ask).await,
        _ => {}
    }
    let name = parts.get(1).copied().unwrap_or_default();
    let keyspace = named(services, name)?;
    let id = keyspace.record.id;
    match parts[2..] {
        ["entries"] => receive::entries(services, &keyspace, ask.body).await,
        ["link-progress"] => {
            let refused = arrivals::report(services, &keyspace, &ask.body).await?;
            let taken = || json(StatusCode::OK, &json!({}));
            Ok(refused.map_or_else(taken, |refused| refused.answer()))
        }
        ["digests"] => verify::digests(services, &keyspace, &ask.body).await,
        ["compare"] => verify::compare(services, &keyspace, &ask.body).await,
        ["links", link, "verify"] => {
            let record = find(services, id, link)?;
            verify::answer(services, &keyspace, record, &ask.params)
        }
        ["link-target"] => {
            let target = receive::target(services, &keyspace).await?;
            Ok(json(StatusCode::OK, &target))
        }
        ["links"] if ask.method == Method::POST => {
            create::create(services, &keyspace, &ask.body).await
        }
        ["links"] => {
            let links = listed(services, |keyspace| keyspace == id).await;
            Ok(json(StatusCode::OK, &links))
        }
        ["links", link] => match ask.method {
            Method::DELETE => {
                let record = find(services, id, link)?;
                drop_link(services, &keyspace, record).await?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
            Method::PATCH => {
                let wrong =
                    |error| Rejected::bad(format!("the body does not say what to change: {error}"));
                let settings: LinkSettings = serde_json::from_slice(&ask.body).map_err(wrong)?;
                let change = LinkChange::Alter((*link).to_owned(), settings);
                services.change_links(name, &change).await?;
                let record = find(services, id, link)?;
                let status = status::of(services, id, &record).await;
                Ok(json(StatusCode::OK, &status))
            }
            _ => {
                let record = find(services, id, link)?;
                let status = status::of(services, id, &record).await;
                Ok(json(StatusCode::OK, &status))
            }
        },
        ["inbound-links", cluster, link] => {
            let cluster = u128::from_str_radix(cluster, 16).ok();
            let link = cluster.zip(link.parse().ok());
            let link =
                link.ok_or_else(|| Rejected::bad("give the cluster's id, and the link's number"))?;
            arrivals::refuse(services, &keyspace, link).await?;
            Ok(empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Rejected::new(StatusCode::NOT_FOUND, "no such path")),
    }
}

/// Drops a link, and says so to its target, where that answers: another link need not wait for this one.
async fn drop_link(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    link: LinkRecord,
) -> Result<(), Rejected> {
    let (id, name) = (keyspace.record.id, &keyspace.record.name);
    let change = LinkChange::Drop(link.name.clone());
    services.change_links(name, &change).await?;
    if let Err(failure) = kept::remove(services, id, link.id).await {
        tracing::info!(%failure, link = link.name, "the records of a dropped link stay");
    }
    if let Err(failure) = verify::save_state(services, (id, link.id), None).await {
        tracing::info!(%failure, link = link.name, "the state of its comparison stays");
    }
    let Some(own) = LinksAtShard::of(services) else {
        return Ok(());
    };
    let posted = report::post(services, &*own.transport, (id, &link), Homes::new(), true);
    match timeout(DROP_TIMEOUT, posted).await {
        Ok(Ok((200 | 409, _))) => {}
        failed => tracing::info!(
            ?failed,
            link = link.name,
            "the target does not know that the link is dropped"
        ),
    }
    Ok(())
}

/// `GET /v1/inbound-links`: links from other clusters to keyspaces that the client may read.
async fn inbound(services: &Rc<Services>, ask: &Ask) -> Result<Answer, Rejected> {
    let mut all = Vec::new();
    for (keyspace, source) in arrivals::all(services).await? {
        let name = &keyspace.record.name;
        if (ask.may_on)(Role::Read, name) {
            all.push(source.status(
                name,
                services.now_ms(),
                arrivals::grace_ms(services, &keyspace),
            ));
        }
    }
    Ok(json(StatusCode::OK, &all))
}

/// `GET /v1/links`: those of keyspaces that the client may read.
async fn all(services: &Rc<Services>, ask: &Ask) -> Result<Answer, Rejected> {
    let may_read = |keyspace| (ask.may_on)(Role::Read, &services.keyspace_name(keyspace));
    let links = listed(services, may_read).await;
    Ok(json(StatusCode::OK, &links))
}

async fn listed(services: &Rc<Services>, is_listed: impl Fn(u32) -> bool) -> Vec<LinkStatus> {
    let mut all = Vec::new();
    for (keyspace, link) in services.links() {
        if is_listed(keyspace) {
            all.push(status::of(services, keyspace, &link).await);
        }
    }
    all
}
