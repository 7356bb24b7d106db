//! What each path takes: methods, parameters, conditions. What is not named here is refused by `/v1`,
//! never ignored: a misspelled `expires_in` would keep for ever what was to go. Clients of `/v0` expect
//! that it ignores parameters it does not know; those that `/v1` knows it refuses.

use dunlin_metadata::Role;
use hyper::header::{
    EXPECT, HOST, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
    TRANSFER_ENCODING,
};
use hyper::{Method, StatusCode, Version};

use super::access::need::Need;
use super::error::Rejected;
use super::params::Params;

/// One method of a path. `GET` stands for `HEAD` too.
#[derive(Debug)]
pub struct Rule {
    method: Method,
    params: &'static [&'static str],
    /// Whether `If-Match` and `If-None-Match` mean something to it.
    takes_conditions: bool,
    /// What its asker must have.
    pub(super) need: Need,
    /// It is what machines do all the time: the audit tells nothing of it.
    is_routine: bool,
}

impl Rule {
    /// Of a capability that is plugged in: a method, the parameters that it knows, what its asker must have.
    pub const fn new(method: Method, params: &'static [&'static str], need: Need) -> Rule {
        rule(method, params, need)
    }

    /// The same of what machines do all the time.
    pub const fn routine(method: Method, params: &'static [&'static str], need: Need) -> Rule {
        let mut rule = rule(method, params, need);
        rule.is_routine = true;
        rule
    }

    /// What its asker must have, for what he asks.
    pub(super) fn needed(&self, params: &Params) -> Need {
        if self.need == READ_ALL && asks_for_users(params) {
            ADMIN_ALL
        } else {
            self.need
        }
    }

    /// Whether it is told of in the audit: what administrators change, and hashes leaving the cluster.
    pub(super) fn is_audited(&self, params: &Params) -> bool {
        match self.need {
            Need::Keyspace(Role::Admin) | Need::Everything(Role::Admin) => {
                self.method != Method::GET && !self.is_routine
            }
            Need::Everything(_) => asks_for_users(params),
            _ => false,
        }
    }
}

/// Whether the metadata is asked for with its users' hashes. No other path knows the parameter.
pub(super) fn asks_for_users(params: &Params) -> bool {
    params.get("users").is_some()
}

const fn rule(method: Method, params: &'static [&'static str], need: Need) -> Rule {
    Rule {
        method,
        params,
        takes_conditions: false,
        need,
        is_routine: false,
    }
}

const fn conditional(method: Method, params: &'static [&'static str], need: Need) -> Rule {
    Rule {
        method,
        params,
        takes_conditions: true,
        need,
        is_routine: false,
    }
}

const READ: Need = Need::Keyspace(Role::Read);
const WRITE: Need = Need::Keyspace(Role::Write);
const ADMIN: Need = Need::Keyspace(Role::Admin);
const READ_ALL: Need = Need::Everything(Role::Read);
const ADMIN_ALL: Need = Need::Everything(Role::Admin);
const QUORUM: &[&str] = &["ack", "from"];
const ENTITY: &[&str] = &["id", "ack", "from"];
/// What `/v1` knows of keys and values. Who says it to `/v0` means something by it.
const OF_V1: &[&str] = &["expires_in", "expires_at", "prefix", "limit", "key"];

