//! What is nowhere to be seen, and what is told of administrators.

use serde_json::json;

use crate::harness::asking::{ADMIN, add, ask, bearer, close, status};
use crate::harness::child::dunlin;
use crate::harness::flock::Flock;

#[test]
fn secrets_are_shown_nowhere_and_changes_are() {
    let mut flock = Flock::prepare(&[]);
    // All that the program can say.
    for node in &mut flock.nodes {
        node.flags.extend(["--shards".to_owned(), "2".to_owned()]);
    }
    flock.up_all();
    let url =
        |index: usize, path: &str| format!("http://127.0.0.1:{}{path}", flock.nodes[index].http);
    let server = url(0, "");
    close(&server);
    let told = add(
        ADMIN,
        &server,
        "bob:hush hush",
        json!({ "birds": "write" }),
        true,
    );
    let token = told["token"].as_str().unwrap().to_owned();
    assert!(told["password"].is_null());
    let create = status(
        ADMIN,
        "POST",
        &url(1, "/v1/keyspaces"),
        br#"{"name": "birds"}"#,
    );
    assert_eq!(create, 201);
    assert_eq!(
        bearer(&token, &url(2, "/v1/keyspaces/birds/keys/k")).status,
        404
    );
    assert_eq!(
        status(
            "bob:hush hush",
            "DELETE",
            &url(2, "/v1/keyspaces/birds"),
            b""
        ),
        403
    );
    assert_eq!(
        status("bob:wrong word", "GET", &url(2, "/v1/keyspaces"), b""),
        401
    );
    assert_eq!(
        status("sesame open:x", "GET", &url(1, "/v1/keyspaces"), b""),
        401
    );
    // A body that is none, with a password in it.
    let bad = ask(
        ADMIN,
        "POST",
        &url(0, "/v1/users"),
        br#"{"name": "c", "roles": "hush hush"}"#,
    );
    assert_eq!(bad.status, 400);
    let dropped = ask(ADMIN, "DELETE", &url(0, "/v1/keyspaces/birds"), b"");
    assert_eq!(dropped.status, 204);
    let password = flock.directory.path().join("password");
    std::fs::write(&password, "correct horse\n").unwrap();
    let mut seen = vec![bad.text().to_owned()];
    for arguments in [
        &["user", "list", "--json"][..],
        &["user", "list"],
        &["metadata", "show", "--json"],
        &["metadata", "show"],
        &["status", "--json"],
        &["keyspace", "list", "--json"],
    ] {
        let done = dunlin()
            .args(arguments)
            .args(["--server", &server, "--user", "ann"])
            .args(["--password-file", password.to_str().unwrap()])
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        seen.push(String::from_utf8_lossy(&done.stdout).into_owned());
        seen.push(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    for path in [
        "/v1/users",
        "/v1/status",
        "/v1/metadata",
        "/metrics",
        "/health",
    ] {
        seen.push(ask(ADMIN, "GET", &url(1, path), b"").text().to_owned());
    }
    let logs: Vec<String> = flock.nodes.iter().map(|node| node.output()).collect();
    seen.extend(logs.clone());
    let object = flock
        .etcd
        .ctl(&["get", "/dunlin/v1/access", "--print-value-only"]);
    let object: serde_json::Value = serde_json::from_str(object.trim()).unwrap();
    let stored = object["users"]["bob"]["tokens"][0]
        .as_str()
        .unwrap()
        .to_owned();
    for text in &seen {
        for secret in [
            "argon2",
            "hush",
            "correct horse",
            "wrong word",
            "sesame",
            &token,
            &stored,
        ] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        // Nor as they travel.
        for encoded in ["aHVzaCBodXNo", "Y29ycmVjdCBob3JzZQ"] {
            assert!(!text.contains(encoded), "{encoded} in {text}");
        }
    }
    let audit = |index: usize, words: &[&str]| {
        let lines = logs[index].lines();
        let mut told = lines.filter(|line| line.contains("audit"));
        let all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(told.any(all), "{words:?} not in {}", logs[index]);
    };
    audit(
        0,
        &[
            "who=\"anybody\"",
            "POST /v1/users",
            "make user ann with admin on *",
            "status=201",
        ],
    );
    audit(
        0,
        &[
            "who=\"ann\"",
            "make user bob with write on birds",
            "from=\"127.0.0.1:",
        ],
    );
    audit(0, &["who=\"ann\"", "POST /v1/users", "status=400"]);
    audit(1, &["who=\"ann\"", "create keyspace birds", "status=201"]);
    audit(
        2,
        &["who=\"bob\"", "DELETE /v1/keyspaces/birds", "status=403"],
    );
    audit(
        0,
        &["who=\"ann\"", "DELETE /v1/keyspaces/birds", "status=204"],
    );
    audit(2, &["failed login", "user=\"bob\""]);
    audit(1, &["failed login", "user=\"(unknown)\""]);
}
