//! What plugs into the node: the paths of views, requests of other shards, and an index for each view.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_log::Runner;
use dunlin_metadata::{Role, ViewChange, ViewRecord};
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Need, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged};
use dunlin_proto::api::ViewStatus;
use dunlin_proto::{CANNOT, Response, ShardAddress};
use dunlin_rpc::{Reply, Sink};
use hyper::Method;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{Instant, sleep};

use crate::build::{Builder, path_of};
use crate::engines::Engines;
use crate::index::Index;
use crate::query::PARAMS;
use crate::readers::{self, More, Readers};
use crate::view::View;
use crate::wanted::Wanted;
use crate::{http, status, verify};

/// Its number among the capabilities.
pub(crate) const NUMBER: u8 = 2;
/// How often it is looked which views there are.
const LOOK: Duration = Duration::from_millis(50);

/// The index of a view that is dropped, or has another in its place, stays for so long.
const LINGER: Duration = Duration::from_secs(5);
/// After so many looks it is asked whether indexes that take the place of others are whole.
const SETTLE_LOOKS: u32 = 10;

const READ: Need = Need::Keyspace(Role::Read);
const ADMIN: Need = Need::Keyspace(Role::Admin);
const OF_VIEWS: &[Rule] = &[
    Rule::new(Method::GET, &[], READ),
    Rule::new(Method::POST, &[], ADMIN),
];
const OF_VIEW: &[Rule] = &[
    Rule::new(Method::GET, PARAMS, READ),
    Rule::new(Method::PUT, &[], ADMIN),
    Rule::new(Method::DELETE, &[], ADMIN),
];
const OF_QUERY: &[Rule] = &[Rule::new(Method::POST, PARAMS, READ)];
const OF_STATUS: &[Rule] = &[Rule::new(Method::GET, &[], READ)];
const OF_CHANGE: &[Rule] = &[Rule::new(Method::POST, &[], ADMIN)];

/// What another shard is asked for.
const STATUS: u8 = 1;
const QUERY: u8 = 2;
const MORE: u8 = 3;
const END: u8 = 4;
const VERIFY: u8 = 5;
/// Queries that wait for the next page of one shard at a time.
const PLACES: usize = 32;
/// For how long the end of a query is sent to its shard.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Views, whose functions run in such engines.
#[derive(Debug)]
pub struct Views(pub Engines);

impl Plug for Views {
    fn attach(&self) -> Rc<dyn Plugged> {
        Rc::new(AtShard {
            engines: self.0,
            views: RefCell::default(),
            runner: RefCell::default(),
            readers: Rc::default(),
            ended: RefCell::default(),
            places: RefCell::default(),
            verifying: Rc::default(),
        })
    }
}

/// Views at one shard.
pub(crate) struct AtShard {
    /// Where functions run.
    pub engines: Engines,
    /// By number of the keyspace and of the view.
    views: RefCell<BTreeMap<(u32, u32), Running>>,
    /// Where indexes are removed, and functions are tried; none before the first.
    runner: RefCell<Option<Runner>>,
    /// Queries of other shards that are under way here.
    readers: Rc<RefCell<Readers>>,
    /// Queries at other shards that nobody goes on with.
    ended: RefCell<Vec<(ShardAddress, u64)>>,
    /// Places for those that read at other shards.
    places: RefCell<BTreeMap<ShardAddress, Arc<Semaphore>>>,
    /// What is being verified.
    verifying: Rc<RefCell<BTreeSet<PathBuf>>>,
}

/// Verification that is under way.
pub(crate) struct Verifying {
    all: Rc<RefCell<BTreeSet<PathBuf>>>,
    path: PathBuf,
}

impl Drop for Verifying {
    fn drop(&mut self) {
        self.all.borrow_mut().remove(&self.path);
    }
}

struct Running {
    view: Rc<View>,
    task: AbortHandle,
    /// Since when there is no such view any more.
    unwanted_since: Option<Instant>,
}

impl AtShard {
    /// Those of a shard, where they are plugged in.
    pub fn of(services: &Services) -> Option<Rc<AtShard>> {
        services.find()
    }

    /// A view, where it is known here.
    pub fn view(&self, keyspace: u32, id: u32) -> Option<Rc<View>> {
        let views = self.views.borrow();
        views
            .get(&(keyspace, id))
            .map(|running| running.view.clone())
    }

    /// The first view of a keyspace.
    pub fn first(&self, keyspace: u32) -> Option<Rc<View>> {
        let views = self.views.borrow();
        let mut of_keyspace = views.iter().filter(|((of, _), _)| *of == keyspace);
        of_keyspace.next().map(|(_, running)| running.view.clone())
    }

    /// That, started if need be.
    pub fn make_runner(&self, services: &Services) -> std::io::Result<Runner> {
        if let Some(runner) = self.runner.borrow().clone() {
            return Ok(runner);
        }
        let runner = services.runner("views")?;
        *self.runner.borrow_mut() = Some(runner.clone());
        Ok(runner)
    }

