//! `/v0/entity`, through curl.

use std::time::Duration;

use crate::harness::curl::{curl, delete, get, put};
use crate::harness::up::Up;
use crate::harness::wire::Wire;
use crate::harness::{eventually, percent};

#[test]
fn a_value_is_put_read_deleted_and_put_again_through_any_node() {
    let up = Up::nodes(3);
    let url = |node| up.url(node, "/v0/entity?id=dunlin");
    assert_eq!(get(&url(0)).status, 404);
    let stored = put(&url(0), b"a small wader");
    assert_eq!((stored.status, stored.body.len()), (201, 0));
    for node in 0..3 {
        let read = get(&url(node));
        assert_eq!((read.status, read.text()), (200, "a small wader"));
        assert_eq!(read.version(), stored.version());
        let head = curl(&["--head", &url(node)]);
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), Some("13"));
    }
    assert_eq!(put(&url(1), b"another").status, 201);
    assert_eq!(get(&url(2)).text(), "another");
    assert_eq!(delete(&url(2)).status, 202);
    for node in 0..3 {
        let read = get(&url(node));
        assert_eq!((read.status, read.body.len()), (404, 0));
        assert_eq!(curl(&["--head", &url(node)]).status, 404);
    }
    assert_eq!(delete(&url(0)).status, 202, "deleting nothing is no error");
    assert_eq!(put(&url(0), b"back").status, 201);
    assert_eq!(get(&url(1)).text(), "back");
}

#[test]
fn wrong_requests_are_named_and_refused() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[1]);
    for method in ["GET", "PUT", "DELETE", "HEAD"] {
        for query in ["", "?", "?id", "?id=", "?ack=1", "?ID=a", "?&&=&"] {
            let path = format!("/v0/entity{query}");
            assert_eq!(
                wire.request(method, &path, "").status,
                400,
                "{method} {path}"
            );
        }
        for quorum in [
            "ack=0",
            "ack=2&from=1",
            "ack=4",
            "from=4",
            "ack=4&from=4",
            "from=0",
            "ack=-1",
            "ack=one",
            "ack=",
            "from=1.0",
            "from=99999999999999999999999",
            "ack=4294967297&from=4294967297",
            "ack=%FF",
        ] {
            let path = format!("/v0/entity?id=a&{quorum}");
            let answer = wire.request(method, &path, "");
            assert_eq!(answer.status, 400, "{method} {path}");
            assert!(
                method == "HEAD" || answer.text().lines().count() == 1,
                "{answer:?}"
            );
        }
    }
    for path in [
        "/",
        "/v0",
        "/v0/",
        "/v0/entit",
        "/v0/entity/",
        "/v0/entity/a?id=a",
        "/V0/entity?id=a",
        "//v0/entity?id=a",
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v1/keyspaces/default/values/a",
        "/v1/status/more",
        "/favicon.ico",
        "/health/",
    ] {
        let wanted = if path.starts_with("/v1") { 404 } else { 400 };
        for method in ["GET", "PUT", "POST", "DELETE"] {
            assert_eq!(
                wire.request(method, path, "").status,
                wanted,
                "{method} {path}"
            );
        }
    }
    for method in ["POST", "PATCH", "TRACE", "PROPFIND", "put"] {
        let answer = wire.request(method, "/v0/entity?id=a", "x");
        assert_eq!(answer.status, 405, "{method}");
    }
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        let answer = wire.request(method, "/v0/entities?start=a", "");
        assert_eq!(answer.status, 405, "{method}");
    }
    assert_eq!(
        wire.request("GET", "/v0/entity?id=a", "").status,
        404,
        "nothing was stored"
    );
}

