//! The paths of views.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_metadata::{ViewChange, ViewRecord};
use dunlin_node::http::{Answer, Ask, Rejected, empty, json, stream};
use dunlin_node::{Failure, Services};
use dunlin_proto::api::{TriedDocument, TriedRow, ViewVerified};
use dunlin_proto::{Item, ShardAddress};
use futures_util::{StreamExt, stream as streams};
use hyper::body::Frame;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_local;
use tokio::time::Instant;

use crate::engine::{EngineError, ScriptError};
use crate::engines::{Engines, Mapper};
use crate::fold::Fold;
use crate::gather::Broken;
use crate::map::{Document, Emitted};
use crate::plug::{AtShard, NUMBER, ask_verify};
use crate::query::Queries;
use crate::reduce::{Aggregate, Reduce};
use crate::{body, collate, replicas, status, verify};

/// A longer body is not read on the event loop: it may have hundreds of thousands of keys.
const LONG_BYTES: usize = 16 << 10;
/// Documents that a map function is tried on, where nothing is said, and at most.
const TRIED: usize = 10;
const TRIED_MAX: usize = 1_000;
/// Documents that have not been tried by then are not.
const TRIED_FOR: Duration = Duration::from_secs(10);
/// Bytes that may be on their way from a shard that verifies.
const WINDOW_BYTES: usize = 64 << 10;

/// A view that is to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    name: String,
    map: String,
    reduce: Option<String>,
}

/// What becomes of a view.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    map: String,
    reduce: Option<String>,
    #[serde(default)]
    force: bool,
}

/// A map function that is to be tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Try {
    map: String,
    reduce: Option<String>,
    limit: Option<usize>,
}

/// Answers a request.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    let keyspace = parts.get(1).copied().unwrap_or_default();
    let missing = || Rejected::new(StatusCode::NOT_FOUND, "there is no such keyspace");
    let (id, _) = services.keyspace(keyspace).ok_or_else(missing)?;
    let started = Instant::now();
    let is_post = ask.method == Method::POST;
    let is_long = ask.body.len() > LONG_BYTES;
    match parts[2..] {
        ["try-view"] => try_map(services, id, &ask.body).await,
        ["views"] if is_post => create(services, keyspace, &ask.body).await,
        ["views"] => {
            let mut all = Vec::new();
            for (_, view) in services.views().into_iter().filter(|(of, _)| *of == id) {
                all.push(status::of(&services, id, &view).await);
            }
            Ok(json(StatusCode::OK, &all))
        }
        ["views", name] if ask.method == Method::DELETE => {
            let change = ViewChange::Drop(name.to_owned());
            services.change_views(keyspace, &change).await?;
            Ok(empty(StatusCode::NO_CONTENT))
        }
        ["views", name, "rebuild"] => {
            let view = find(&services, id, name)?;
            replace(&services, keyspace, view).await
        }
        ["views", name] if ask.method == Method::PUT => {
            let view = find(&services, id, name)?;
            let wrong =
                |error| Rejected::bad(format!("the body does not say what to change: {error}"));
            let change: Change = serde_json::from_slice(&ask.body).map_err(wrong)?;
            check(&services, &change.map, change.reduce.as_deref()).await?;
            let view = ViewRecord {
                map: change.map,
                reduce: change.reduce,
                force: change.force,
                ..view
            };
            replace(&services, keyspace, view).await
        }
        ["views", name, "status"] => {
            let view = find(&services, id, name)?;
            let told = status::of(&services, id, &view).await;
            Ok(json(StatusCode::OK, &told))
        }
        ["views", name, "verify"] => {
            let view = find(&services, id, name)?.served();
            Ok(verify_all(&services, id, &view))
        }
        ["views", name, ..] => {
            let view = find(&services, id, name)?.served();
            let reduce = reduce_of(view.reduce.as_deref())?;
            let (still, stopping) = (ask.still, ask.stopping);
            let (params, body) = (ask.params, ask.body);
            let read = move || {
                if is_post {
                    Queries::of_body(&params, &body, reduce)
                } else {
                    Queries::of_params(&params, reduce)
                }
            };
            let queries = if is_long {
                on_thread(&services, read).await??
            } else {
                read()?
            };
            let of = body::Of {
                services,
                keyspace: id,
                view,
                reduce,
            };
            let first = queries.all.first().ok_or_else(missing)?;
            let mut gather = of.begin(first).await?;
            // What fails at once has a status of its own.
            gather.peek().await.map_err(failed)?;
            if let Some(own) = AtShard::of(&of.services) {
                own.count_query(id, of.view.id, started.elapsed());
            }
            body::answer(of, gather, queries, still, stopping).ok_or_else(missing)
        }
        _ => Err(missing()),
    }
}

