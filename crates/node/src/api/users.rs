//! Users: make, list, change, drop; and the cluster opened again to all.

use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_metadata::{Access, AccessChange, Hash, Role, Tokens, User};
use dunlin_proto::ShardAddress;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::access::Asker;
use super::access::audit::Done;
use super::access::caller::Caller;
use super::attempt::in_time;
use super::body::read_body;
use super::error::Rejected;
use super::reply::{self, Reply};
use super::upload::Upload;
use crate::limits::{USERS_PAUSE, USERS_WAIT};
use crate::logins::{check_password, hex, new_token, token_hash};
use crate::shard::{Arrivals, Shard};

/// Largest description of a user, in bytes.
const BODY_BYTES: usize = 64 << 10;

/// Roles by keyspace, `*` for all.
type Roles = BTreeMap<String, Role>;

/// A new user. No `Debug`: it holds what must not be shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    name: String,
    roles: Roles,
    #[serde(default)]
    password: Option<String>,
    /// Whether to make a token.
    #[serde(default)]
    token: bool,
}

/// What is to change of a user; what is left out stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    #[serde(default)]
    roles: Option<Roles>,
    #[serde(default)]
    password: Option<String>,
    /// True for one more, false for none at all.
    #[serde(default)]
    token: Option<bool>,
}

/// What comes with every request here.
pub(super) struct Asked<'a> {
    pub shard: Rc<Shard>,
    pub arrivals: &'a Arrivals,
    pub caller: &'a Caller,
    pub asker: &'a Asker,
}

/// `/v1/users`.
pub(super) async fn collection(
    asked: Asked<'_>,
    request: Request<Upload>,
) -> Result<Reply, Rejected> {
    match *request.method() {
        Method::GET | Method::HEAD => {
            let topology = asked.shard.metadata().topology().borrow().clone();
            let access = &topology.access;
            let users = access.users.iter().map(|(name, user)| shown(name, user));
            let users: Vec<Value> = users.collect();
            let all = json!({ "closed": access.closed, "users": users });
            Ok(reply::json(StatusCode::OK, &all))
        }
        Method::POST => {
            let add: Add = asked.body(request).await?;
            let password = asked.hashed(add.password).await?;
            let token = add.token.then(new_token);
            let change = AccessChange::Add {
                name: add.name.clone(),
                roles: add.roles.clone(),
                password,
                token: token.as_deref().map(stored),
            };
            let what = format!("make user {} with {}", add.name, in_words(&add.roles));
            asked
                .change(change, &add.name, token, StatusCode::CREATED, what)
                .await
        }
        Method::DELETE => {
            in_time(asked.arrivals)?;
            let what = "drop all users: the cluster is open to all".to_owned();
            asked
                .change(AccessChange::Disable, "", None, StatusCode::OK, what)
                .await
        }
        _ => Err(Rejected::method()),
    }
}

/// `/v1/users/{name}`.
pub(super) async fn one(
    asked: Asked<'_>,
    request: Request<Upload>,
    name: &str,
) -> Result<Reply, Rejected> {
    match *request.method() {
        Method::PUT => {
            let set: Set = asked.body(request).await?;
            if set.roles.is_none() && set.password.is_none() && set.token.is_none() {
                return Err(Rejected::bad(
                    "nothing is to change: roles, password or token",
                ));
            }
            let mut what = format!("change user {name}:");
            if let Some(roles) = &set.roles {
                what.push_str(&format!(" {}", in_words(roles)));
            }
            if set.password.is_some() {
                what.push_str(" password");
            }
            let password = asked.hashed(set.password).await?;
            let token = (set.token == Some(true)).then(new_token);
            let tokens = match (&token, set.token) {
                (Some(token), _) => Tokens::Add(stored(token)),
                (None, Some(_)) => Tokens::Clear,
                (None, None) => Tokens::Keep,
            };
            what.push_str(match tokens {
                Tokens::Add(_) => " one more token",
                Tokens::Clear => " no tokens",
                Tokens::Keep => "",
            });
            let change = AccessChange::Set {
                name: name.to_owned(),
                roles: set.roles,
                password,
                tokens,
            };
            asked
                .change(change, name, token, StatusCode::OK, what)
                .await
        }
        Method::DELETE => {
            in_time(asked.arrivals)?;
            let change = AccessChange::Drop {
                name: name.to_owned(),
            };
            let what = format!("drop user {name}");
            asked.change(change, name, None, StatusCode::OK, what).await
        }
        _ => Err(Rejected::method()),
    }
}

