//! Every verb of each role on each kind of path.

use std::time::Duration;

use serde_json::json;

use crate::harness::asking::{ADMIN, add, ask, close, status};
use crate::harness::curl::curl;
use crate::harness::eventually;
use crate::harness::up::Up;

/// method, path, body, and who may: r w a on birds, R W A on all, d who may read default.
const TABLE: &[(&str, &str, &[u8], &str)] = &[
    ("PUT", "/v1/keyspaces/birds/keys/knot", b"red", "w a W A"),
    ("GET", "/v1/keyspaces/birds/keys/knot", b"", "r w a R W A"),
    ("HEAD", "/v1/keyspaces/birds/keys/knot", b"", "r w a R W A"),
    (
        "GET",
        "/v1/keyspaces/birds/key?key=knot",
        b"",
        "r w a R W A",
    ),
    (
        "PUT",
        "/v1/keyspaces/b%69rds/key?key=knot",
        b"red",
        "w a W A",
    ),
    ("DELETE", "/v1/keyspaces/birds/keys/gone", b"", "w a W A"),
    (
        "GET",
        "/v1/keyspaces/birds/keys?limit=1",
        b"",
        "r w a R W A",
    ),
    (
        "GET",
        "/v1/keyspaces/birds/changes?from=beginning&until=end",
        b"",
        "r w a R W A",
    ),
    (
        "GET",
        "/v1/keyspaces/birds/changes?cursor=none",
        b"",
        "w a W A",
    ),
    ("GET", "/v1/keyspaces/birds/cursors", b"", "r w a R W A"),
    ("DELETE", "/v1/keyspaces/birds/cursors/none", b"", "w a W A"),
    ("GET", "/v1/keyspaces/birds/views", b"", "r w a R W A"),
    ("GET", "/v1/keyspaces/birds/views/none", b"", "r w a R W A"),
    (
        "POST",
        "/v1/keyspaces/birds/views/none/query",
        b"{}",
        "r w a R W A",
    ),
    ("DELETE", "/v1/keyspaces/birds/views/none", b"", "a A"),
    ("POST", "/v1/keyspaces/birds/views/none/rebuild", b"", "a A"),
    (
        "POST",
        "/v1/keyspaces/birds/try-view",
        b"{\"map\": \"function () {}\"}",
        "a A",
    ),
    ("GET", "/v1/keyspaces/birds", b"", "r w a R W A"),
    ("GET", "/v1/keyspaces/birds/mend-stamps", b"", "a A"),
    ("POST", "/v1/keyspaces/birds/mend-stamps", b"", "a A"),
    ("GET", "/v1/keyspaces", b"", "r w a R W A d"),
    ("PUT", "/v0/entity?id=x", b"1", "W A"),
    ("GET", "/v0/entity?id=x", b"", "R W A d"),
    ("DELETE", "/v0/entity?id=y", b"", "W A"),
    ("GET", "/v0/entities?start=x", b"", "R W A d"),
    ("GET", "/v1/status", b"", "R W A"),
    ("GET", "/metrics", b"", "R W A"),
    ("GET", "/v1/members", b"", "R W A"),
    ("GET", "/v1/dropped", b"", "R W A"),
    ("GET", "/v1/metadata", b"", "R W A"),
    ("GET", "/v1/metadata?users=true", b"", "A"),
    ("GET", "/v1/users", b"", "A"),
];

