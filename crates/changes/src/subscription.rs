//! What a client wants, out of its request.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Vector;
use dunlin_metadata::Role;
use dunlin_node::Services;
use dunlin_node::http::{Ask, Params, Rejected};
use dunlin_proto::{Token, TokenError};
use hyper::StatusCode;
use hyper::header::ACCEPT;

use tokio::sync::mpsc::UnboundedSender;

use crate::cursors::Cursors;
use crate::lease::{Lease, Leaving};
use crate::line::Form;
use crate::merge::Merged;
use crate::reading::Asked;
use crate::target::{all_targets, put_back};

pub(crate) const PARAMS: &[&str] = &[
    "from",
    "prefix",
    "keys_only",
    "limit",
    "wait",
    "until",
    "partitions",
    "cursor",
    "generation",
];

/// How long those who hold the partitions are asked what they have.
const TARGET_TIMEOUT: Duration = Duration::from_secs(4);
/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// What a client wants.
pub(crate) struct Subscription {
    pub asked: Asked,
    pub partitions: Vec<u16>,
    /// What comes from now on, where there is none.
    pub from: Option<Token>,
    pub limit: Option<u64>,
    pub wait: Option<Duration>,
    /// It ends when all of this has been told, where it has an end.
    pub targets: Option<BTreeMap<u16, Vector>>,
    pub form: Form,
    /// By which cursor it goes, where it does.
    pub lease: Option<Lease>,
}

impl Subscription {
    /// Of a request; one by a cursor has it from now on.
    pub async fn of(
        services: &Rc<Services>,
        ask: &Ask,
        behind: UnboundedSender<Leaving>,
    ) -> Result<Subscription, Rejected> {
        let params = &ask.params;
        let name = ask.parts.get(1).map(String::as_str).unwrap_or_default();
        let missing = || Rejected::new(StatusCode::NOT_FOUND, "there is no such keyspace");
        let (keyspace, count) = services.keyspace(name).ok_or_else(missing)?;
        let limit = params.number("limit")?;
        if limit == Some(0) {
            return Err(Rejected::bad("limit is a number of changes, at least 1"));
        }
        let mut subscription = Subscription {
            asked: Asked {
                keyspace,
                prefix: params.get("prefix").cloned().unwrap_or_default(),
                keys_only: flag(params, "keys_only")?,
                only_here: false,
                who: ask.who.clone(),
            },
            partitions: partitions(params, count)?,
            from: from(services, ask, keyspace)?,
            limit,
            wait: text(params, "wait")?.map(duration).transpose()?,
            targets: None,
            form: form(ask),
            lease: None,
        };
        match text(params, "until")? {
            None => {}
            Some("end") => {
                let partitions = &subscription.partitions;
                let targets = targets_of(services, keyspace, partitions).await?;
                subscription.targets = Some(targets);
            }
            Some(_) => return Err(Rejected::bad("until takes only end")),
        }
        if let Some(name) = text(params, "cursor")? {
            subscription.by_cursor(services, ask, name, behind).await?;
        }
        if let Some(token) = &subscription.from
            && let Some(shard) = put_back(services, token).await
        {
            let error = TokenError::PutBack(shard);
            let line = format!("{error}: begin anew, or seek the cursor to the beginning");
            return Err(Rejected::new(StatusCode::GONE, line));
        }
        Ok(subscription)
    }

    async fn by_cursor(
        &mut self,
        services: &Rc<Services>,
        ask: &Ask,
        name: &str,
        behind: UnboundedSender<Leaving>,
    ) -> Result<(), Rejected> {
        if ask.params.get("from").is_some() || ask.params.get("partitions").is_some() {
            let line = "a cursor says from where on, and is of all partitions: PUT it with \"seek\": true to set it elsewhere";
            return Err(Rejected::bad(line));
        }
        if !(ask.may)(Role::Write) {
            let line =
                "who reads by a cursor changes it: that needs the role write on the keyspace";
            return Err(Rejected::new(StatusCode::FORBIDDEN, line));
        }
        let keyspace = self.asked.keyspace;
        let generation = ask.params.number("generation")?;
        let now_ms = services.now_ms();
        let cursors = Cursors::of(services, keyspace);
        let granted = cursors.change(name, |cursor| cursor.grant(&ask.who, generation, now_ms));
        let granted = granted.await?;
        let token = granted.token.parse::<Token>();
        let checked = token.and_then(|token| {
            token.check_prefix(&self.asked.prefix)?;
            Ok(token)
        });
        let name = granted.name;
        self.lease = Some(Lease::new(
            services,
            keyspace,
            name,
            granted.generation,
            behind,
        ));
        // The lease is given back where this fails.
        let token = checked.map_err(|error| {
            let name = self.lease.as_ref().map_or("", |lease| lease.holder().0);
            Rejected::bad(format!("cursor {name}: {error}"))
        })?;
        self.from = Some(token);
        Ok(())
    }
}

