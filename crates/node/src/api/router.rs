//! Paths to resources.

use std::pin::Pin;
use std::rc::Rc;

use hyper::body::Body as _;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, StatusCode};

use super::access::audit::{self, Done};
use super::access::caller::Caller;
use super::access::need::Need;
use super::access::{Asker, Barred, admit};
use super::ask::{Ask, parts_of};
use super::attempt::{Attempt, TIME_HEADER};
use super::body::read_body;
use super::cors::{Cors, is_strange};
use super::error::Rejected;
use super::gate::Gate;
use super::params::{Params, decode};
use super::reply::{self, Reply};
use super::rules::{self, Rule, allowed, check, check_framing, find, keyspace_of};
use super::upload::Upload;
use super::users::{self, Asked};
use super::{bulk, health, keys, keyspaces, members, mend, metadata, metrics, scan, status, v0};
use crate::meters::class;
use crate::services::Services;
use crate::shard::{Arrivals, Shard};

/// Answers any request.
pub(super) async fn route(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    caller: &Caller,
    request: Request<Upload>,
) -> Reply {
    let origins = &gate.shard().config().cors_origins;
    let cors = Cors::of(origins, request.method(), request.headers());
    let mut reply = answer(gate, arrivals, caller, request).await;
    let responses = &gate.shard().counters().http_responses[class(reply.status())];
    responses.set(responses.get() + 1);
    let time = gate.time_header();
    reply.headers_mut().insert(&TIME_HEADER, time);
    if let Some(cors) = cors {
        cors.tell(reply.status(), reply.headers_mut());
    }
    reply
}

async fn answer(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    caller: &Caller,
    request: Request<Upload>,
) -> Reply {
    let shard = gate.shard().clone();
    let counter = &shard.counters().http_requests;
    counter.set(counter.get() + 1);
    let path = request.uri().path().to_owned();
    if is_strange(
        &shard.config().cors_origins,
        request.method(),
        request.headers(),
    ) {
        let line =
            "the page that sends this is of another origin: --cors-origin names those that may";
        return Rejected::new(StatusCode::FORBIDDEN, line).into_json();
    }
    let (rule, asked) = match ask(gate.services(), &request, &path) {
        Ok(asked) => asked,
        Err(reply) => return *reply,
    };
    let is_change = rule.is_audited(&asked);
    let mut asker = Asker::ANYBODY;
    if shard.front().guard.is_closed() {
        let need = rule.needed(&asked);
        // A name that cannot be decoded is no keyspace's.
        let name = keyspace_of(&path).and_then(|name| text(name).ok());
        let name = name.unwrap_or_default();
        let barred = bar(&shard, caller, &request, need, &name, is_change);
        asker = match rare(barred).await {
            Ok(asker) => asker,
            Err(barred) => return barred.into_reply(|rejected| form(&path, rejected)),
        };
        if !request.body().is_end_stream() {
            let (shard, asker) = (shard.clone(), asker.clone());
            let still = move || asker.may_still(&shard, need, &name);
            request.body().ask_again(still);
        }
    }
    if !is_change {
        return let_in(gate, arrivals, caller, &asker, request, &path, asked).await;
    }
    let method = request.method().clone();
    let reply = rare(let_in(
        gate, arrivals, caller, &asker, request, &path, asked,
    ))
    .await;
    let done = reply.extensions().get::<Done>();
    audit::change(&asker, caller, &method, &path, done, reply.status());
    reply
}

/// Whoever may not do what needs `need`.
async fn bar(
    shard: &Rc<Shard>,
    caller: &Caller,
    request: &Request<Upload>,
    need: Need,
    keyspace: &str,
    is_change: bool,
) -> Result<Asker, Barred> {
    let admitted = admit(shard, caller, request.headers(), need, keyspace).await;
    if let (true, Err(Barred::Forbidden(asker, _))) = (is_change, &admitted) {
        let (method, path) = (request.method(), request.uri().path());
        audit::change(asker, caller, method, path, None, StatusCode::FORBIDDEN);
    }
    admitted
}

/// An error in the form of its path.
fn form(path: &str, rejected: Rejected) -> Reply {
    if path.starts_with("/v1/") {
        rejected.into_json()
    } else {
        rejected.into_text()
    }
}