#[test]
fn any_bytes_are_a_value_and_any_but_none_are_a_key() {
    let up = Up::nodes(3);
    let all: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..3 << 20)
        .map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let long_key = vec![b'k'; 20_000];
    let cases: &[(&[u8], &[u8])] = &[
        (b"empty", b""),
        (b"newline\nin\r\nkey", b"line\nline\n\r\n\r\n"),
        (b"a/b//c/../d?e=f&g#h", b"slash"),
        ("Alpenstrandläufer 🐦".as_bytes(), "Größe".as_bytes()),
        (b" ", b" "),
        (b"a+b", b"plus"),
        (b"a b", b"space"),
        (b"%", b"percent"),
        (b"%41", b"percent four one"),
        (b"A", b"a"),
        (b"\0", b"\0"),
        (&all, &all),
        (b"\xff\xfe", b"\xff"),
        (b"large", &large),
        (&long_key, b"long key"),
    ];
    for (key, value) in cases {
        let query = format!("/v0/entity?id={}", percent(key));
        assert_eq!(put(&up.url(0, &query), value).status, 201, "{query}");
    }
    for (key, value) in cases {
        let query = format!("/v0/entity?id={}", percent(key));
        for node in 0..3 {
            let read = get(&up.url(node, &query));
            assert_eq!(read.status, 200, "{query}");
            assert!(read.body == *value, "{query} came back changed");
        }
    }
    // Characters that need no encoding mean themselves.
    let plain = Wire::open(up.ports[0]).request("GET", "/v0/entity?id=a+b", "");
    assert_eq!(plain.text(), "plus");
    for broken in ["%", "%4", "%zz"] {
        let answer = Wire::open(up.ports[0]).request("GET", &format!("/v0/entity?id={broken}"), "");
        assert!(
            [200, 400, 404].contains(&answer.status),
            "{broken}: {answer:?}"
        );
    }
}

#[test]
fn a_key_may_be_too_long_to_store() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    let key = "k".repeat(66_000);
    let answer = wire.request("PUT", &format!("/v1/keyspaces/default/keys/{key}"), "");
    assert!([400, 414].contains(&answer.status), "{answer:?}");
}

#[test]
fn bodies_have_a_limit() {
    let up = Up::with(1, &["--max-body", "64KiB"]);
    let url = up.url(0, "/v0/entity?id=a");
    let fits = vec![7; 64 << 10];
    assert_eq!(put(&url, &fits).status, 201);
    let too_large = vec![8; (64 << 10) + 1];
    assert_eq!(put(&url, &too_large).status, 413);
    let chunked = [
        "-X",
        "PUT",
        "-H",
        "Transfer-Encoding: chunked",
        "--data-binary",
        "@-",
        &url,
    ];
    assert_eq!(
        crate::harness::curl::curl_with(&chunked, &too_large).status,
        413
    );
    assert_eq!(crate::harness::curl::curl_with(&chunked, &fits).status, 201);
    // Far above: refused by its announced length, not read.
    let mut wire = Wire::open(up.ports[0]);
    wire.send(
        "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nContent-Length: 1000000000000\r\n\r\nabc",
    );
    assert_eq!(wire.answer().status, 413);
    assert!(get(&url).body == fits, "a refused value was stored");
}

#[test]
fn from_says_whose_answer_counts_and_all_replicas_store() {
    let up = Up::nodes(3);
    for number in 0..30 {
        let path = format!("/v0/entity?id=single{number}&ack=1&from=1");
        assert_eq!(put(&up.url(number % 3, &path), b"x").status, 201);
        for node in 0..3 {
            assert_eq!(
                get(&up.url(node, &path)).status,
                200,
                "same replica from node {node}"
            );
        }
        // All three asked, the one that has it among them.
        let path = format!("/v0/entity?id=single{number}&ack=3&from=3");
        assert_eq!(get(&up.url(number % 3, &path)).status, 200);
    }
    eventually(
        "all three replicas have all",
        Duration::from_secs(20),
        || {
            let metrics = get(&up.url(0, "/v1/status")).json();
            let records = metrics["shards"].as_array().unwrap().iter();
            let copies: u64 = records.map(|shard| shard["keys"].as_u64().unwrap()).sum();
            copies == 90
        },
    );
}