/// An answer that fails before its first row.
fn failed(broken: Broken) -> Rejected {
    Rejected::new(StatusCode::SERVICE_UNAVAILABLE, broken.to_string())
}

fn find(services: &Services, keyspace: u32, name: &str) -> Result<ViewRecord, Rejected> {
    let mut all = services.views().into_iter();
    let found = all.find(|(of, view)| *of == keyspace && view.name == name);
    let missing = || {
        let line = format!("there is no view {name}: dunlin view list shows which there are");
        Rejected::new(StatusCode::NOT_FOUND, line)
    };
    found.map(|(_, view)| view).ok_or_else(missing)
}

fn reduce_of(name: Option<&str>) -> Result<Option<Reduce>, Rejected> {
    let reduce = name.map(Reduce::of).transpose();
    reduce.map_err(|error| Rejected::bad(error.to_string()))
}

async fn create(services: Rc<Services>, keyspace: &str, body: &Bytes) -> Result<Answer, Rejected> {
    let wrong = |error| Rejected::bad(format!("the body does not describe a view: {error}"));
    let create: Create = serde_json::from_slice(body).map_err(wrong)?;
    check(&services, &create.map, create.reduce.as_deref()).await?;
    let view = ViewRecord {
        id: 0,
        name: create.name.clone(),
        map: create.map,
        reduce: create.reduce,
        created_ms: services.now_ms(),
        force: false,
        before: None,
    };
    let changed = services
        .change_views(keyspace, &ViewChange::Create(view))
        .await?;
    let mut views = changed.views.into_iter();
    let made = views.find(|view| view.name == create.name);
    Ok(json(StatusCode::CREATED, &made))
}