/// The rules of a path, its key and keyspace still encoded; `None` when there is no such path.
pub(super) fn rules(path: &str) -> Option<&'static [Rule]> {
    const LIVE: &[Rule] = &[rule(Method::GET, &[], Need::Nothing)];
    const HEALTH: &[Rule] = &[rule(Method::GET, &[], Need::Told)];
    const SHOWN: &[Rule] = &[rule(Method::GET, &[], READ_ALL)];
    const OF_METADATA: &[Rule] = &[rule(Method::GET, &["users"], READ_ALL)];
    const OF_ENTITY: &[Rule] = &[
        conditional(Method::GET, ENTITY, READ),
        rule(Method::PUT, ENTITY, WRITE),
        rule(Method::DELETE, ENTITY, WRITE),
    ];
    const OF_ENTITIES: &[Rule] = &[rule(Method::GET, &["start", "end", "ack", "from"], READ)];
    const OF_MEMBERS: &[Rule] = &[
        rule(Method::GET, &[], READ_ALL),
        rule(Method::POST, &[], ADMIN_ALL),
    ];
    const OF_CHANGE: &[Rule] = &[rule(Method::DELETE, &[], ADMIN_ALL)];
    const OF_USERS: &[Rule] = &[
        rule(Method::GET, &[], ADMIN_ALL),
        rule(Method::POST, &[], ADMIN_ALL),
        rule(Method::DELETE, &[], ADMIN_ALL),
    ];
    const OF_USER: &[Rule] = &[
        rule(Method::PUT, &[], ADMIN_ALL),
        rule(Method::DELETE, &[], ADMIN_ALL),
    ];
    const OF_KEYSPACES: &[Rule] = &[
        rule(Method::GET, &[], Need::User),
        rule(Method::POST, &[], ADMIN_ALL),
    ];
    const OF_KEYSPACE: &[Rule] = &[
        rule(Method::GET, &[], READ),
        rule(Method::PATCH, &[], ADMIN),
        rule(Method::DELETE, &[], ADMIN),
    ];
    const OF_RANGE: &[Rule] = &[rule(
        Method::GET,
        &["prefix", "start", "end", "limit", "ack", "from"],
        READ,
    )];
    const OF_UNDROP: &[Rule] = &[rule(Method::POST, &[], ADMIN)];
    const OF_MEND: &[Rule] = &[
        rule(Method::GET, &["from"], ADMIN),
        rule(Method::POST, &["from"], ADMIN),
    ];
    const OF_BULK: &[Rule] = &[rule(Method::POST, QUORUM, WRITE)];
    const OF_KEY: &[Rule] = &[
        conditional(Method::GET, QUORUM, READ),
        conditional(
            Method::PUT,
            &["ack", "from", "expires_in", "expires_at"],
            WRITE,
        ),
        conditional(Method::DELETE, QUORUM, WRITE),
    ];
    const OF_LONG_KEY: &[Rule] = &[
        conditional(Method::GET, &["key", "ack", "from"], READ),
        conditional(
            Method::PUT,
            &["key", "ack", "from", "expires_in", "expires_at"],
            WRITE,
        ),
        conditional(Method::DELETE, &["key", "ack", "from"], WRITE),
    ];
    match path {
        "/health/live" => return Some(LIVE),
        "/health" | "/health/ready" => return Some(HEALTH),
        "/metrics" => return Some(SHOWN),
        "/v0/entity" => return Some(OF_ENTITY),
        "/v0/entities" => return Some(OF_ENTITIES),
        _ => {}
    }
    let parts: Vec<&str> = path.strip_prefix("/v1/")?.splitn(4, '/').collect();
    Some(match parts.as_slice() {
        ["status" | "dropped"] => SHOWN,
        ["metadata"] => OF_METADATA,
        ["members"] => OF_MEMBERS,
        ["members", "change"] => OF_CHANGE,
        ["users"] => OF_USERS,
        ["users", _] => OF_USER,
        ["keyspaces"] => OF_KEYSPACES,
        ["keyspaces", _] => OF_KEYSPACE,
        ["keyspaces", _, "keys"] => OF_RANGE,
        ["keyspaces", _, "undrop"] => OF_UNDROP,
        ["keyspaces", _, "mend-stamps"] => OF_MEND,
        ["keyspaces", _, "bulk"] => OF_BULK,
        ["keyspaces", _, "key"] => OF_LONG_KEY,
        ["keyspaces", _, "keys", _] => OF_KEY,
        _ => return None,
    })
}

