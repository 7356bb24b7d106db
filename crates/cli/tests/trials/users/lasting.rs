//! What users outlive, and how soon a drop counts.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::asking::{ADMIN, add, ask, bearer, close, status};
use crate::harness::child::dunlin;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::wire::Wire;

fn url(flock: &Flock, index: usize, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", flock.nodes[index].http)
}

const KEY: &str = "/v1/keyspaces/default/keys/knot";

#[test]
fn a_dropped_user_is_out_everywhere_when_the_drop_is_answered() {
    let flock = Flock::start(&[]);
    let server = url(&flock, 0, "");
    close(&server);
    for round in 0..5 {
        let told = add(
            ADMIN,
            &server,
            "bob:password",
            json!({ "*": "write" }),
            true,
        );
        let token = told["token"].as_str().unwrap().to_owned();
        let mut wires: Vec<Wire> = flock.nodes.iter().map(|node| node.wire()).collect();
        let head = format!("Authorization: Bearer {token}\r\n");
        for wire in &mut wires {
            let answer = wire.try_request_with("PUT", KEY, &head, b"v").unwrap();
            assert_eq!(answer.status, 201, "round {round}");
        }
        for index in 0..3 {
            assert_eq!(
                status("bob:password", "GET", &url(&flock, index, KEY), b""),
                200
            );
        }
        let dropped = ask(ADMIN, "DELETE", &format!("{server}/v1/users/bob"), b"");
        assert_eq!(dropped.json()["waits_for"], json!([]));
        // On connections that were open and known, too.
        for (index, wire) in wires.iter_mut().enumerate() {
            let answer = wire.try_request_with("GET", KEY, &head, b"").unwrap();
            assert_eq!(answer.status, 401, "round {round}, node {index}");
            assert_eq!(
                status("bob:password", "GET", &url(&flock, index, KEY), b""),
                401
            );
        }
    }
}

#[test]
fn a_write_under_way_is_judged_again_when_all_of_it_has_come() {
    let flock = Flock::start(&[]);
    let server = url(&flock, 0, "");
    close(&server);
    let roles = json!({ "*": "write" });
    let told = add(ADMIN, &server, "bob:password", roles, true);
    let token = told["token"].as_str().unwrap().to_owned();
    let begin = |key: &str| {
        let mut wire = flock.nodes[1].wire();
        wire.send(format!(
            "PUT /v1/keyspaces/default/keys/{key} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: 6\r\n\r\nred"
        ));
        wire
    };
    let (mut early, mut late) = (begin("early"), begin("late"));
    std::thread::sleep(Duration::from_millis(300));
    // Another change of users is nothing to bob.
    add(
        ADMIN,
        &server,
        "eve:password",
        json!({ "*": "read" }),
        false,
    );
    early.send("der");
    assert_eq!(early.answer().status, 201);
    let dropped = ask(ADMIN, "DELETE", &format!("{server}/v1/users/bob"), b"");
    assert_eq!(dropped.json()["waits_for"], json!([]));
    late.send("der");
    assert_eq!(late.answer().status, 403);
    let left = |key: &str| {
        let path = format!("/v1/keyspaces/default/keys/{key}");
        status(ADMIN, "GET", &url(&flock, 2, &path), b"")
    };
    assert_eq!((left("early"), left("late")), (200, 404));
}