impl Asked<'_> {
    async fn body<T: DeserializeOwned>(&self, request: Request<Upload>) -> Result<T, Rejected> {
        let received =
            read_body(&self.shard.front().doors, request.into_body(), BODY_BYTES).await?;
        let read = serde_json::from_slice(&received.bytes);
        in_time(self.arrivals)?;
        // The library's own words may say what is in it, a password too.
        read.map_err(|error| {
            Rejected::bad(format!(
                "the body does not describe a user, at line {} column {}: \
                 {{\"name\", \"roles\": {{KEYSPACE or *: read, write or admin}}, \"password\", \"token\": true}}",
                error.line(),
                error.column()
            ))
        })
    }

    async fn hashed(&self, password: Option<String>) -> Result<Option<Hash>, Rejected> {
        let Some(password) = password else {
            return Ok(None);
        };
        check_password(&password).map_err(Rejected::bad)?;
        let busy = || Rejected {
            retry_after_s: Some(1),
            ..Rejected::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many passwords are being checked: try again",
            )
        };
        let runner = self.shard.front().guard.runner().map_err(|_| busy())?;
        let from = self.caller.address();
        let hash = self
            .shard
            .front()
            .logins
            .hash(&runner, from, password.into_bytes());
        hash.await.map(Some).ok_or_else(busy)
    }

    /// Makes a change, and answers when all nodes within reach go by it, or after a while.
    async fn change(
        self,
        change: AccessChange,
        name: &str,
        token: Option<String>,
        status: StatusCode,
        what: String,
    ) -> Result<Reply, Rejected> {
        let now_ms = self.shard.env().clock.now_ms();
        let metadata = self.shard.metadata();
        let access = metadata
            .change_access(&change, self.asker.by(), now_ms)
            .await?;
        let waits_for = settle(&self.shard, &access).await;
        let mut told = match access.users.get(name) {
            Some(user) => shown(name, user),
            None => json!({}),
        };
        told["waits_for"] = waits_for.into();
        if let Some(token) = token {
            told["token"] = token.into();
        }
        let mut reply = reply::json(status, &told);
        reply.extensions_mut().insert(Done(what));
        Ok(reply)
    }
}

/// What is shown of a user: never what is recognised by.
fn shown(name: &str, user: &User) -> Value {
    json!({
        "name": name, "roles": user.roles, "has_password": user.password.is_some(),
        "tokens": user.tokens.len(), "made_ms": user.made_ms, "made_by": user.made_by,
        "changed_ms": user.changed_ms, "changed_by": user.changed_by,
    })
}

fn in_words(roles: &Roles) -> String {
    let each = roles.iter().map(|(name, role)| format!("{role} on {name}"));
    each.collect::<Vec<_>>().join(", ")
}

fn stored(token: &str) -> Hash {
    hex(&token_hash(token.as_bytes()))
}

/// Waits until all shards within reach go by these users; answers the names of nodes that do not:
/// they are away, or cut off from the metadata store.
async fn settle(shard: &Rc<Shard>, access: &Access) -> Vec<String> {
    let deadline = Instant::now() + USERS_WAIT;
    let mut behind = Vec::new();
    let asked = async {
        loop {
            let placement = shard.placement();
            let (within_reach, away): (Vec<ShardAddress>, Vec<ShardAddress>) =
                placement.shards().partition(|s| shard.is_reachable(*s));
            let told = shard.statuses(&within_reach).await;
            let late = told.into_iter().filter_map(|(address, status)| {
                let changes = status.and_then(|status| status.users);
                let is_late = changes.is_none_or(|changes| changes < access.changes);
                is_late.then_some(address)
            });
            let late: Vec<ShardAddress> = late.collect();
            let is_settled = late.is_empty();
            let mut nodes: Vec<u16> = late.iter().chain(&away).map(|s| s.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let names = nodes.iter().filter_map(|id| placement.nodes.get(id));
            behind = names.map(|node| node.name.clone()).collect();
            if is_settled {
                return;
            }
            sleep(USERS_PAUSE).await;
        }
    };
    drop(timeout_at(deadline, asked).await);
    behind
}