/// Answers who may ask.
async fn let_in(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    caller: &Caller,
    asker: &Asker,
    request: Request<Upload>,
    path: &str,
    asked: Params,
) -> Reply {
    let shard = gate.shard().clone();
    if let Err(failure) = shard.may_read() {
        // Whoever asks for data is told; who asks for the node's state is answered.
        if path.starts_with("/v0/") {
            return Rejected::from(failure).into_text();
        }
        if path.starts_with("/v1/keyspaces/") && path.matches('/').count() > 3 {
            return Rejected::from(failure).into_json();
        }
    }
    match path {
        "/health/live" => return health::live(&shard, asker),
        "/health/ready" => return rare(health::ready(shard, asker, false)).await,
        "/health" => return rare(health::ready(shard, asker, true)).await,
        _ => {}
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if gate.warm().await && !is_read {
        arrivals.has_been_held_up();
    }
    let reply = serve(gate, arrivals, caller, asker, request, path, asked).await;
    if shard.is_superseded() {
        // Whatever was done here does not count.
        Rejected::superseded().into_text()
    } else {
        reply
    }
}

/// The rule of a request and the parameters that it knows, or what refuses it.
fn ask(
    services: &Services,
    request: &Request<Upload>,
    path: &str,
) -> Result<(&'static Rule, Params), Box<Reply>> {
    let form = |rejected: Rejected| Box::new(form(path, rejected));
    check_framing(request.version(), request.headers()).map_err(form)?;
    let method = request.method();
    if path == "*" && *method == Method::OPTIONS {
        return Err(Box::new(reply::empty(StatusCode::NO_CONTENT)));
    }
    if !path.starts_with('/') {
        return Err(form(Rejected::bad("the target of a request is a path")));
    }
    let plugged = || services.plugged_rules(path).map(|(_, rules)| rules);
    let Some(rules) = rules::rules(path).or_else(plugged) else {
        return Err(form(unknown(path)));
    };
    let allow = |mut reply: Box<Reply>| {
        if let Ok(methods) = HeaderValue::from_str(&allowed(rules)) {
            reply.headers_mut().insert(ALLOW, methods);
        }
        reply
    };
    if *method == Method::OPTIONS {
        return Err(allow(Box::new(reply::empty(StatusCode::NO_CONTENT))));
    }
    let asked = find(rules, method).and_then(|rule| {
        let params = Params::of(request.uri().query(), request.headers())?;
        check(rule, path, &params, request.headers()).map(|()| (rule, params))
    });
    asked.map_err(|rejected| match rejected.status {
        StatusCode::METHOD_NOT_ALLOWED => allow(form(rejected)),
        _ => form(rejected),
    })
}

async fn serve(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    caller: &Caller,
    asker: &Asker,
    request: Request<Upload>,
    path: &str,
    params: Params,
) -> Reply {
    let services = gate.services();
    let coordinator = || services.coordinator.clone();
    match path {
        "/v0/entity" => v0::entity(coordinator(), arrivals, request, params)
            .await
            .unwrap_or_else(Rejected::into_text),
        "/v0/entities" => rare(v0::entities(coordinator(), request.method(), params))
            .await
            .unwrap_or_else(Rejected::into_text),
        "/metrics" => rare(metrics::metrics(services.shard.clone(), request.headers())).await,
        path => match path.strip_prefix("/v1/") {
            Some(rest) => v1(gate, arrivals, caller, asker, request, rest, params)
                .await
                .unwrap_or_else(Rejected::into_json),
            None => unknown(path).into_text(),
        },
    }
}

async fn v1(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    caller: &Caller,
    asker: &Asker,
    request: Request<Upload>,
    rest: &str,
    params: Params,
) -> Result<Reply, Rejected> {
    // A key may hold an encoded slash, so the path is cut before it is decoded.
    let parts: Vec<&str> = rest.splitn(4, '/').collect();
    let services = gate.services();
    let shard = services.shard.clone();
    let by_whom = |shard| Asked {
        shard,
        arrivals,
        caller,
        asker,
    };
    check_reserved(request.method(), &parts)?;
    check_mode(&shard, &parts)?;
    match parts.as_slice() {
        ["status"] => rare(status::status(services)).await,
        ["metadata"] => rare(metadata::metadata(shard, request.method(), params)).await,
        ["dropped"] => keyspaces::dropped(&shard, request.method()),
        ["members"] => rare(members::members(services, arrivals, request)).await,
        ["members", "change"] => rare(members::cancel(shard, arrivals, request.method())).await,
        ["users"] => rare(users::collection(by_whom(shard), request)).await,
        ["users", name] => rare(users::one(by_whom(shard), request, &text(name)?)).await,
        ["keyspaces"] => rare(keyspaces::collection(services, arrivals, asker, request)).await,
        ["keyspaces", name] => rare(keyspaces::one(shard, arrivals, request, &text(name)?)).await,
        ["keyspaces", name, "keys"] => {
            rare(scan::keys(
                &services.coordinator,
                &request,
                &text(name)?,
                params,
            ))
            .await
        }
        ["keyspaces", name, "undrop"] => {
            rare(keyspaces::undrop(
                shard,
                arrivals,
                request.method(),
                &text(name)?,
            ))
            .await
        }
        ["keyspaces", name, "mend-stamps"] => {
            rare(mend::mend(
                &services.coordinator,
                request.method(),
                &text(name)?,
                params,
            ))
            .await
        }
        ["keyspaces", name, "bulk"] => {
            rare(bulk::bulk(
                &services.coordinator,
                arrivals,
                request,
                &text(name)?,
                params,
            ))
            .await
        }
        ["keyspaces", name, "key"] => {
            let key = params.required("key")?;
            rare(keys::key(
                services.coordinator.clone(),
                arrivals,
                request,
                &text(name)?,
                key,
                params,
            ))
            .await
        }
        ["keyspaces", name, "keys", key] => {
            let coordinator = services.coordinator.clone();
            keys::key(
                coordinator,
                arrivals,
                request,
                &text(name)?,
                decode(key)?,
                params,
            )
            .await
        }
        _ => rare(plugged(gate, arrivals, caller, asker, request, params)).await,
    }
}

/// Refuses all but the description of a keyspace that is the cluster's own.
fn check_reserved(method: &Method, parts: &[&str]) -> Result<(), Rejected> {
    let ["keyspaces", name, rest @ ..] = parts else {
        return Ok(());
    };
    let is_described = rest.is_empty() && matches!(*method, Method::GET | Method::HEAD);
    match text(name) {
        Ok(name) if name.starts_with('_') && !is_described => Err(Rejected::bad(format!(
            "keyspace {name} is not for users: the cluster keeps its own in it"
        ))),
        _ => Ok(()),
    }
}

/// Refuses what transactional keyspaces do not have.
fn check_mode(shard: &Shard, parts: &[&str]) -> Result<(), Rejected> {
    let ["keyspaces", name, what, ..] = parts else {
        return Ok(());
    };
    if matches!(*what, "keys" | "key" | "undrop") {
        return Ok(());
    }
    let placement = shard.placement();
    match text(name)
        .ok()
        .and_then(|name| placement.transactional_named(&name).cloned())
    {
        Some(keyspace) => Err(keys::not_of_ranges(&keyspace.name, what)),
        None => Ok(()),
    }
}

/// Answers by a capability that is plugged in.
async fn plugged(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    caller: &Caller,
    asker: &Asker,
    request: Request<Upload>,
    params: Params,
) -> Result<Reply, Rejected> {
    let services = gate.services();
    let path = &request.uri().path().to_owned();
    let missing = || unknown(path);
    let (plug, rules) = services.plugged_rules(path).ok_or_else(missing)?;
    let need = find(rules, request.method())?.needed(&params);
    let name = keyspace_of(path).and_then(|name| text(name).ok());
    let (shard, asker) = (services.shard.clone(), asker.clone());
    let who = format!("{} from {}", asker.name(), caller.place());
    let name = name.unwrap_or_default();
    let (head, body) = request.into_parts();
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let attempt = Attempt::new(&shard, arrivals, &head.headers)?;
    // The largest value fits here, with its key and a head.
    let limit_bytes = shard
        .config()
        .max_body_bytes
        .saturating_add(bulk::EXTRA_BYTES);
    let body = read_body(&shard.front().doors, body, limit_bytes).await?;
    if !is_read {
        attempt.check()?;
        attempt.begin(services)?;
    }
    let client = asker
        .user()
        .map_or_else(|| caller.address().to_string(), str::to_owned);
    let (of, on) = (asker.clone(), name.clone());
    let of_any = asker.clone();
    let (of_now, at) = (asker.clone(), shard.clone());
    let ask = Ask {
        method: head.method,
        parts: parts_of(path)?,
        params,
        headers: head.headers,
        body: body.bytes.clone(),
        who,
        client,
        deadline: attempt.deadline(),
        floor: attempt.floor(),
        may: Box::new(move |role| of.may(role, &on)),
        may_on: Box::new(move |role, keyspace| of_any.may(role, keyspace)),
        may_now: Box::new(move |role, keyspace| of_now.may_now(&at, role, keyspace)),
        upgrading: caller.upgrading().clone(),
        still: Box::new(move || asker.may_still(&shard, need, &name)),
        stopping: Box::pin(gate.announced()),
        abort: caller.abort().clone(),
    };
    plug.http(services.clone(), ask).await
}

/// A future on the heap: those of gets and puts are moved with each request, and would be as large as
/// the largest of all.
fn rare<F: Future>(answer: F) -> Pin<Box<F>> {
    Box::pin(answer)
}

fn unknown(path: &str) -> Rejected {
    Rejected::new(rules::unknown(path), "no such path")
}

pub(super) fn text(part: &str) -> Result<String, Rejected> {
    String::from_utf8(decode(part)?.into()).map_err(|_| Rejected::bad("the name is not UTF-8"))
}