#[test]
fn rights_and_passwords_change_at_once_and_the_last_admin_stays() {
    let flock = Flock::start(&[]);
    let server = url(&flock, 0, "");
    close(&server);
    let told = add(ADMIN, &server, "bob:", json!({ "default": "read" }), true);
    let token = told["token"].as_str().unwrap();
    let of_bob = |body: &str| {
        status(
            ADMIN,
            "PUT",
            &format!("{server}/v1/users/bob"),
            body.as_bytes(),
        )
    };
    assert_eq!(bearer(token, &url(&flock, 2, KEY)).status, 404);
    assert_eq!(of_bob(r#"{"roles": {"birds": "read"}}"#), 200);
    assert_eq!(bearer(token, &url(&flock, 2, KEY)).status, 403);
    assert_eq!(of_bob(r#"{"password": "first word", "token": false}"#), 200);
    assert_eq!(bearer(token, &url(&flock, 2, KEY)).status, 401);
    let list = |index| url(&flock, index, "/v1/keyspaces");
    assert_eq!(status("bob:first word", "GET", &list(1), b""), 200);
    assert_eq!(of_bob(r#"{"password": "second word"}"#), 200);
    assert_eq!(status("bob:first word", "GET", &list(1), b""), 401);
    assert_eq!(status("bob:second word", "GET", &list(1), b""), 200);
    for (body, wanted) in [
        ("{}", 400),
        (r#"{"password": "short"}"#, 400),
        (r#"{"roles": {}}"#, 400),
        (r#"{"token": false, "until": 3}"#, 400),
    ] {
        assert_eq!(of_bob(body), wanted, "{body}");
    }
    let ann = format!("{server}/v1/users/ann");
    assert_eq!(status(ADMIN, "DELETE", &ann, b""), 409);
    assert_eq!(
        status(ADMIN, "PUT", &ann, br#"{"roles": {"*": "write"}}"#),
        409
    );
    assert_eq!(
        status(ADMIN, "DELETE", &format!("{server}/v1/users/nobody"), b""),
        404
    );
    let open = ask(ADMIN, "DELETE", &format!("{server}/v1/users"), b"");
    assert_eq!(open.status, 200);
    for index in 0..3 {
        assert_eq!(
            status("", "GET", &url(&flock, index, "/v1/status"), b""),
            200
        );
    }
}

#[test]
fn a_cluster_stays_closed_whatever_etcd_forgets() {
    let mut flock = Flock::start(&[]);
    close(&url(&flock, 0, ""));
    let is_closed = |flock: &Flock, what: &str| {
        for index in 0..3 {
            let path = url(flock, index, "/v1/status");
            assert_eq!(status("", "GET", &path, b""), 401, "{what}: node {index}");
            assert_eq!(
                status(ADMIN, "GET", &path, b""),
                200,
                "{what}: node {index}"
            );
        }
    };
    let told = |flock: &Flock, what: &str| {
        eventually(what, Duration::from_secs(10), || {
            let health = ask(ADMIN, "GET", &url(flock, 0, "/health"), b"");
            health.text().contains(what)
        });
    };
    for index in 0..3 {
        let mode = std::fs::metadata(flock.nodes[index].data.join("topology.json")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let object = flock
        .etcd
        .ctl(&["get", "/dunlin/v1/access", "--print-value-only"]);
    // The users' object alone, then with the mark beside it.
    flock.etcd.ctl(&["del", "/dunlin/v1/access"]);
    told(&flock, "access is gone");
    is_closed(&flock, "the object was deleted");
    flock.etcd.ctl(&[
        "put",
        "/dunlin/v1/access",
        r#"{"changes":9,"closed":false,"users":{},"x":1}"#,
    ]);
    told(&flock, "access cannot be read");
    is_closed(&flock, "the object is a newer version's");
    let make = ask(
        ADMIN,
        "POST",
        &url(&flock, 0, "/v1/users"),
        br#"{"name": "b", "roles": {"*": "read"}, "token": true}"#,
    );
    assert_eq!(make.status, 503, "{}", make.text());
    flock.etcd.ctl(&["del", "/dunlin/v1/access"]);
    // A node that never saw it lets nobody in.
    let new = flock.join();
    flock.up(new);
    for user in ["", ADMIN] {
        assert_eq!(
            status(user, "GET", &url(&flock, new, "/v1/status"), b""),
            401
        );
    }
    flock.etcd.ctl(&["put", "/dunlin/v1/access", object.trim()]);
    eventually("the object is back", Duration::from_secs(10), || {
        status(ADMIN, "GET", &url(&flock, new, "/v1/status"), b"") == 200
    });
    flock.etcd.kill();
    flock.etcd.wipe();
    flock.etcd.restart();
    told(&flock, "it has lost cluster");
    is_closed(&flock, "etcd was wiped");
    for index in 0..3 {
        flock.stop(index);
        flock.up(index);
    }
    is_closed(&flock, "etcd was wiped, and the nodes started again");
    flock.etcd.kill();
    is_closed(&flock, "etcd is away");
    flock.etcd.restart();
    // Put back by what the nodes know, by an admin only.
    let servers: Vec<String> = (0..3).map(|index| url(&flock, index, "")).collect();
    let restore = |login: &[&str]| {
        let done = dunlin()
            .args(["metadata", "restore", "--metadata", &flock.etcd.url()])
            .args(["--server", &servers.join(",")])
            .args(login)
            .output()
            .unwrap();
        (
            done.status.code(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    };
    let (code, line) = restore(&[]);
    assert_eq!(code, Some(1), "{line}");
    assert!(line.contains("this cluster has users"), "{line}");
    let password = flock.directory.path().join("password");
    std::fs::write(&password, "correct horse\n").unwrap();
    let begun = Instant::now();
    let (code, line) = restore(&[
        "--user",
        "ann",
        "--password-file",
        password.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(0), "after {:?}: {line}", begun.elapsed());
    is_closed(&flock, "it was put back");
    let back = flock
        .etcd
        .ctl(&["get", "/dunlin/v1/access", "--print-value-only"]);
    assert!(back.contains("\"ann\""), "{back}");
    let cluster = flock
        .etcd
        .ctl(&["get", "/dunlin/v1/cluster", "--print-value-only"]);
    assert!(cluster.contains("\"closed\":true"), "{cluster}");
}

#[test]
fn a_lost_password_is_replaced_through_the_store() {
    let flock = Flock::start(&[]);
    close(&url(&flock, 0, ""));
    let password = flock.directory.path().join("password");
    std::fs::write(&password, "another word\n").unwrap();
    let rescued = dunlin()
        .args(["user", "rescue", "ann", "--metadata", &flock.etcd.url()])
        .args(["--new-password-file", password.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(rescued.success());
    for index in 0..3 {
        let path = url(&flock, index, "/v1/users");
        eventually("the new password counts", Duration::from_secs(5), || {
            status("ann:another word", "GET", &path, b"") == 200
        });
        assert_eq!(status(ADMIN, "GET", &path, b""), 401);
    }
}
