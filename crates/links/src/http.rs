//! The paths of links.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_metadata::{Keyspace, LinkChange, LinkRecord, LinkSettings, Role};
use dunlin_node::http::{Answer, Ask, Rejected, empty, json};
use dunlin_node::{LinkedKeyspace, Services};
use dunlin_proto::api::{CreateLink, LinkStatus, LinkTarget};
use hyper::{Method, StatusCode};
use serde_json::json;

use crate::age::Age;
use crate::check::check;
use crate::running::LinksAtShard;
use crate::transport::{Call, encode};
use crate::{arrivals, kept, receive, status};

/// Answers a request.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let services = &services;
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    if parts == ["links"] {
        return all(services, &ask).await;
    }
    let name = parts.get(1).copied().unwrap_or_default();
    let keyspace = named(services, name)?;
    let id = keyspace.record.id;
    match parts[2..] {
        ["entries"] => receive::entries(services, &keyspace, ask.body).await,
        ["link-progress"] => {
            let age = arrivals::report(services, &keyspace, &ask.body).await?;
            let is_broken = age == Age::Broken;
            Ok(json(StatusCode::OK, &json!({ "broken": is_broken })))
        }
        ["link-target"] => {
            let target = receive::target(services, &keyspace).await?;
            Ok(json(StatusCode::OK, &target))
        }
        ["links"] if ask.method == Method::POST => create(services, &keyspace, &ask.body).await,
        ["links"] => {
            let links = listed(services, |keyspace| keyspace == id).await;
            Ok(json(StatusCode::OK, &links))
        }
        ["links", link] => match ask.method {
            Method::DELETE => {
                let record = find(services, id, link)?;
                let change = LinkChange::Drop(record.name);
                services.change_links(name, &change).await?;
                if let Err(failure) = kept::remove(services, id, record.id).await {
                    tracing::info!(%failure, link, "the records of a dropped link stay");
                }
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
        _ => Err(Rejected::new(StatusCode::NOT_FOUND, "no such path")),
    }
}

fn named(services: &Services, name: &str) -> Result<LinkedKeyspace, Rejected> {
    let missing = || Rejected::new(StatusCode::NOT_FOUND, "there is no such keyspace");
    services.linked_keyspace(name).ok_or_else(missing)
}

fn find(services: &Services, keyspace: u32, name: &str) -> Result<LinkRecord, Rejected> {
    let mut links = services.links().into_iter();
    let found = links.find(|(of, link)| *of == keyspace && link.name == name);
    let missing = || {
        let line = format!(
            "there is no link {name} from this keyspace: dunlin link list shows which there are"
        );
        Rejected::new(StatusCode::NOT_FOUND, line)
    };
    found.map(|(_, link)| link).ok_or_else(missing)
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

/// `POST /v1/keyspaces/NAME/links`.
async fn create(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: &Bytes,
) -> Result<Answer, Rejected> {
    let wrong = |error| Rejected::bad(format!("the body does not say what to link: {error}"));
    let wanted: CreateLink = serde_json::from_slice(body).map_err(wrong)?;
    if services
        .links()
        .iter()
        .any(|(_, link)| link.name == wanted.name)
    {
        let line = format!(
            "there is a link {} already: drop it first, or choose another name",
            wanted.name
        );
        return Err(conflict(line));
    }
    let ours = LinkTarget {
        // The records here are the ones to send.
        is_empty: true,
        ..receive::target_here(services, keyspace)
    };
    let theirs = find_target(services, keyspace, &wanted).await?;
    check(&ours, &theirs).map_err(conflict)?;
    services.make_system().await?;
    let record = LinkRecord {
        id: 0,
        name: wanted.name.clone(),
        to: wanted.to,
        keyspace: wanted.keyspace,
        keyspace_id: theirs.keyspace_id,
        cluster: theirs.cluster,
        prefix: wanted.prefix,
        limit_bytes_per_s: wanted.limit_bytes_per_s,
        login: wanted.login,
        paused: false,
        broken_ms: None,
        grace_s: ours.tombstone_grace_s.min(theirs.tombstone_grace_s),
        created_ms: services.now_ms(),
    };
    let name = &keyspace.record.name;
    let changed: Keyspace = services
        .change_links(name, &LinkChange::Create(record))
        .await?;
    let made = changed.links.iter().find(|link| link.name == wanted.name);
    let made = made.ok_or_else(|| conflict("the link was dropped meanwhile".to_owned()))?;
    let status = status::of(services, changed.id, made).await;
    Ok(json(StatusCode::CREATED, &status))
}

fn conflict(line: String) -> Rejected {
    Rejected::new(StatusCode::CONFLICT, line)
}

/// The description of the keyspace by the other cluster; it is created there on request.
async fn find_target(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    wanted: &CreateLink,
) -> Result<LinkTarget, Rejected> {
    let path = format!("/v1/keyspaces/{}/link-target", encode(&wanted.keyspace));
    let (mut status, mut body) =
        call(services, wanted, Method::GET, path.clone(), Bytes::new()).await?;
    if status == 404 && wanted.create {
        let settings = serde_json::to_value(&keyspace.record.settings).unwrap_or_default();
        let mut new = settings;
        if let Some(new) = new.as_object_mut() {
            new.insert("name".to_owned(), wanted.keyspace.clone().into());
        }
        let new = Bytes::from(new.to_string());
        let made = call(
            services,
            wanted,
            Method::POST,
            "/v1/keyspaces".to_owned(),
            new,
        )
        .await?;
        // Somebody else may have made it.
        if !matches!(made.0, 200..=299 | 409) {
            return Err(refused(
                "the keyspace cannot be made there",
                made.0,
                &made.1,
            ));
        }
        (status, body) = call(services, wanted, Method::GET, path, Bytes::new()).await?;
    }
    match status {
        200 => serde_json::from_slice(&body).map_err(|error| {
            let line = format!("the target does not answer like a Dunlin server: {error}");
            Rejected::new(StatusCode::BAD_GATEWAY, line)
        }),
        404 => Err(conflict(format!(
            "there is no keyspace {} there: --create makes it",
            wanted.keyspace
        ))),
        _ => Err(refused("the target refuses", status, &body)),
    }
}

fn refused(what: &str, status: u16, body: &[u8]) -> Rejected {
    let refusal: serde_json::Value = serde_json::from_slice(body).unwrap_or_else(|_| json!({}));
    let why = refusal["error"].as_str().unwrap_or("no reason given");
    let line = format!("{what} ({status}): {why}");
    Rejected::new(StatusCode::BAD_GATEWAY, line)
}

async fn call(
    services: &Rc<Services>,
    wanted: &CreateLink,
    method: Method,
    target: String,
    body: Bytes,
) -> Result<(u16, Bytes), Rejected> {
    let own = LinksAtShard::of(services);
    let own = own.ok_or_else(|| Rejected::bad("links are not served here"))?;
    let call = Call {
        servers: wanted.to.clone(),
        login: wanted.login.clone(),
        method,
        target,
        content_type: "application/json",
        body,
    };
    let answered = own.transport.call(call).await;
    answered.map_err(|line| {
        let line = format!("the target cannot be reached: {line}");
        Rejected::new(StatusCode::BAD_GATEWAY, line)
    })
}
