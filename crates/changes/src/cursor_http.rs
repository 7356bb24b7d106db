//! Named cursors over HTTP.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::http::{Answer, Ask, Rejected, empty, json};
use dunlin_node::{Failure, Services};
use dunlin_proto::Token;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json as object};
use tokio::time::{Instant, timeout_at};

use crate::cursor::Cursor;
use crate::cursors::Cursors;
use crate::merge::Merged;
use crate::reading::Asked;

/// Longer names are refused.
const NAME_BYTES_MAX: usize = 255;
/// Cursors of a keyspace; more are refused.
const CURSORS_MAX: usize = 2_000;
/// How long the partitions are waited for, to say from where on what comes from now on is told.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Set {
    /// `beginning`, `now` or a token.
    from: Option<String>,
    /// It may be there, and is set elsewhere.
    #[serde(default)]
    seek: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commit {
    token: String,
    generation: Option<u64>,
    /// The consumer ends with that.
    #[serde(default)]
    release: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Renew {
    generation: u64,
}

/// Answers a request below `/v1/keyspaces/NAME/cursors`.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let name = ask.parts.get(1).map(String::as_str).unwrap_or_default();
    let missing = || Rejected::new(StatusCode::NOT_FOUND, "there is no such keyspace");
    let (keyspace, partitions) = services.keyspace(name).ok_or_else(missing)?;
    let cursors = Cursors::of(&services, keyspace);
    let now_ms = services.now_ms();
    let is_read = matches!(ask.method, Method::GET | Method::HEAD);
    match &ask.parts[2..] {
        [_] => {
            let (all, damaged) = cursors.all().await?;
            let all = all.iter().map(|cursor| shown(cursor, now_ms));
            let damaged = damaged.into_iter();
            let damaged = damaged.map(|found| object!({"name": found.name, "damaged": found.why}));
            let all: Vec<Value> = all.chain(damaged).collect();
            Ok(json(StatusCode::OK, &all))
        }
        [_, name] if is_read => {
            let (cursor, _) = cursors.named(name).await?;
            Ok(json(StatusCode::OK, &shown(&cursor, now_ms)))
        }
        [_, name] if ask.method == Method::PUT => {
            let set: Set = if ask.body.is_empty() {
                Set::default()
            } else {
                read(&ask.body)?
            };
            put(&services, &cursors, (keyspace, partitions), name, set).await
        }
        [_, name] if ask.method == Method::DELETE => {
            cursors.delete(name).await?;
            Ok(empty(StatusCode::NO_CONTENT))
        }
        [_, name, verb] if verb == "renew" => {
            let Renew { generation } = read(&ask.body)?;
            let renewed = cursors.change(name, |cursor| cursor.renew(generation, now_ms));
            Ok(json(StatusCode::OK, &shown(&renewed.await?, now_ms)))
        }
        [_, name, _] => {
            let commit: Commit = read(&ask.body)?;
            token(&services, keyspace, &commit.token)?;
            let committed = cursors
                .change(name, |cursor| {
                    let committed =
                        cursor.commit(commit.token.clone(), commit.generation, now_ms)?;
                    match (commit.release, commit.generation) {
                        (true, Some(generation)) => committed.release(generation),
                        _ => Ok(committed),
                    }
                })
                .await?;
            Ok(json(StatusCode::OK, &shown(&committed, now_ms)))
        }
        _ => Err(missing()),
    }
}

async fn put(
    services: &Rc<Services>,
    cursors: &Cursors<'_>,
    (keyspace, partitions): (u32, u16),
    name: &str,
    set: Set,
) -> Result<Answer, Rejected> {
    check_name(name)?;
    services.make_system().await?;
    let from = match set.from.as_deref() {
        None | Some("beginning") => Merged::beginning(services, keyspace).to_string(),
        Some("now") => now(services, keyspace, partitions).await?,
        Some(text) => token(services, keyspace, text)?.to_string(),
    };
    let now_ms = services.now_ms();
    if set.seek {
        let sought = cursors.change(name, |cursor| Ok(cursor.seek(from.clone(), now_ms)));
        return Ok(json(StatusCode::OK, &shown(&sought.await?, now_ms)));
    }
    if cursors.all().await?.0.len() >= CURSORS_MAX {
        let line = format!(
            "a keyspace has at most {CURSORS_MAX} cursors: drop those that nobody reads by, dunlin cursor list shows them"
        );
        return Err(Rejected::new(StatusCode::CONFLICT, line));
    }
    let dropped_ms = cursors.dropped_ms(name).await?;
    let cursor = Cursor::new(keyspace, name, from, now_ms, dropped_ms);
    match cursors.create(&cursor).await {
        Ok(()) => Ok(json(StatusCode::CREATED, &shown(&cursor, now_ms))),
        Err(Failure::ConditionFailed(_)) => Err(Rejected::new(
            StatusCode::CONFLICT,
            format!("there is a cursor {name} already: \"seek\": true sets it elsewhere"),
        )),
        Err(failure) => Err(failure.into()),
    }
}

fn check_name(name: &str) -> Result<(), Rejected> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(Rejected::bad(format!(
            "a cursor's name has 1 to {NAME_BYTES_MAX} of A-Z a-z 0-9 . _ -"
        )))
    }
}

/// Where what comes from now on begins.
async fn now(services: &Rc<Services>, keyspace: u32, partitions: u16) -> Result<String, Rejected> {
    let asked = Asked {
        keyspace,
        prefix: bytes::Bytes::new(),
        keys_only: true,
        only_here: false,
        who: "a cursor that is made".to_owned(),
    };
    let mut merged = Merged::new(services, asked, (0..partitions).collect(), None, None);
    let until = Instant::now() + BEGIN_TIMEOUT;
    loop {
        if let Some(token) = merged.token() {
            return Ok(token.to_string());
        }
        if timeout_at(until, merged.next()).await.is_err() {
            let line = "not all partitions can be reached to say what now is: try again, or begin at the beginning";
            return Err(Rejected::new(StatusCode::SERVICE_UNAVAILABLE, line));
        }
    }
}

fn token(services: &Services, keyspace: u32, text: &str) -> Result<Token, Rejected> {
    let token: Token = text
        .parse()
        .map_err(|error| Rejected::bad(format!("{error}")))?;
    let checked = token.check(services.cluster_number(), keyspace);
    checked.map_err(|error| Rejected::bad(error.to_string()))?;
    Ok(token)
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Rejected> {
    serde_json::from_slice(body).map_err(|error| {
        Rejected::bad(format!(
            "the body does not say what to do with the cursor: {error}"
        ))
    })
}

fn shown(cursor: &Cursor, now_ms: u64) -> Value {
    let mut shown = object!({
        "name": cursor.name, "token": cursor.token, "generation": cursor.generation,
        "created_ms": cursor.created_ms, "committed_ms": cursor.committed_ms,
    });
    if cursor.is_held(now_ms) {
        shown["holder"] = cursor.holder.clone().into();
        shown["lease_left_ms"] = (cursor.lease_until_ms - now_ms).into();
    }
    shown
}
