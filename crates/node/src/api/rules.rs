//! What each path takes: methods, parameters, conditions. What is not named here is refused, never
//! ignored: a misspelled `expires_in` would keep for ever what was to go.

use hyper::header::{
    EXPECT, HOST, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
    TRANSFER_ENCODING,
};
use hyper::{Method, StatusCode, Version};

use super::error::Rejected;
use super::params::Params;

/// One method of a path. `GET` stands for `HEAD` too.
pub(super) struct Rule {
    method: Method,
    params: &'static [&'static str],
    /// Whether `If-Match` and `If-None-Match` mean something to it.
    takes_conditions: bool,
}

const fn rule(method: Method, params: &'static [&'static str]) -> Rule {
    Rule {
        method,
        params,
        takes_conditions: false,
    }
}

const fn conditional(method: Method, params: &'static [&'static str]) -> Rule {
    Rule {
        method,
        params,
        takes_conditions: true,
    }
}

const SHOWN: &[Rule] = &[rule(Method::GET, &[])];
const POSTED: &[Rule] = &[rule(Method::POST, &[])];
const QUORUM: &[&str] = &["ack", "from"];
const ENTITY: &[&str] = &["id", "ack", "from"];

/// The rules of a path, its key and keyspace still encoded; `None` when there is no such path.
pub(super) fn rules(path: &str) -> Option<&'static [Rule]> {
    const OF_ENTITY: &[Rule] = &[
        conditional(Method::GET, ENTITY),
        rule(Method::PUT, ENTITY),
        rule(Method::DELETE, ENTITY),
    ];
    const OF_ENTITIES: &[Rule] = &[rule(Method::GET, &["start", "end", "ack", "from"])];
    const OF_COLLECTION: &[Rule] = &[rule(Method::GET, &[]), rule(Method::POST, &[])];
    const OF_KEYSPACE: &[Rule] = &[rule(Method::GET, &[]), rule(Method::DELETE, &[])];
    const OF_CHANGE: &[Rule] = &[rule(Method::DELETE, &[])];
    const OF_RANGE: &[Rule] = &[rule(
        Method::GET,
        &["prefix", "start", "end", "limit", "ack", "from"],
    )];
    const OF_MEND: &[Rule] = &[rule(Method::GET, &["from"]), rule(Method::POST, &["from"])];
    const OF_BULK: &[Rule] = &[rule(Method::POST, QUORUM)];
    const OF_KEY: &[Rule] = &[
        conditional(Method::GET, QUORUM),
        conditional(Method::PUT, &["ack", "from", "expires_in"]),
        conditional(Method::DELETE, QUORUM),
    ];
    const OF_LONG_KEY: &[Rule] = &[
        conditional(Method::GET, &["key", "ack", "from"]),
        conditional(Method::PUT, &["key", "ack", "from", "expires_in"]),
        conditional(Method::DELETE, &["key", "ack", "from"]),
    ];
    match path {
        "/health" | "/health/live" | "/health/ready" | "/metrics" => return Some(SHOWN),
        "/v0/entity" => return Some(OF_ENTITY),
        "/v0/entities" => return Some(OF_ENTITIES),
        _ => {}
    }
    let parts: Vec<&str> = path.strip_prefix("/v1/")?.splitn(4, '/').collect();
    Some(match parts.as_slice() {
        ["status" | "metadata" | "dropped"] => SHOWN,
        ["members" | "keyspaces"] => OF_COLLECTION,
        ["members", "change"] => OF_CHANGE,
        ["keyspaces", _] => OF_KEYSPACE,
        ["keyspaces", _, "keys"] => OF_RANGE,
        ["keyspaces", _, "undrop"] => POSTED,
        ["keyspaces", _, "mend-stamps"] => OF_MEND,
        ["keyspaces", _, "bulk"] => OF_BULK,
        ["keyspaces", _, "key"] => OF_LONG_KEY,
        ["keyspaces", _, "keys", _] => OF_KEY,
        _ => return None,
    })
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

/// Whether a request's path takes what it asks, but for the values.
pub(super) fn check(
    rules: &[Rule],
    method: &Method,
    params: &Params,
    headers: &HeaderMap,
) -> Result<(), Rejected> {
    let named = if *method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let Some(rule) = rules.iter().find(|rule| rule.method == *named) else {
        return Err(Rejected::method());
    };
    params.only(rule.params)?;
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

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
