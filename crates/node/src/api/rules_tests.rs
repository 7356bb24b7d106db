#![allow(clippy::unwrap_used)]
use hyper::header::HeaderValue;

use super::*;

fn headers(of: &[(HeaderName, &'static str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in of {
        map.append(name, HeaderValue::from_static(value));
    }
    map
}

/// The status of a refusal, 200 where there is none.
fn status(method: Method, path: &str, query: &str, of: &[(HeaderName, &'static str)]) -> u16 {
    let Some(rules) = rules(path) else {
        return unknown(path).as_u16();
    };
    let checked = Params::of(Some(query), &HeaderMap::new())
        .and_then(|params| check(find(rules, &method)?, path, &params, &headers(of)));
    checked.map_or_else(|rejected| rejected.status.as_u16(), |()| 200)
}

#[test]
fn what_a_path_does_not_know_is_refused() {
    let key = "/v1/keyspaces/birds/keys/a%2Fb/c";
    let matches = [(IF_MATCH, "*")];
    let differs = [(IF_NONE_MATCH, "*")];
    for (method, path, query, of, wanted) in [
        (Method::GET, key, "ack=1&from=2", &[][..], 200),
        (Method::HEAD, key, "", &differs, 200),
        (Method::PUT, key, "expires_in=4", &matches, 200),
        (Method::PUT, key, "expires-in=4", &[], 400),
        (Method::PUT, key, "ack=1&ack=2", &[], 400),
        (Method::PUT, key, "", &[(IF_UNMODIFIED_SINCE, "x")], 400),
        (Method::GET, key, "expires_in=4", &[], 400),
        (Method::POST, key, "", &[], 405),
        (Method::PUT, "/v0/entity", "id=a", &[], 200),
        (Method::PUT, "/v0/entity", "id=a&expires_in=3", &[], 400),
        (Method::PUT, "/v0/entity", "id=a", &differs, 400),
        (Method::DELETE, "/v0/entity", "id=a", &matches, 400),
        (Method::GET, "/v0/entity", "id=a", &differs, 200),
        (Method::POST, "/v1/keyspaces/birds/bulk", "", &differs, 400),
        (Method::GET, "/v1/keyspaces/birds/bulk", "", &[], 405),
        (Method::GET, "/metrics", "x=1", &[], 400),
        (Method::DELETE, "/health", "", &[], 405),
        (Method::GET, "/v1/keyspaces/birds/kay", "", &[], 404),
        (Method::GET, "/v1", "", &[], 404),
        (Method::GET, "/", "", &[], 400),
        (Method::GET, "/abracadabra", "", &[], 400),
        (Method::GET, "/v0/nothing", "", &[], 400),
        (Method::GET, "/v10/status", "", &[], 400),
        (Method::GET, "/v0/entities", "start=a&cluster=1", &[], 200),
        (Method::GET, "/v0/entities", "start=a&limit=1", &[], 400),
        (Method::PUT, "/v0/entity", "id=a&x", &[], 200),
        (Method::PUT, "/v0/entity", "id=a&x=1&x=2", &[], 400),
    ] {
        assert_eq!(
            status(method.clone(), path, query, of),
            wanted,
            "{method} {path} {query}"
        );
    }
}

#[test]
fn allow_names_every_method() {
    let of = |path| allowed(rules(path).unwrap());
    assert_eq!(of("/v0/entity"), "GET, HEAD, PUT, DELETE, OPTIONS");
    assert_eq!(of("/v1/keyspaces/a/undrop"), "POST, OPTIONS");
}

#[test]
fn framing_is_as_http_has_it() {
    let chunked = (TRANSFER_ENCODING, "Chunked");
    let host = (HOST, "d");
    for (version, of, wanted) in [
        (Version::HTTP_11, vec![host.clone()], 200),
        (Version::HTTP_11, vec![], 400),
        (Version::HTTP_10, vec![], 200),
        (Version::HTTP_11, vec![host.clone(), (HOST, "e")], 400),
        (Version::HTTP_11, vec![host.clone(), chunked.clone()], 200),
        (
            Version::HTTP_11,
            vec![host.clone(), (TRANSFER_ENCODING, "gzip, chunked")],
            501,
        ),
        (
            Version::HTTP_11,
            vec![host.clone(), (TRANSFER_ENCODING, "gzip"), chunked],
            501,
        ),
        (
            Version::HTTP_11,
            vec![host.clone(), (EXPECT, "100-Continue")],
            200,
        ),
        (Version::HTTP_11, vec![host, (EXPECT, "a miracle")], 417),
    ] {
        let checked = check_framing(version, &headers(&of));
        let status = checked.map_or_else(|rejected| rejected.status.as_u16(), |()| 200);
        assert_eq!(status, wanted, "{version:?} {of:?}");
    }
}

/// The reference names every path with its methods, and none that there is not.
#[test]
fn the_reference_tells_of_every_path() {
    let text = include_str!("../../../../docs/http.md");
    let mut told = std::collections::BTreeSet::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).unwrap();
        let mut methods = Vec::new();
        for code in cell.split('`').skip(1).step_by(2) {
            let (method, target) = code.split_once(' ').unwrap_or((code, ""));
            if Method::from_bytes(method.as_bytes()).is_err() || method.contains('-') {
                continue;
            }
            methods.push(method.to_owned());
            let path = target.split('?').next().unwrap();
            if path.starts_with('/') {
                told.extend(methods.drain(..).map(|method| format!("{method} {path}")));
            }
        }
    }
    let mut known = std::collections::BTreeSet::new();
    for path in PATHS {
        let rules = rules(path).unwrap();
        known.extend(rules.iter().map(|rule| format!("{} {path}", rule.method)));
    }
    assert_eq!(told, known);
}
