//! The plug of links: their paths, the requests of other shards, and a sender for each link at each shard.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dunlin_metadata::{LinkChange, LinkRecord, Role};
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Need, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged};
use dunlin_proto::api::{Figure, Homes};
use dunlin_proto::{CANNOT, Response};
use dunlin_rpc::{Reply, Sink};
use hyper::Method;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use crate::age::{self, Age};
use crate::answer::{Next, next};
use crate::gauge::Gauge;
use crate::place::{cluster_id, first_replica};
use crate::post::Sender;
use crate::running::{DIGEST, HAS_RECORD, LinksAtShard, NUMBER, Running, STATUS};
use crate::times::Times;
use crate::transport::Connect;
use crate::{arrivals, http, receive, report, status, verify};

/// How often the list of links is read.
const LOOK: Duration = Duration::from_millis(100);

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
const OF_INBOUND: &[Rule] = &[Rule::new(Method::DELETE, &[], ADMIN)];
const OF_TARGET: &[Rule] = &[Rule::new(Method::GET, &[], ADMIN)];
// A repair writes to the other cluster, with the link's login.
const OF_VERIFY: &[Rule] = &[Rule::new(
    Method::POST,
    &["repair", "resume", "limit", "timeout_s"],
    ADMIN,
)];
const OF_DIGESTS: &[Rule] = &[Rule::routine(Method::POST, &[], READ)];
const OF_ENTRIES: &[Rule] = &[Rule::routine(Method::POST, &[], ADMIN)];

/// Links to other clusters.
#[derive(Debug)]
pub struct Links {
    /// How these are reached.
    pub connect: Arc<dyn Connect>,
    /// How long things take.
    pub times: Times,
}

impl Plug for Links {
    fn attach(&self) -> Rc<dyn Plugged> {
        Rc::new(LinksAtShard {
            transport: self.connect.transport(),
            times: self.times,
            links: RefCell::default(),
            inlets: RefCell::default(),
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
                times: self.times,
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

    /// Notes how old links are, and that they are broken, and reports to their targets: the first replica of their first
    /// partition does.
    async fn check_ages(self: &Rc<Self>, services: &Rc<Services>) {
        let own = services.shard().address();
        let is_first = |keyspace| first_replica(services, keyspace, 0) == Some(own);
        // A clock that nobody agrees with breaks nothing.
        let is_trusted = services.stamp_clock().is_ok();
        if is_trusted
            && services.system().is_some_and(is_first)
            && let Err(rejected) = arrivals::check_ages(services).await
        {
            let why = rejected.line;
            tracing::debug!(why, "links from other clusters cannot be checked now");
        }
        for (keyspace, link) in services.links() {
            let running = self
                .links
                .borrow()
                .get(&(keyspace, link.id))
                .map(|r| r.gauge.clone());
            let Some(gauge) = running else { continue };
            if !is_first(keyspace) || link.broken_ms.is_some() {
                gauge.set_age(None);
                continue;
            }
            let Ok(homes) = report::read_table(services, keyspace, &link).await else {
                continue;
            };
            let (now_ms, home) = (services.now_ms(), cluster_id(services));
            let sender = (home.as_str(), link.created_ms);
            let checked = age::check(now_ms, report::grace_ms(services, &link), sender, &homes);
            let is_broken = checked.age == Age::Broken;
            gauge.set_age(Some((checked, services.known_before().is_none())));
            if !link.paused {
                self.report(services, (keyspace, link.clone()), homes, gauge);
            }
            if is_broken && is_trusted {
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

    /// Sends a report in the background. One that does not arrive is followed by another; that the target refuses the link is noted.
    fn report(
        self: &Rc<Self>,
        services: &Rc<Services>,
        (keyspace, link): (u32, LinkRecord),
        homes: Homes,
        gauge: Rc<Gauge>,
    ) {
        let (own, services) = (self.clone(), services.clone());
        spawn_local(async move {
            let posted = report::post(&services, &*own.transport, (keyspace, &link), homes, false);
            match posted.await {
                Ok((200, _)) => {}
                Ok((status, body)) => {
                    if let Next::Stop(trouble) = next(status, &body) {
                        gauge.fail(&trouble, services.now_ms());
                    }
                }
                Err(line) => tracing::debug!(line, link = link.name, "a report did not arrive"),
            }
        });
    }
}

impl Plugged for LinksAtShard {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]> {
        match parts {
            ["links" | "inbound-links"] => Some(ALL),
            ["keyspaces", _, "links"] => Some(OF_LINKS),
            ["keyspaces", _, "links", _] => Some(OF_LINK),
            ["keyspaces", _, "links", _, "verify"] => Some(OF_VERIFY),
            ["keyspaces", _, "digests" | "compare"] => Some(OF_DIGESTS),
            ["keyspaces", _, "inbound-links", _, _] => Some(OF_INBOUND),
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
            let mut ages_at = Instant::now();
            while let Some(services) = services.upgrade() {
                if let Some(own) = LinksAtShard::of(&services) {
                    own.look(&services);
                    if Instant::now() >= ages_at {
                        ages_at = Instant::now() + own.times.ages;
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
            Ok(DIGEST) => {
                let services = services.clone();
                spawn_local(async move {
                    let answer = verify::serve_range(&services, body).await;
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