    /// Has a query at another shard ended, that nobody goes on with.
    pub fn end_soon(&self, at: ShardAddress, reader: u64) {
        self.ended.borrow_mut().push((at, reader));
    }

    fn end_readers(&self, services: &Rc<Services>) {
        for (at, reader) in self.ended.take() {
            let services = services.clone();
            spawn_local(async move {
                // Where it does not arrive, the shard ends the query after a while.
                let _ = services.ask(at, NUMBER, ask_end(reader), END_WITHIN).await;
            });
        }
    }

    /// Places for those that read at a shard. What they read is taken at once, whoever waits for it.
    pub fn places(&self, at: ShardAddress) -> Arc<Semaphore> {
        let mut places = self.places.borrow_mut();
        let new = || Arc::new(Semaphore::new(PLACES));
        places.entry(at).or_insert_with(new).clone()
    }

    /// Verification that begins; none where one is under way.
    pub fn verifying(&self, path: &Path) -> Option<Verifying> {
        let is_first = self.verifying.borrow_mut().insert(path.to_owned());
        is_first.then(|| Verifying {
            all: self.verifying.clone(),
            path: path.to_owned(),
        })
    }

    /// Notes that a query had its first row after so long.
    pub fn count_query(&self, keyspace: u32, view: u32, took: Duration) {
        if let Some(view) = self.view(keyspace, view) {
            view.count_query(took);
        }
    }

    /// Begins and ends indexes, as there are views; what is to be removed.
    fn look(&self, services: &Rc<Services>) -> std::io::Result<Vec<PathBuf>> {
        let mut wanted: BTreeMap<(u32, u32), ViewRecord> = BTreeMap::new();
        for (keyspace, view) in services.views() {
            let served = view.served();
            wanted.insert((keyspace, served.id), served);
            wanted.insert((keyspace, view.id), view);
        }
        let mut removed = Vec::new();
        let mut views = self.views.borrow_mut();
        views.retain(|key, running| {
            if wanted.contains_key(key) {
                running.unwanted_since = None;
                return true;
            }
            // Who has not seen that it goes still asks for it.
            let since = *running.unwanted_since.get_or_insert_with(Instant::now);
            if since.elapsed() < LINGER {
                return true;
            }
            running.task.abort();
            removed.push(path_of(services, key.0, key.1));
            false
        });
        for ((keyspace, id), record) in wanted {
            if views.contains_key(&(keyspace, id)) {
                continue;
            }
            // Threads of its own: a slow function delays no other view.
            let runner = services.runner("view")?;
            let view = Rc::new(View::new(keyspace, record, runner, self.engines));
            let builder = Builder::new(services, &view);
            let task = spawn_local(builder.run()).abort_handle();
            let running = Running {
                view,
                task,
                unwanted_since: None,
            };
            views.insert((keyspace, id), running);
        }
        Ok(removed)
    }

    /// Indexes of views that are none any more.
    fn left_over(&self, services: &Services) -> Vec<PathBuf> {
        let Ok(found) = std::fs::read_dir(services.directory()) else {
            return Vec::new();
        };
        let views = self.views.borrow();
        let known = views
            .keys()
            .map(|(keyspace, id)| path_of(services, *keyspace, *id));
        let known: Vec<PathBuf> = known.collect();
        let is_left = |path: &PathBuf| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            name.starts_with("view-") && !known.contains(path)
        };
        found
            .flatten()
            .map(|entry| entry.path())
            .filter(is_left)
            .collect()
    }

    /// Has indexes asked that are whole, and the ones before them forgotten: one of those who hold a part does so.
    async fn settle(&self, services: &Rc<Services>) {
        for (keyspace, view) in services.views() {
            if view.before.is_none() {
                continue;
            }
            let holders = status::holders(services, keyspace);
            let mut reached = holders.iter().filter(|at| services.is_reachable(**at));
            let count = services.partition_count(keyspace).unwrap_or(0);
            let is_apart = (0..count).any(|p| services.lacks_majority(keyspace, p));
            if reached.next() != Some(&services.shard().address()) || is_apart {
                continue;
            }
            let status = status::of(services, keyspace, &view).await;
            if status.is_whole && status.held_back.is_none() {
                let change = ViewChange::Settle(view.name.clone(), view.id);
                let name = services.keyspace_name(keyspace);
                if let Err(rejected) = services.change_views(&name, &change).await {
                    tracing::info!(
                        why = rejected.line,
                        view = view.name,
                        "an index is not taken over yet"
                    );
                }
            }
        }
    }

    async fn keep(&self, services: &Rc<Services>, removed: &mut Vec<PathBuf>) {
        match self.look(services) {
            Ok(more) => removed.extend(more),
            Err(error) => tracing::warn!(%error, "a view cannot be begun"),
        }
        if removed.is_empty() {
            return;
        }
        let Ok(runner) = self.make_runner(services) else {
            return;
        };
        let mut left = Vec::new();
        for path in removed.drain(..) {
            let at = path.clone();
            // Who reads it still has it open; then it goes later.
            let done = runner.run_behind(move || Index::remove(&at)).await;
            if !matches!(done, Ok(Ok(()))) {
                left.push(path);
            }
        }
        *removed = left;
    }
}