/// What all must have been told at the end: all that a majority of each partition has.
async fn targets_of(
    services: &Rc<Services>,
    keyspace: u32,
    partitions: &[u16],
) -> Result<BTreeMap<u16, Vector>, Rejected> {
    let targets = all_targets(services, keyspace, partitions, TARGET_TIMEOUT).await;
    targets.map_err(|partition| {
        let line = format!(
            "no majority of the replicas of partition {partition} answers, so its end is not known: dunlin status shows who is away"
        );
        Rejected::new(StatusCode::GATEWAY_TIMEOUT, line)
    })
}

/// A browser that comes back says behind which event.
fn from(services: &Services, ask: &Ask, keyspace: u32) -> Result<Option<Token>, Rejected> {
    let last = ask.headers.get("last-event-id");
    let last = last
        .and_then(|id| id.to_str().ok())
        .filter(|id| !id.is_empty());
    let given = text(&ask.params, "from")?;
    let token = match last.or(given) {
        None | Some("now") => return Ok(None),
        Some("beginning") => return Ok(Some(Merged::beginning(services, keyspace))),
        Some(text) => text.parse::<Token>(),
    };
    let token =
        token.map_err(|error| Rejected::bad(format!("from: {error}; or say beginning or now")))?;
    token
        .check(services.cluster_number(), keyspace)
        .map_err(|error| Rejected::bad(format!("from: {error}; begin anew")))?;
    let prefix = ask.params.get("prefix").cloned().unwrap_or_default();
    token.check_prefix(&prefix).map_err(|error| {
        Rejected::bad(format!(
            "from: {error}: give the same prefix, or begin anew"
        ))
    })?;
    Ok(Some(token))
}

/// Numbers and ranges of numbers, as in `0,4-7`.
fn partitions(params: &Params, count: u16) -> Result<Vec<u16>, Rejected> {
    let Some(given) = text(params, "partitions")? else {
        return Ok((0..count).collect());
    };
    let wrong = || {
        let last = count.saturating_sub(1);
        Rejected::bad(format!(
            "partitions are numbers from 0 to {last} and ranges of them, as in 0,4-7"
        ))
    };
    let mut wanted = Vec::new();
    for part in given.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let number = text.parse::<u16>().map_err(|_| wrong())?;
            (number < count).then_some(number).ok_or_else(wrong)
        };
        wanted.extend(number(first)?..=number(last)?);
    }
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        Err(wrong())
    } else {
        Ok(wanted)
    }
}

/// `30s`, `500ms`, `2min`, or a number of seconds.
fn duration(text: &str) -> Result<Duration, Rejected> {
    let wrong = || Rejected::bad("wait is a time of at most an hour, as in 30s, 500ms or 2min");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let factor = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "min" => 60_000,
        _ => return Err(wrong()),
    };
    let wait = number.checked_mul(factor).map(Duration::from_millis);
    wait.filter(|wait| *wait <= WAIT_MAX).ok_or_else(wrong)
}

fn flag(params: &Params, name: &str) -> Result<bool, Rejected> {
    match text(params, name)? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Rejected::bad(format!("{name} is true or false"))),
    }
}

fn text<'a>(params: &'a Params, name: &str) -> Result<Option<&'a str>, Rejected> {
    let Some(bytes) = params.get(name) else {
        return Ok(None);
    };
    let bytes: &'a Bytes = bytes;
    let text = std::str::from_utf8(bytes);
    text.map(Some)
        .map_err(|_| Rejected::bad(format!("{name} is not UTF-8")))
}

fn form(ask: &Ask) -> Form {
    let accepted = ask.headers.get_all(ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    if accepted.any(|value| value.contains("text/event-stream")) {
        Form::Events
    } else {
        Form::Lines
    }
}

#[cfg(test)]
#[path = "subscription_tests.rs"]
mod tests;