#[test]
fn each_role_may_what_it_says() {
    let up = Up::nodes(2);
    let server = up.url(0, "");
    let create = |user: &str, name: &str| {
        let body = format!("{{\"name\": \"{name}\", \"replicas\": 2}}");
        status(user, "POST", &up.url(0, "/v1/keyspaces"), body.as_bytes())
    };
    assert_eq!(
        create("", "birds"),
        201,
        "open until the first user is made"
    );
    // Who says who he is before there are users is let in too.
    assert_eq!(status("x:y", "GET", &up.url(0, "/v1/status"), b""), 200);
    close(&server);
    let users = [
        ("r", json!({ "birds": "read" })),
        ("w", json!({ "birds": "write" })),
        ("a", json!({ "birds": "admin" })),
        ("R", json!({ "*": "read" })),
        ("W", json!({ "*": "write" })),
        ("A", json!({ "*": "admin" })),
        ("d", json!({ "default": "read" })),
    ];
    let login = |name: &str| format!("{name}:password of {name}");
    for (name, roles) in &users {
        add(ADMIN, &server, &login(name), roles.clone(), false);
    }
    for (method, path, body, who) in TABLE {
        // Any node answers, each by what it knows.
        for node in 0..2 {
            let url = up.url(node, path);
            for (name, _) in &users {
                let got = status(&login(name), method, &url, body);
                let may = who.split(' ').any(|one| one == *name);
                let is_as_told = if may {
                    got < 300 || got == 404
                } else {
                    got == 403
                };
                assert!(is_as_told, "{method} {path} by {name}: {got}");
            }
            for stranger in ["", "r:wrong word", "nobody:password of r"] {
                let answer = ask(stranger, method, &url, body);
                assert_eq!(answer.status, 401, "{method} {path} by {stranger}");
                let asked = answer
                    .headers
                    .iter()
                    .filter(|(name, _)| name == "www-authenticate");
                assert_eq!(asked.count(), 2);
            }
        }
    }
    // Administration, each the right way round once.
    assert_eq!(create(&login("a"), "waders"), 403);
    assert_eq!(create(&login("W"), "waders"), 403);
    assert_eq!(create(&login("A"), "waders"), 201);
    let birds = up.url(1, "/v1/keyspaces/birds");
    assert_eq!(status(&login("w"), "DELETE", &birds, b""), 403);
    assert_eq!(
        status(
            &login("a"),
            "DELETE",
            &up.url(1, "/v1/keyspaces/waders"),
            b""
        ),
        403
    );
    assert_eq!(status(&login("a"), "DELETE", &birds, b""), 204);
    let undrop = up.url(1, "/v1/keyspaces/birds/undrop");
    assert_eq!(status(&login("w"), "POST", &undrop, b""), 403);
    assert_eq!(status(&login("a"), "POST", &undrop, b""), 200);
    let members = up.url(0, "/v1/members");
    assert_eq!(status(&login("W"), "POST", &members, b"{}"), 403);
    assert_eq!(status(&login("A"), "POST", &members, b"{}"), 400);
    let change = up.url(0, "/v1/members/change");
    assert_eq!(status(&login("W"), "DELETE", &change, b""), 403);
    assert_eq!(status(&login("A"), "DELETE", &change, b""), 409);
    let pairs = up.url(0, "/v1/keyspaces/birds/bulk");
    assert_eq!(status(&login("r"), "POST", &pairs, b"x"), 403);
    assert_eq!(status(&login("w"), "POST", &pairs, b"x"), 415);
    // Who may read some is shown those.
    let shown = |name: &str| {
        let all = ask(&login(name), "GET", &up.url(0, "/v1/keyspaces"), b"").json();
        let names = all
            .as_array()
            .unwrap()
            .iter()
            .map(|k| k["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown("r"), "birds");
    assert_eq!(shown("d"), "default");
    assert_eq!(shown("R"), "default birds waders");
    // What is lacking is said.
    let refused = ask(
        &login("r"),
        "PUT",
        &up.url(0, "/v1/keyspaces/birds/keys/k"),
        b"v",
    );
    assert_eq!(
        refused.json()["error"],
        "user r lacks the role write on birds"
    );
    let refused = ask(&login("d"), "PUT", &up.url(0, "/v0/entity?id=x"), b"v");
    assert_eq!(refused.text(), "user d lacks the role write on default");
}

#[test]
fn a_stream_ends_with_its_user() {
    let up = Up::nodes(2);
    let server = up.url(0, "");
    close(&server);
    let login = "tern:password of tern";
    add(ADMIN, &server, login, json!({ "default": "read" }), false);
    let url = up.url(1, "/v1/keyspaces/default/changes");
    std::thread::scope(|scope| {
        let follows = scope.spawn(|| curl(&["-N", "-m", "60", "-u", login, &url]));
        let streams = || ask(ADMIN, "GET", &up.url(0, "/v1/status"), b"").json()["streams"].clone();
        eventually("it follows", Duration::from_secs(20), || {
            streams()[0]["who"]
                .as_str()
                .is_some_and(|who| who.starts_with("tern from "))
        });
        let gone = status(ADMIN, "DELETE", &up.url(0, "/v1/users/tern"), b"");
        assert!(gone < 300, "{gone}");
        let told = follows.join().unwrap();
        let last = told.text().lines().last().unwrap();
        assert!(last.contains("\"reason\":\"forbidden\""), "{last}");
        let again = curl(&["-u", login, &url]);
        assert_eq!(again.status, 401);
    });
}

#[test]
fn health_says_less_to_strangers_and_preflights_are_asked_nothing() {
    let up = Up::with(1, &["--cors-origin", "https://app.example"]);
    let health = |user: &str, path: &str| ask(user, "GET", &up.url(0, path), b"");
    assert_eq!(health("", "/health").json()["node"], "n1");
    close(&up.url(0, ""));
    for path in ["/health", "/health/ready"] {
        let told = health("", path);
        assert_eq!(
            (told.status, told.json()),
            (200, json!({ "status": "ok" })),
            "{path}"
        );
        assert_eq!(health(ADMIN, path).json()["node"], "n1");
        assert_eq!(health("ann:wrong", path).status, 401);
    }
    assert_eq!(
        health("", "/health/live").json(),
        json!({ "status": "alive" })
    );
    let preflight = curl(&[
        "-X",
        "OPTIONS",
        "-H",
        "Origin: https://app.example",
        "-H",
        "Access-Control-Request-Method: PUT",
        &up.url(0, "/v1/keyspaces/default/keys/k"),
    ]);
    assert_eq!(preflight.status, 204);
    let headers = preflight.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization"), "{headers}");
    assert_eq!(health("", "/no/such/path").status, 400);
}

#[test]
fn headers_that_make_no_sense_are_refused_in_one_line() {
    let up = Up::nodes(1);
    close(&up.url(0, ""));
    let url = up.url(0, "/v1/status");
    let with = |headers: &[&str]| {
        let mut arguments = vec![url.as_str()];
        for header in headers {
            arguments.extend(["-H", header]);
        }
        curl(&arguments)
    };
    let right = "Authorization: Basic YW5uOmNvcnJlY3QgaG9yc2U=";
    assert_eq!(with(&[right]).status, 200);
    assert_eq!(with(&[right, right]).status, 400);
    for malformed in ["Basic %%%", "Basic YW5u", "Bearer", "Bearer a b"] {
        let answer = with(&[&format!("Authorization: {malformed}")]);
        assert_eq!(answer.status, 400, "{malformed}");
        assert!(answer.json()["error"].is_string());
    }
    for unknown in ["Digest a=b", "Bearer dunlin_x", "Basic OjA="] {
        let answer = with(&[&format!("Authorization: {unknown}")]);
        assert_eq!(answer.status, 401, "{unknown}");
    }
    // A body that nobody may send is refused before it comes.
    let refused = curl(&[
        "-X",
        "PUT",
        "-H",
        "Expect: 100-continue",
        "--data-binary",
        "@/bin/sh",
        &up.url(0, "/v1/keyspaces/default/keys/k"),
    ]);
    assert_eq!(refused.status, 401);
}
