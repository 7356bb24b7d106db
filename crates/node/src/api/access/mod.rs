//! Who asks, and whether he may. Nothing of this is looked at while the cluster has no users.
//!
//! | file | duty |
//! |---|---|
//! | `need` | what a rule of a path asks for |
//! | `judge` | pure: users, who, need, keyspace -> yes, 401, 403 |
//! | `credentials` | pure: the header `Authorization` |
//! | `caller` | a connection: where it comes from, and who it last was |
//! | `audit` | lines for what administrators do |
//!
//! Passwords are checked in `crate::logins`; what a shard knows of users is `crate::shard::Guard`.
//! Decision 31.

pub(super) mod audit;
pub(super) mod caller;
mod credentials;
mod judge;
pub mod need;

use std::rc::Rc;

use dunlin_metadata::{By, Role};
use hyper::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use super::error::Rejected;
use super::reply::Reply;
use crate::logins::{Checked, token_hash};
use crate::shard::{Known, Shard};
use caller::Caller;
use credentials::{Credentials, Malformed};
use judge::{Verdict, judge};
use need::Need;

/// Whose password is checked so often because users were changed meanwhile is told to come back.
const LOOKS_MAX: u32 = 4;
/// Whoever asks, when a cluster has no users.
const ANYBODY: &str = "anybody";
/// Whoever has not said who he is.
const STRANGER: &str = "stranger";

/// Who asks, and what he may.
#[derive(Clone)]
pub(super) struct Asker {
    /// The users at the time; none while the cluster is open.
    known: Option<Rc<Known>>,
    name: Option<Rc<str>>,
}

impl Asker {
    /// In a cluster without users.
    pub const ANYBODY: Asker = Asker {
        known: None,
        name: None,
    };

    /// For people.
    pub fn name(&self) -> &str {
        match (&self.name, &self.known) {
            (Some(name), _) => name,
            (None, None) => ANYBODY,
            (None, Some(_)) => STRANGER,
        }
    }

    /// The user; none in a cluster without users.
    pub fn user(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// For a change of users, which looks again.
    pub fn by(&self) -> By<'_> {
        match (&self.name, &self.known) {
            (Some(name), Some(_)) => By::User(name),
            _ => By::Anybody,
        }
    }

    /// Whether he still may what he was let in for, when what he sends has come: users may have been
    /// changed meanwhile.
    pub fn may_still(&self, shard: &Shard, need: Need, keyspace: &str) -> Result<(), Rejected> {
        let now = shard.front().guard.known();
        let is_same = self
            .known
            .as_ref()
            .is_some_and(|known| Rc::ptr_eq(known, &now));
        if is_same || judge(now.access(), self.name.as_deref(), need, keyspace) == Verdict::Allow {
            return Ok(());
        }
        shard.front().logins.counts.forbidden();
        let line = format!(
            "the users were changed while the request came in: {} may not do this now",
            self.name()
        );
        Err(Rejected::new(StatusCode::FORBIDDEN, line))
    }

    /// Whether he has the role on a keyspace now: users may have changed since his connection began.
    pub fn may_now(&self, shard: &Shard, role: Role, keyspace: &str) -> bool {
        let guard = &shard.front().guard;
        if !guard.is_closed() {
            return true;
        }
        let (now, need) = (guard.known(), Need::Keyspace(role));
        judge(now.access(), self.name.as_deref(), need, keyspace) == Verdict::Allow
    }

    /// Whether he has the role on a keyspace, or on all.
    pub fn may(&self, role: Role, keyspace: &str) -> bool {
        match &self.known {
            None => true,
            Some(known) => {
                let need = Need::Keyspace(role);
                judge(known.access(), self.name.as_deref(), need, keyspace) == Verdict::Allow
            }
        }
    }
}