/// Builds another index, beside the one that is asked until then.
async fn replace(
    services: &Services,
    keyspace: &str,
    view: ViewRecord,
) -> Result<Answer, Rejected> {
    let change = ViewChange::Replace(view);
    services.change_views(keyspace, &change).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Refuses sources that are no functions.
async fn check(
    services: &Rc<Services>,
    map: &str,
    reduce: Option<&str>,
) -> Result<Option<Reduce>, Rejected> {
    let kind = reduce_of(reduce)?;
    let engines = engines(services)?;
    let map = map.to_owned();
    let checked = on_thread(services, move || Mapper::new(engines, &map).map(drop)).await?;
    checked.map_err(|error| unusable("map", &error))?;
    if let (Some(Reduce::Custom), Some(source)) = (kind, reduce) {
        let source = source.to_owned();
        let checked = on_thread(services, move || Fold::new(engines, &source).map(drop)).await?;
        checked.map_err(|error| unusable("reduce", &error))?;
    }
    Ok(kind)
}

fn unusable(what: &str, error: &EngineError) -> Rejected {
    match error {
        EngineError::Script(error) => Rejected::bad(format!("{what}: {error}")),
        EngineError::Lost(_) => {
            Rejected::new(StatusCode::SERVICE_UNAVAILABLE, format!("{what}: {error}"))
        }
    }
}

fn engines(services: &Rc<Services>) -> Result<Engines, Rejected> {
    let absent = || Rejected::new(StatusCode::SERVICE_UNAVAILABLE, "views are not served here");
    AtShard::of(services)
        .map(|own| own.engines)
        .ok_or_else(absent)
}

/// Runs a job with a function.
async fn on_thread<T: Send + 'static>(
    services: &Rc<Services>,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Rejected> {
    let failed = |why: String| Rejected::new(StatusCode::SERVICE_UNAVAILABLE, why);
    let own = AtShard::of(services).ok_or_else(|| failed("views are not served here".into()))?;
    let runner = own
        .make_runner(services)
        .map_err(|error| failed(error.to_string()))?;
    // Beside the indexes: one whose function is slow delays nobody here.
    let done = runner.run_apart(job).await;
    done.map_err(|gone| failed(gone.to_string()))
}

/// Shows what a map function makes of the first documents, and changes nothing.
async fn try_map(services: Rc<Services>, keyspace: u32, body: &Bytes) -> Result<Answer, Rejected> {
    let wrong = |error| Rejected::bad(format!("the body does not say what to try: {error}"));
    let tried: Try = serde_json::from_slice(body).map_err(wrong)?;
    let reduce = check(&services, &tried.map, tried.reduce.as_deref()).await?;
    let count = tried.limit.unwrap_or(TRIED).min(TRIED_MAX);
    let sample = services.sample(keyspace, count).await?;
    let engines = engines(&services)?;
    let until = Instant::now() + TRIED_FOR;
    let job = move || {
        let mut map = Mapper::new(engines, &tried.map)?;
        let mut all = Vec::with_capacity(sample.len());
        for item in &sample {
            let is_late = Instant::now() >= until;
            all.push(try_one(&mut map, reduce, item, is_late)?);
        }
        Ok::<_, EngineError>(all)
    };
    let tried = on_thread(&services, job).await?;
    let tried = tried.map_err(|error| unusable("map", &error))?;
    Ok(json(StatusCode::OK, &tried))
}

fn try_one(
    map: &mut Mapper,
    reduce: Option<Reduce>,
    item: &Item,
    is_late: bool,
) -> Result<TriedDocument, EngineError> {
    let document = Document {
        id: &item.key,
        value: &item.value,
        version: item.stamp.to_string(),
        expiry_ms: item.expiry_ms,
    };
    let late = || ScriptError::new("not tried: the documents before it took too long");
    let rows = if is_late {
        Err(late())
    } else {
        map.call(&[document])?.pop().unwrap_or_else(|| Err(late()))
    };
    let row = |row: Emitted| {
        let key = collate::decode(&row.key).ok()?;
        Some(TriedRow {
            key: RawValue::from_string(key).ok()?,
            value: RawValue::from_string(row.value.into()).ok()?,
        })
    };
    let id = String::from_utf8_lossy(&item.key).into_owned();
    Ok(match rows.and_then(|rows| reducible(reduce, rows)) {
        Ok(rows) => TriedDocument {
            id,
            rows: Some(rows.into_iter().filter_map(row).collect()),
            error: None,
        },
        Err(error) => TriedDocument {
            id,
            rows: None,
            error: Some(error.to_string()),
        },
    })
}

/// Rows whose values can be reduced.
fn reducible(reduce: Option<Reduce>, rows: Vec<Emitted>) -> Result<Vec<Emitted>, ScriptError> {
    let Some(reduce) = reduce else {
        return Ok(rows);
    };
    for row in &rows {
        let reduced = Aggregate::of_row(reduce, &row.key, &row.value);
        reduced.map_err(|error| ScriptError::new(error.to_string()))?;
    }
    Ok(rows)
}

/// Verifies at all shards that hold a part: a line of JSON each time that one says something.
fn verify_all(services: &Rc<Services>, keyspace: u32, view: &ViewRecord) -> Answer {
    let (say, said) = unbounded_channel();
    for at in status::holders(services, keyspace) {
        let (services, say, id) = (services.clone(), say.clone(), view.id);
        spawn_local(async move {
            if at == services.shard().address() {
                verify::here(&services, keyspace, id, say).await;
            } else if let Err(error) = verify_there(&services, at, keyspace, id, &say).await {
                // Who asked may be gone.
                let _ = say.send(verify::failed(services.label_of(at), error));
            }
        });
    }
    drop(say);
    let results = Vec::new();
    let lines = streams::unfold(
        (said, Some(results)),
        |(mut said, mut results)| async move {
            let verified = match said.recv().await {
                Some(mut verified) => {
                    if let Some(results) = results.as_mut().filter(|_| verified.is_done) {
                        results.push(verified.clone());
                    }
                    // Of use to nobody else.
                    verified.partitions = Vec::new();
                    verified
                }
                // All shards are done: last their results are compared with each other.
                None => replicas::compare(&results.take()?)?,
            };
            let mut line = serde_json::to_vec(&verified).unwrap_or_default();
            line.push(b'\n');
            let line = Ok::<_, Failure>(Frame::data(Bytes::from(line)));
            Some((line, (said, results)))
        },
    );
    stream(services, "application/x-ndjson", lines.boxed_local())
}

async fn verify_there(
    services: &Rc<Services>,
    at: ShardAddress,
    keyspace: u32,
    view: u32,
    say: &tokio::sync::mpsc::UnboundedSender<ViewVerified>,
) -> Result<(), String> {
    let body = ask_verify(keyspace, view);
    let items = services.open(at, NUMBER, body, WINDOW_BYTES).await;
    let mut items = items.map_err(|error| error.to_string())?;
    loop {
        let next = tokio::select! {
            next = items.next() => next,
            () = say.closed() => return Ok(()),
        };
        let Some(item) = next else {
            return Ok(());
        };
        let item = item.map_err(|error| error.to_string())?;
        let verified = serde_json::from_slice(&item).map_err(|error| error.to_string())?;
        if say.send(verified).is_err() {
            return Ok(());
        }
    }
}