impl Plugged for AtShard {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]> {
        match parts {
            ["keyspaces", _, "views"] => Some(OF_VIEWS),
            ["keyspaces", _, "views", _] => Some(OF_VIEW),
            ["keyspaces", _, "views", _, "query"] => Some(OF_QUERY),
            ["keyspaces", _, "views", _, "status"] => Some(OF_STATUS),
            ["keyspaces", _, "views", _, "rebuild" | "verify"] => Some(OF_CHANGE),
            ["keyspaces", _, "try-view"] => Some(OF_CHANGE),
            _ => None,
        }
    }

    fn http(&self, services: Rc<Services>, ask: Ask) -> LocalFuture<Result<Answer, Rejected>> {
        Box::pin(http::answer(services, ask))
    }

    fn views(&self, services: &Services) -> Vec<ViewStatus> {
        let all = services.views().into_iter();
        let here = all.filter_map(|(keyspace, record)| {
            let view = self.view(keyspace, record.served().id)?;
            Some(view.figures(services, services.keyspace_name(keyspace)))
        });
        here.collect()
    }

    fn run(&self, services: &Rc<Services>) {
        let services = Rc::downgrade(services);
        spawn_local(async move {
            let mut removed = Vec::new();
            let mut has_looked = false;
            let mut settle_at = SETTLE_LOOKS;
            while let Some(services) = services.upgrade() {
                if let Some(own) = AtShard::of(&services) {
                    own.keep(&services, &mut removed).await;
                    own.end_readers(&services);
                    settle_at -= 1;
                    if settle_at == 0 {
                        settle_at = SETTLE_LOOKS;
                        own.readers.borrow_mut().sweep();
                        own.settle(&services).await;
                    }
                    if !has_looked && services.has_keyspaces() {
                        has_looked = true;
                        removed.extend(own.left_over(&services));
                    }
                }
                drop(services);
                sleep(LOOK).await;
            }
        });
    }

    fn call(&self, services: &Rc<Services>, mut body: Bytes, reply: Reply<Response>) {
        let malformed = "malformed bytes from another shard";
        match body.try_get_u8() {
            Ok(STATUS) => {
                let asked = body.try_get_u32_le().ok().zip(body.try_get_u32_le().ok());
                let view = asked.and_then(|(keyspace, id)| self.view(keyspace, id));
                let status = status::encode(view.map(|view| view.status(services)).as_ref());
                reply.send(Response::Plug(status));
            }
            Ok(QUERY) => match Wanted::decode(body) {
                Ok(wanted) => {
                    let view = self.view(wanted.keyspace, wanted.view);
                    readers::begin(services, &self.readers, view, wanted, reply)
                }
                Err(malformed) => reply.refuse(CANNOT, &malformed.to_string()),
            },
            Ok(MORE) => match More::decode(body) {
                Ok(more) => readers::go_on(&self.readers, more, reply),
                Err(malformed) => reply.refuse(CANNOT, &malformed.to_string()),
            },
            Ok(END) => {
                if let Ok(reader) = body.try_get_u64_le() {
                    self.readers.borrow_mut().end(reader);
                }
                reply.send(Response::Plug(Bytes::new()));
            }
            _ => reply.refuse(CANNOT, malformed),
        }
    }

    fn open(&self, services: &Rc<Services>, mut body: Bytes, sink: Sink<Response>) {
        let services = services.clone();
        match body.try_get_u8() {
            Ok(VERIFY) => sink.work(move |sink| verify::serve(services, body, sink)),
            _ => sink.refuse(CANNOT, "malformed bytes from another shard"),
        }
    }
}

/// Asks a shard how a view is doing there.
pub(crate) fn ask_status(keyspace: u32, view: u32) -> Bytes {
    of_view(STATUS, keyspace, view)
}

/// Begins a query at another shard.
pub(crate) fn ask_query(wanted: &Wanted) -> Bytes {
    let wanted = wanted.encode();
    let mut out = BytesMut::with_capacity(wanted.len() + 1);
    out.put_u8(QUERY);
    out.put_slice(&wanted);
    out.freeze()
}

/// Goes on with one.
pub(crate) fn ask_more(more: &More) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(MORE);
    more.encode(&mut out);
    out.freeze()
}

/// Ends one.
fn ask_end(reader: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(9);
    out.put_u8(END);
    out.put_u64_le(reader);
    out.freeze()
}

/// What asks another shard to verify an index.
pub(crate) fn ask_verify(keyspace: u32, view: u32) -> Bytes {
    of_view(VERIFY, keyspace, view)
}

fn of_view(kind: u8, keyspace: u32, view: u32) -> Bytes {
    let mut out = BytesMut::with_capacity(9);
    out.put_u8(kind);
    out.put_u32_le(keyspace);
    out.put_u32_le(view);
    out.freeze()
}