/// The status of a path that is not known. Clients of the store whose paths `/v0` has expect 400.
pub(super) fn unknown(path: &str) -> StatusCode {
    if path == "/v1" || path.starts_with("/v1/") {
        StatusCode::NOT_FOUND
    } else {
        StatusCode::BAD_REQUEST
    }
}

/// The keyspace that a path names, still encoded; `/v0` has one of its own.
pub(super) fn keyspace_of(path: &str) -> Option<&str> {
    if path.starts_with("/v0/") {
        return Some(super::v0::KEYSPACE);
    }
    path.strip_prefix("/v1/keyspaces/")?.split('/').next()
}

/// The methods of a path, as `Allow` lists them.
pub(super) fn allowed(rules: &[Rule]) -> String {
    let mut methods = String::new();
    for rule in rules {
        methods.push_str(rule.method.as_str());
        methods.push_str(", ");
        if rule.method == Method::GET {
            methods.push_str("HEAD, ");
        }
    }
    methods + "OPTIONS"
}

/// The rule of a method, unless the path does not know it.
pub(super) fn find<'a>(rules: &'a [Rule], method: &Method) -> Result<&'a Rule, Rejected> {
    let named = if *method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let rule = rules.iter().find(|rule| rule.method == *named);
    rule.ok_or_else(Rejected::method)
}

/// Whether a request's path takes what it asks, but for the values.
pub(super) fn check(
    rule: &Rule,
    path: &str,
    params: &Params,
    headers: &HeaderMap,
) -> Result<(), Rejected> {
    let named = &rule.method;
    if path.starts_with("/v0/") {
        params.none(OF_V1, rule.params)?
    } else {
        params.only(rule.params)?
    }
    let refused: &[HeaderName] = match (rule.takes_conditions, *named == Method::GET) {
        // A validator for caches, which this server knows nothing of, may always be ignored.
        (true, true) => &[],
        (true, false) => &[IF_UNMODIFIED_SINCE],
        (false, true) => &[IF_MATCH],
        (false, false) => &[IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE],
    };
    match refused.iter().find(|name| headers.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(Rejected::new(
            StatusCode::BAD_REQUEST,
            format!(
                "{named} takes no {name} here: conditions belong to /v1/keyspaces/KEYSPACE/keys/KEY"
            ),
        )),
    }
}

/// Whether a request's framing is as HTTP has it, in what the parser lets pass.
pub(super) fn check_framing(version: Version, headers: &HeaderMap) -> Result<(), Rejected> {
    let hosts = headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && version == Version::HTTP_11) {
        return Err(Rejected::bad("HTTP/1.1 has one Host in every request"));
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    if codings.any(|coding| {
        !coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked")
    }) {
        return Err(Rejected::new(
            StatusCode::NOT_IMPLEMENTED,
            "bodies come as they are or chunked: no other Transfer-Encoding is known",
        ));
    }
    match headers.get(EXPECT) {
        Some(wish) if !wish.as_bytes().eq_ignore_ascii_case(b"100-continue") => Err(Rejected::new(
            StatusCode::EXPECTATION_FAILED,
            "Expect takes only 100-continue",
        )),
        _ => Ok(()),
    }
}

/// Every path there is, for tests that look at all of them.
#[cfg(test)]
pub(super) const PATHS: &[&str] = &[
    "/health",
    "/health/live",
    "/health/ready",
    "/metrics",
    "/v0/entity",
    "/v0/entities",
    "/v1/status",
    "/v1/metadata",
    "/v1/dropped",
    "/v1/members",
    "/v1/members/change",
    "/v1/users",
    "/v1/users/NAME",
    "/v1/keyspaces",
    "/v1/keyspaces/NAME",
    "/v1/keyspaces/NAME/keys",
    "/v1/keyspaces/NAME/undrop",
    "/v1/keyspaces/NAME/mend-stamps",
    "/v1/keyspaces/NAME/bulk",
    "/v1/keyspaces/NAME/key",
    "/v1/keyspaces/NAME/keys/KEY",
];

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
