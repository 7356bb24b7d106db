//! Lines for what administrators do, and for those who try to get in: target `audit`, which is
//! always on.

use hyper::{Method, StatusCode};

use super::credentials::{Credentials, read};
use super::{Asker, Caller};
use crate::shard::{Known, Shard};

/// So much of a path is told: whoever is let in can send long ones.
const PATH_CHARS_MAX: usize = 256;

/// What was done, where the path does not say it all. An extension of an answer.
#[derive(Clone)]
pub(in crate::api) struct Done(pub String);

/// One change, or an attempt at one.
pub(in crate::api) fn change(
    asker: &Asker,
    caller: &Caller,
    method: &Method,
    path: &str,
    done: Option<&Done>,
    status: StatusCode,
) {
    let detail = done.map_or("", |done| done.0.as_str());
    let shown: String = path.chars().take(PATH_CHARS_MAX).collect();
    let more = if shown.len() < path.len() { ".." } else { "" };
    let what = format!("{method} {shown}{more}");
    tracing::info!(
        target: "audit",
        who = asker.name(),
        from = caller.place(),
        what,
        detail,
        status = status.as_u16(),
        "audit"
    );
}

/// Somebody said wrong who he is: counted, and told once a second at most. A name that is nobody's
/// may be a password in the wrong place, so it is not told.
pub(super) fn failed(shard: &Shard, caller: &Caller, header: &[u8], known: &Known) {
    let Some(silent) = shard
        .front()
        .logins
        .counts
        .failed(shard.env().clock.now_ms())
    else {
        return;
    };
    let user = match read(header) {
        Ok(Credentials::Basic { user, .. }) if known.access().users.contains_key(&user) => user,
        Ok(Credentials::Basic { .. }) => "(unknown)".to_owned(),
        _ => "(token)".to_owned(),
    };
    let from = caller.place();
    tracing::info!(target: "audit", user, from, silent, "audit: failed login");
}