/// Why somebody is not let in.
pub(super) enum Barred {
    /// Say who you are, or say it right.
    Unauthorized(&'static str),
    /// As this user you may not.
    Forbidden(Asker, String),
    /// The header makes no sense.
    Malformed(Malformed),
    /// Too many passwords are being checked.
    Busy,
}

const ASKED: &str = "this cluster has users: name one with a password (Basic) or a token (Bearer)";
const WRONG: &str = "the user's name, password or token is wrong";

/// Lets in who may do what needs `need`.
pub(super) async fn admit(
    shard: &Rc<Shard>,
    caller: &Caller,
    headers: &HeaderMap,
    need: Need,
    keyspace: &str,
) -> Result<Asker, Barred> {
    let mut known = shard.front().guard.known();
    let mut looks = 0;
    let name = loop {
        let name = match need {
            Need::Nothing => None,
            _ => authenticate(shard, caller, headers, &known).await?,
        };
        // The password that he was asked for may be another meanwhile.
        let now = shard.front().guard.known();
        if Rc::ptr_eq(&known, &now) {
            break name;
        }
        looks += 1;
        if looks == LOOKS_MAX {
            return Err(Barred::Busy);
        }
        known = now;
    };
    let verdict = judge(known.access(), name.as_deref(), need, keyspace);
    let asker = Asker {
        known: Some(known),
        name,
    };
    match verdict {
        Verdict::Allow => Ok(asker),
        Verdict::Unauthorized => Err(Barred::Unauthorized(ASKED)),
        Verdict::Forbidden { role, on } => {
            shard.front().logins.counts.forbidden();
            let name = asker.name();
            let line = format!("user {name} lacks the role {role} on {on}");
            Err(Barred::Forbidden(asker, line))
        }
    }
}

async fn authenticate(
    shard: &Rc<Shard>,
    caller: &Caller,
    headers: &HeaderMap,
    known: &Rc<Known>,
) -> Result<Option<Rc<str>>, Barred> {
    let given = credentials::header(headers).map_err(Barred::Malformed)?;
    let Some(given) = given else {
        return Ok(None);
    };
    if let Some(name) = caller.last(given, known) {
        return Ok(Some(name));
    }
    let credentials = credentials::read(given).map_err(Barred::Malformed)?;
    let name: Option<Rc<str>> = match credentials {
        Credentials::Bearer(token) => known.of_token(&token_hash(token)),
        Credentials::Basic { user, password } => {
            let found = known.access().users.get_key_value(user.as_str());
            let hash = found.and_then(|(_, user)| user.password.as_ref());
            let hash = hash.map(|hash| hash.reveal().to_owned());
            let runner = shard.front().guard.runner().map_err(|_| Barred::Busy)?;
            let from = caller.address();
            match shard
                .front()
                .logins
                .check(&runner, from, hash, password)
                .await
            {
                Checked::Right => found.map(|(name, _)| Rc::from(name.as_str())),
                Checked::Wrong => None,
                Checked::Busy => return Err(Barred::Busy),
            }
        }
        Credentials::Other => None,
    };
    let Some(name) = name else {
        audit::failed(shard, caller, given, known);
        return Err(Barred::Unauthorized(WRONG));
    };
    caller.remember(given, known, &name);
    Ok(Some(name))
}

impl Barred {
    /// What the client is told, in the form of its path.
    pub fn into_reply(self, form: impl FnOnce(Rejected) -> Reply) -> Reply {
        let is_asked = matches!(self, Barred::Unauthorized(_));
        let rejected = match self {
            Barred::Unauthorized(line) => Rejected::new(StatusCode::UNAUTHORIZED, line),
            Barred::Forbidden(_, line) => Rejected::new(StatusCode::FORBIDDEN, line),
            Barred::Malformed(Malformed(line)) => Rejected::bad(line),
            Barred::Busy => Rejected {
                retry_after_s: Some(1),
                ..Rejected::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "too many passwords are being checked: try again, or use a token",
                )
            },
        };
        let mut reply = form(rejected);
        if is_asked {
            ask_who(&mut reply);
        }
        reply
    }
}

fn ask_who<B>(reply: &mut Response<B>) {
    for challenge in [
        "Basic realm=\"dunlin\", charset=\"UTF-8\"",
        "Bearer realm=\"dunlin\"",
    ] {
        let challenge = HeaderValue::from_static(challenge);
        reply.headers_mut().append(WWW_AUTHENTICATE, challenge);
    }
}
