//! Requests that are refused: the answer arrives whatever the client still sends, says what would
//! have been right, and leaves the connection usable or says that it is its last.

use std::io::Write;
use std::net::TcpStream;

use crate::harness::child::dunlin;
use crate::harness::curl::{curl, curl_with};
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const KEY: &str = "/v1/keyspaces/default/keys/k";

#[test]
fn a_refusal_before_the_body_leaves_the_connection_usable() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    let body = vec![b'x'; 100_000];
    for round in 0..200 {
        for (method, path, status) in [
            ("PUT", "/v1/keyspaces/default/keys/k?expires-in=3", 400),
            ("POST", KEY, 405),
            ("PUT", "/v1/keyspaces/none/keys/k", 404),
        ] {
            let answer = wire.request(method, path, &body);
            assert_eq!(answer.status, status, "round {round}, {method} {path}");
            assert_eq!(answer.header("connection"), None);
        }
        assert_eq!(wire.request("PUT", KEY, b"v").status, 201, "round {round}");
    }
}

#[test]
fn a_body_that_is_too_large_is_told_so_before_the_connection_ends() {
    let up = Up::with(1, &["--max-body", "64KiB"]);
    for announced in [true, false] {
        for _ in 0..20 {
            let mut wire = Wire::open(up.ports[0]);
            // Sends all of it before it reads a byte, as simple clients do.
            let size = 20 << 20;
            if announced {
                let body = vec![b'x'; size];
                wire.try_send("PUT", KEY, "", body).unwrap();
            } else {
                wire.send(format!("PUT {KEY} HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n"));
                wire.send(vec![b'x'; size]);
                wire.send("\r\n0\r\n\r\n");
            }
            let answer = wire.answer();
            assert_eq!(answer.status, 413);
            assert_eq!(answer.header("connection"), Some("close"));
            assert!(wire.is_closed());
        }
    }
    let value = tempfile::NamedTempFile::new().unwrap();
    value.as_file().write_all(&vec![b'x'; 20 << 20]).unwrap();
    let put = dunlin()
        .args(["put", "k", "--server", &up.url(0, "")])
        .arg("--file")
        .arg(value.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&put.stderr);
    assert!(!put.status.success());
    assert!(said.contains("65536"), "{said}");
}

#[test]
fn a_client_that_asks_first_need_not_send_what_is_refused() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    wire.send(format!(
        "PUT {KEY}?no=1 HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    ));
    let answer = wire.answer();
    assert_eq!(answer.status, 400);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(wire.is_closed());
}

#[test]
fn methods_and_paths_that_are_not_there() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    let answer = wire.request("POST", KEY, "x");
    assert_eq!(answer.status, 405);
    assert_eq!(
        answer.header("allow"),
        Some("GET, HEAD, PUT, DELETE, OPTIONS")
    );
    let asked = wire.request("OPTIONS", "/v1/keyspaces", "");
    assert_eq!(
        (asked.status, asked.header("allow")),
        (204, Some("GET, HEAD, POST, OPTIONS"))
    );
    for (path, wanted) in [
        ("/", 400),
        ("/abracadabra", 400),
        ("/v0/entries?start=a", 400),
        ("/v2/keys", 400),
        ("/v1", 404),
        ("/v1/keyspace", 404),
        ("/v1/keyspaces/default/key/k", 404),
    ] {
        assert_eq!(wire.request("GET", path, "").status, wanted, "{path}");
        assert_eq!(wire.request("PUT", path, "x").status, wanted, "{path}");
    }
}

