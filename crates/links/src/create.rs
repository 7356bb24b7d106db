//! Makes a link, and one that leads back.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_metadata::{LinkChange, LinkRecord};
use dunlin_node::http::{Answer, Rejected, json};
use dunlin_node::{LinkedKeyspace, Services};
use dunlin_proto::api::{CreateLink, LinkStatus, LinkTarget};
use hyper::{Method, StatusCode};
use serde_json::json;

use crate::answer::Refusal;
use crate::arrivals::sources;
use crate::check::{check, not_arrived};
use crate::lookup::find;
use crate::place::cluster_id;
use crate::receive::target_here;
use crate::running::{LinksAtShard, times};
use crate::sources::{lacking, since_ms};
use crate::status;
use crate::transport::{Call, encode};

/// The reason of a refusal that may end by itself: entries are on their way.
const NOT_ARRIVED: &str = "not_arrived";

/// `POST /v1/keyspaces/NAME/links`.
pub(crate) async fn create(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: &Bytes,
) -> Result<Answer, Rejected> {
    let wrong = |error| Rejected::bad(format!("the body does not say what to link: {error}"));
    let wanted: CreateLink = serde_json::from_slice(body).map_err(wrong)?;
    if wanted.both_ways && wanted.back.is_empty() {
        return Err(Rejected::bad(
            "a link in both directions needs \"back\": servers of this cluster, as the other one reaches them",
        ));
    }
    let links = services.links();
    let known = links.iter().find(|(_, link)| link.name == wanted.name);
    let id = keyspace.record.id;
    // The same request again makes the link back.
    let is_known = known.is_some_and(|(from, link)| {
        let is_same = link.keyspace == wanted.keyspace && link.to == wanted.to;
        *from == id && wanted.both_ways && is_same
    });
    if known.is_some() && !is_known {
        let line = format!(
            "there is a link {} already: drop it first, or choose another name",
            wanted.name
        );
        return Err(conflict(line));
    }
    let other = Other { services, wanted };
    if !is_known && let Some(refused) = other.link(keyspace).await? {
        return Ok(refused);
    }
    let record = find(services, id, &other.wanted.name)?;
    let back_waits = if other.wanted.both_ways {
        other.link_back(keyspace, &record).await?
    } else {
        None
    };
    let status = LinkStatus {
        back_waits,
        ..status::of(services, id, &record).await
    };
    Ok(json(StatusCode::CREATED, &status))
}

fn conflict(line: String) -> Rejected {
    Rejected::new(StatusCode::CONFLICT, line)
}

/// The other cluster of a link that is wanted.
struct Other<'s> {
    services: &'s Rc<Services>,
    wanted: CreateLink,
}

