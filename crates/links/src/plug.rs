//! The plug of links: their paths, the requests of other shards, and a sender for each link at each shard.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dunlin_entry::Version;
use dunlin_metadata::{LinkChange, LinkRecord, Role};
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Need, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged};
use dunlin_proto::api::{Figure, LinkReport};
use dunlin_proto::{CANNOT, Response};
use dunlin_rpc::{Reply, Sink};
use hyper::Method;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use crate::age::{self, Age, age_ms};
use crate::place::{cluster_id, first_replica};
use crate::post::Sender;
use crate::running::{HAS_RECORD, LinksAtShard, NUMBER, Running, STATUS};
use crate::transport::{Call, Connect, encode};
use crate::{http, kept, receive, status};

/// How often the list of links is read.
const LOOK: Duration = Duration::from_millis(100);
/// How often their age is checked.
const AGES: Duration = Duration::from_secs(10);

const READ: Need = Need::Keyspace(Role::Read);
const ADMIN: Need = Need::Keyspace(Role::Admin);
const ADMIN_OF_ALL: Need = Need::Everything(Role::Admin);
// Each link is shown to whom its keyspace may be.
const ALL: &[Rule] = &[Rule::new(Method::GET, &[], Need::User)];
// A link reaches other machines with the logins of this one.
const OF_LINKS: &[Rule] = &[
    Rule::new(Method::GET, &[], READ),
    Rule::new(Method::POST, &[], ADMIN_OF_ALL),
];
const OF_LINK: &[Rule] = &[
    Rule::new(Method::GET, &[], READ),
    Rule::new(Method::PATCH, &[], ADMIN_OF_ALL),
    Rule::new(Method::DELETE, &[], ADMIN),
];
const OF_TARGET: &[Rule] = &[Rule::new(Method::GET, &[], ADMIN)];
const OF_ENTRIES: &[Rule] = &[Rule::routine(Method::POST, &[], ADMIN)];

/// Links to other clusters, which are reached so.
#[derive(Debug)]
pub struct Links(pub Arc<dyn Connect>);

impl Plug for Links {
    fn attach(&self) -> Rc<dyn Plugged> {
        Rc::new(LinksAtShard {
            transport: self.0.transport(),
            links: RefCell::default(),
            ages: RefCell::default(),
        })
    }
}

impl LinksAtShard {
    /// Begins and ends senders, as there are links.
    fn look(&self, services: &Rc<Services>) {
        let wanted: BTreeMap<(u32, u32), LinkRecord> = services
            .links()
            .into_iter()
            .map(|(keyspace, link)| ((keyspace, link.id), link))
            .collect();
        let mut links = self.links.borrow_mut();
        links.retain(|key, _| wanted.contains_key(key));
        for (key, record) in wanted {
            let known = links.get(&key);
            if known.is_some_and(|running| running.record == record) {
                continue;
            }
            let gauge = known.map_or_else(Rc::default, |running| running.gauge.clone());
            let is_sent = !record.paused && record.broken_ms.is_none();
            gauge.lead(0);
            let sender = Sender {
                services: services.clone(),
                keyspace: key.0,
                link: record.clone(),
                gauge: gauge.clone(),
                transport: self.transport.clone(),
            };
            let task = is_sent.then(|| spawn_local(sender.run()).abort_handle());
            let running = Running {
                record,
                gauge,
                task,
            };
            // The earlier task ends with the value that is replaced.
            links.insert(key, running);
        }
    }

    /// Reports to the target up to which version all is delivered. A report that does not arrive is followed by another.
    fn report(&self, link: &LinkRecord, home: &str, version: Version) {
        let delivered = [(home.to_owned(), format!("{:016x}", version.0))];
        let report = LinkReport {
            link: link.id,
            name: link.name.clone(),
            cluster: home.to_owned(),
            delivered: delivered.into_iter().collect(),
        };
        let call = Call {
            servers: link.to.clone(),
            login: link.login.clone(),
            method: Method::POST,
            target: format!("/v1/keyspaces/{}/link-progress", encode(&link.keyspace)),
            content_type: "application/json",
            body: serde_json::to_vec(&report).unwrap_or_default().into(),
        };
        let (answered, name) = (self.transport.call(call), link.name.clone());
        spawn_local(async move {
            match answered.await {
                Ok((200, _)) => {}
                failed => tracing::debug!(?failed, link = name, "a report did not arrive"),
            }
        });
    }