#[test]
fn what_a_path_does_not_know_is_not_ignored() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    for query in [
        "expires-in=5",
        "expires_in=5&expires_in=6",
        "x",
        "ack=1&ack=1",
        "from=1&%61ck=1&ack=1",
        "ack=%zz",
        "ack=+1",
    ] {
        assert_eq!(
            wire.request("PUT", &format!("{KEY}?{query}"), "v").status,
            400,
            "{query}"
        );
    }
    for path in [
        "/v0/entity?id=k&expires_in=5",
        "/v0/entity?id=%2",
        "/v0/entity?id=k&id=l",
    ] {
        assert_eq!(wire.request("PUT", path, "v").status, 400, "{path}");
    }
    // Clients of /v0 say what it does not know, and expect no harm of it.
    for (method, path, wanted) in [
        ("PUT", "/v0/entity?id=known&replicas=2/3&x", 201),
        ("GET", "/v0/entity?id=known&cluster=1", 200),
        ("GET", "/v0/entities?start=a&cluster=1", 200),
    ] {
        assert_eq!(wire.request(method, path, "v").status, wanted, "{path}");
    }
    assert_eq!(
        wire.request("PUT", "/v1/keyspaces/default/keys/%g1", "v")
            .status,
        400
    );
    for header in [
        "If-None-Match: *\r\n",
        "If-Match: *\r\n",
        "If-Unmodified-Since: now\r\n",
    ] {
        let told = wire
            .try_request_with("PUT", "/v0/entity?id=k", header, "v")
            .unwrap();
        assert_eq!(told.status, 400, "{header}");
    }
    let twice = "If-Match: \"0000000000000001-0000000000000001\"\r\nIf-Match: *\r\n";
    assert_eq!(
        wire.try_request_with("PUT", KEY, twice, "v")
            .unwrap()
            .status,
        400
    );
    assert_eq!(
        wire.request("GET", KEY, "").status,
        404,
        "nothing was written"
    );
    assert_eq!(
        wire.request("GET", "/v0/entity?id=k", "").status,
        404,
        "nothing was written"
    );
}

#[test]
fn framing_that_could_be_read_in_two_ways_is_refused() {
    let up = Up::nodes(1);
    for (head, statuses) in [
        ("GET /health HTTP/1.1\r\n\r\n", &[400][..]),
        ("GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", &[400]),
        (
            "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: gzip\r\n\r\n",
            &[400, 501],
        ),
        (
            "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            &[501],
        ),
        (
            "PUT /v0/entity?id=a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &[400],
        ),
        (
            "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            &[400],
        ),
        (
            "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nExpect: a-miracle\r\nContent-Length: 1\r\n\r\na",
            &[417],
        ),
    ] {
        let mut wire = Wire::open(up.ports[0]);
        wire.send(head);
        let told = wire.head().unwrap();
        assert!(statuses.contains(&told.status), "{head:?}: {}", told.status);
    }
    let mut wire = Wire::open(up.ports[0]);
    assert_eq!(wire.request("GET", "/v0/entity?id=a", "").status, 404);
}

#[test]
fn a_client_that_has_the_value_is_not_sent_it_again() {
    let up = Up::nodes(1);
    let url = up.url(0, KEY);
    assert_eq!(
        curl_with(&["-X", "PUT", "--data-binary", "@-", &url], b"one").status,
        201
    );
    let first = curl(&[&url]);
    let tag = format!("If-None-Match: {}", first.header("etag").unwrap());
    let same = curl(&["-H", &tag, &url]);
    assert_eq!((same.status, same.text()), (304, ""));
    assert_eq!(same.header("etag"), first.header("etag"));
    assert_eq!(
        curl_with(&["-X", "PUT", "--data-binary", "@-", &url], b"two").status,
        201
    );
    assert_eq!(curl(&["-H", &tag, &url]).text(), "two");
    let old = format!("If-Match: {}", first.header("etag").unwrap());
    assert_eq!(curl(&["-H", &old, &url]).status, 412);
}

#[test]
fn bytes_behind_a_last_answer_do_not_take_it_back() {
    let up = Up::nodes(1);
    for _ in 0..20 {
        let mut stream = TcpStream::connect(("127.0.0.1", up.ports[0])).unwrap();
        // The parser refuses the first line; a megabyte is still on its way.
        stream
            .write_all(b"GE(T / HTTP/1.1\r\nHost: d\r\n\r\n")
            .unwrap();
        let _ = stream.write_all(&vec![b'x'; 1 << 20]);
        let mut said = String::new();
        std::io::Read::read_to_string(&mut stream, &mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 400"), "{said}");
    }
}