impl Other<'_> {
    /// Makes the link; the answer where entries have to arrive here first.
    async fn link(&self, keyspace: &LinkedKeyspace) -> Result<Option<Answer>, Rejected> {
        let (services, wanted) = (self.services, &self.wanted);
        let ours = target_here(services, keyspace);
        let theirs = self.target(keyspace).await?;
        let grace_s_min = times(services).grace_s_min;
        check(&ours, &theirs, grace_s_min).map_err(conflict)?;
        services.make_system().await?;
        let sources = sources(services, keyspace.record.id).await?;
        let grace_s = ours.tombstone_grace_s.min(theirs.tombstone_grace_s);
        let now_ms = services.now_ms();
        let times = (now_ms, grace_s.saturating_mul(1_000));
        let clusters = (ours.cluster.as_str(), theirs.cluster.as_str());
        if !theirs.is_empty
            && let Some(home) = lacking(&sources, clusters, &theirs.homes, times)
        {
            let error = not_arrived(home, &theirs);
            let body = json!({ "error": error, "reason": NOT_ARRIVED });
            return Ok(Some(json(StatusCode::CONFLICT, &body)));
        }
        let record = LinkRecord {
            id: 0,
            name: wanted.name.clone(),
            to: wanted.to.clone(),
            keyspace: wanted.keyspace.clone(),
            keyspace_id: theirs.keyspace_id,
            cluster: theirs.cluster,
            prefix: wanted.prefix.clone(),
            limit_bytes_per_s: wanted.limit_bytes_per_s,
            login: wanted.login.clone(),
            paused: false,
            broken_ms: None,
            grace_s,
            created_ms: now_ms,
            since_ms: since_ms(&sources, &wanted.prefix, now_ms),
        };
        let name = &keyspace.record.name;
        let change = LinkChange::Create(record);
        services.change_links(name, &change).await?;
        Ok(None)
    }

    /// Makes the link of the same name from the other cluster to this one; why it has to wait, if so.
    async fn link_back(
        &self,
        keyspace: &LinkedKeyspace,
        record: &LinkRecord,
    ) -> Result<Option<String>, Rejected> {
        let wanted = CreateLink {
            to: self.wanted.back.clone(),
            keyspace: keyspace.record.name.clone(),
            create: false,
            both_ways: false,
            back: Vec::new(),
            ..self.wanted.clone()
        };
        let links = format!("/v1/keyspaces/{}/links", encode(&record.keyspace));
        let body = serde_json::to_vec(&wanted).unwrap_or_default();
        let (status, body) = self.call(Method::POST, links.clone(), body.into()).await?;
        if status == 201 {
            return Ok(None);
        }
        let refusal = Refusal::of(&body);
        if refusal.reason == NOT_ARRIVED {
            return Ok(Some(refusal.error));
        }
        if status == 409 {
            // An earlier request may have made it.
            let link = format!("{links}/{}", encode(&record.name));
            let (status, body) = self.call(Method::GET, link, Bytes::new()).await?;
            let there = serde_json::from_slice::<LinkStatus>(&body).ok();
            let ours = cluster_id(self.services);
            let is_made = there
                .is_some_and(|link| link.cluster == ours && link.keyspace == keyspace.record.name);
            if status == 200 && is_made {
                return Ok(None);
            }
        }
        let what = format!(
            "link {} is made, but the other cluster refuses the one back; the same request again makes it",
            record.name
        );
        Err(refused(&what, status, &body))
    }

    /// The description of the keyspace by the other cluster; it is created there on request.
    async fn target(&self, keyspace: &LinkedKeyspace) -> Result<LinkTarget, Rejected> {
        let wanted = &self.wanted;
        let path = format!("/v1/keyspaces/{}/link-target", encode(&wanted.keyspace));
        let get = || self.call(Method::GET, path.clone(), Bytes::new());
        let (mut status, mut body) = get().await?;
        if status == 404 && wanted.create {
            let settings = serde_json::to_value(&keyspace.record.settings).unwrap_or_default();
            let mut new = settings;
            if let Some(new) = new.as_object_mut() {
                new.insert("name".to_owned(), wanted.keyspace.clone().into());
            }
            let new = Bytes::from(new.to_string());
            let keyspaces = "/v1/keyspaces".to_owned();
            let made = self.call(Method::POST, keyspaces, new).await?;
            // Somebody else may have made it.
            if !matches!(made.0, 200..=299 | 409) {
                return Err(refused(
                    "the keyspace cannot be made there",
                    made.0,
                    &made.1,
                ));
            }
            (status, body) = get().await?;
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

    async fn call(
        &self,
        method: Method,
        target: String,
        body: Bytes,
    ) -> Result<(u16, Bytes), Rejected> {
        let own = LinksAtShard::of(self.services);
        let own = own.ok_or_else(|| Rejected::bad("links are not served here"))?;
        let call = Call {
            servers: self.wanted.to.clone(),
            login: self.wanted.login.clone(),
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
}

fn refused(what: &str, status: u16, body: &[u8]) -> Rejected {
    let refusal = Refusal::of(body);
    let why = if refusal.error.is_empty() {
        "no reason given"
    } else {
        &refusal.error
    };
    let line = format!("{what} ({status}): {why}");
    Rejected::new(StatusCode::BAD_GATEWAY, line)
}