    /// Notes how old links are, and that they are broken: the first replica of their first partition does.
    async fn check_ages(&self, services: &Rc<Services>) {
        for (keyspace, link) in services.links() {
            let running = self
                .links
                .borrow()
                .get(&(keyspace, link.id))
                .map(|r| r.gauge.clone());
            let Some(gauge) = running else { continue };
            let own = services.shard().address();
            if first_replica(services, keyspace, 0) != Some(own) || link.broken_ms.is_some() {
                gauge.set_age(None);
                continue;
            }
            let Ok(progress) = kept::progress(services, keyspace, link.id).await else {
                continue;
            };
            let count = services.partition_count(keyspace).unwrap_or(0);
            let home = cluster_id(services);
            let delivered = progress.delivered(0..count, &home);
            let now_ms = services.now_ms();
            let age = age_ms(now_ms, link.created_ms, [delivered]);
            let age = age::of(age, status::grace_ms(&link));
            gauge.set_age(Some(age));
            if let Some(version) = delivered
                && !link.paused
            {
                self.report(&link, &home, version);
            }
            // A clock that nobody agrees with breaks nothing.
            if age == Age::Broken && services.stamp_clock().is_ok() {
                let change = LinkChange::Break(link.id, now_ms);
                let name = services.keyspace_name(keyspace);
                if let Err(rejected) = services.change_links(&name, &change).await {
                    tracing::warn!(
                        why = rejected.line,
                        link = link.name,
                        "that a link is broken cannot be noted yet"
                    );
                }
            }
        }
    }
}

impl Plugged for LinksAtShard {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]> {
        match parts {
            ["links"] => Some(ALL),
            ["keyspaces", _, "links"] => Some(OF_LINKS),
            ["keyspaces", _, "links", _] => Some(OF_LINK),
            ["keyspaces", _, "link-target"] => Some(OF_TARGET),
            ["keyspaces", _, "entries" | "link-progress"] => Some(OF_ENTRIES),
            _ => None,
        }
    }

    fn http(&self, services: Rc<Services>, ask: Ask) -> LocalFuture<Result<Answer, Rejected>> {
        Box::pin(http::answer(services, ask))
    }

    fn figures(&self, services: &Services) -> Vec<Figure> {
        let at = services.label_of(services.shard().address());
        let links = self.links.borrow();
        let of = |((keyspace, _), running): (&(u32, u32), &Running)| {
            let keyspace = services.keyspace_name(*keyspace);
            let status = running.status(at.clone());
            status::figures(&keyspace, &running.record.name, &status)
        };
        links.iter().flat_map(of).collect()
    }

    fn run(&self, services: &Rc<Services>) {
        let services = Rc::downgrade(services);
        spawn_local(async move {
            let mut ages_at = Instant::now() + AGES;
            while let Some(services) = services.upgrade() {
                if let Some(own) = LinksAtShard::of(&services) {
                    own.look(&services);
                    if Instant::now() >= ages_at {
                        ages_at = Instant::now() + AGES;
                        own.check_ages(&services).await;
                    }
                }
                drop(services);
                sleep(LOOK).await;
            }
        });
    }

    fn call(&self, services: &Rc<Services>, mut body: Bytes, reply: Reply<Response>) {
        match body.try_get_u8() {
            Ok(STATUS) => {
                let request = body.try_get_u32_le().ok().zip(body.try_get_u32_le().ok());
                let (keyspace, link) = request.unwrap_or_default();
                let status = self.status(services, keyspace, link);
                reply.send(Response::Plug(status::encode(&status)));
            }
            Ok(HAS_RECORD) => {
                let services = services.clone();
                spawn_local(async move {
                    let answer = receive::has_record(&services, body).await;
                    reply.send(Response::Plug(answer));
                });
            }
            _ => reply.refuse(CANNOT, "malformed bytes from another shard"),
        }
    }

    fn open(&self, _: &Rc<Services>, _: Bytes, sink: Sink<Response>) {
        sink.refuse(CANNOT, "links have no streams");
    }
}
