//! How requests are cut out of a connection: keep-alive, pipelines, bodies, half-closed sockets.

use std::time::{Duration, Instant};

use crate::harness::curl::{curl, curl_with, get, put};
use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

#[test]
fn one_connection_serves_many_requests() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    for number in 0..300 {
        let path = format!("/v0/entity?id=k{number}");
        assert_eq!(wire.request("PUT", &path, format!("v{number}")).status, 201);
        assert_eq!(wire.request("GET", &path, "").text(), format!("v{number}"));
        assert_eq!(wire.request("HEAD", &path, "").status, 200);
        // Errors leave the connection usable, too.
        assert_eq!(wire.request("GET", "/v0/entity?id=none", "").status, 404);
        assert_eq!(wire.request("POST", &path, "body").status, 405);
    }
    wire.send("GET /health HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n");
    assert_eq!(wire.answer().status, 200);
    assert!(wire.is_closed());
    let mut old = Wire::open(up.ports[0]);
    old.send("GET /v0/entity?id=k0 HTTP/1.0\r\n\r\n");
    assert_eq!(old.answer().text(), "v0");
    assert!(old.is_closed(), "HTTP/1.0 does not keep alive");
}

#[test]
fn curl_reuses_its_connection() {
    let up = Up::nodes(1);
    let url = up.url(0, "/health");
    let output = std::process::Command::new("curl")
        .args(["-sS", "-w", "%{http_code} %{num_connects}\n"])
        .args([
            "-o",
            "/dev/null",
            &url,
            "-o",
            "/dev/null",
            &url,
            "-o",
            "/dev/null",
            &url,
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "200 1\n200 0\n200 0\n");
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[0]);
    let mut requests = String::new();
    for number in 0..200 {
        requests.push_str(&format!(
            "PUT /v0/entity?id=p{number} HTTP/1.1\r\nHost: d\r\nContent-Length: 4\r\n\r\n{number:04}\
             GET /v0/entity?id=p{number} HTTP/1.1\r\nHost: d\r\n\r\n"
        ));
    }
    wire.send(requests);
    for number in 0..200 {
        assert_eq!(wire.answer().status, 201);
        assert_eq!(wire.answer().text(), format!("{number:04}"));
    }
}

#[test]
fn an_answer_does_not_wait_for_the_rest_of_the_next_request() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    wire.send("GET /v0/entity?id=a HTTP/1.1\r\nHost: d\r\n\r\nPUT /v0/entity?id=a HTTP/1.1\r\nHo");
    assert_eq!(wire.answer().status, 404);
    wire.send("st: d\r\nContent-Length: 1\r\n\r\nx");
    assert_eq!(wire.answer().status, 201);
}

#[test]
fn an_offer_of_http_2_is_harmless() {
    let up = Up::nodes(1);
    let url = up.url(0, "/v0/entity?id=a");
    let stored = curl_with(&["--http2", "-X", "PUT", "--data-binary", "@-", &url], b"x");
    assert_eq!(stored.status, 201);
    assert_eq!(curl(&["--http2", &url]).text(), "x");
    let mut wire = Wire::open(up.ports[0]);
    for _ in 0..3 {
        wire.send(
            "GET /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nConnection: Upgrade, HTTP2-Settings\r\n\
             Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        );
        let answer = wire.answer();
        assert_eq!((answer.status, answer.text()), (200, "x"));
    }
    let mut prior = Wire::open(up.ports[0]);
    prior.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let refused = prior.head();
    assert!(refused.is_err() || refused.unwrap().status >= 400);
}

#[test]
fn a_client_that_waits_for_100_is_told_to_go_on_or_not() {
    let up = Up::with(1, &["--max-body", "1KiB"]);
    let mut wire = Wire::open(up.ports[0]);
    for value in ["first", "again"] {
        wire.send(
            "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        );
        assert_eq!(wire.head().unwrap().status, 100);
        wire.send(value);
        assert_eq!(wire.answer().status, 201);
        assert_eq!(wire.request("GET", "/v0/entity?id=a", "").text(), value);
    }
    wire.send(
        "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 2000\r\n\r\n",
    );
    assert_eq!(
        wire.head().unwrap().status,
        413,
        "no 100 for what will be refused"
    );
    let url = up.url(0, "/v0/entity?id=b");
    let expecting = [
        "-H",
        "Expect: 100-continue",
        "-X",
        "PUT",
        "--data-binary",
        "@-",
        &url,
    ];
    assert_eq!(curl_with(&expecting, b"curl").status, 201);
    assert_eq!(get(&url).text(), "curl");
}

#[test]
fn chunked_uploads_are_put_together() {
    let up = Up::nodes(1);
    let url = up.url(0, "/v0/entity?id=up");
    let value: Vec<u8> = (0..700_001).map(|i| (i % 251) as u8).collect();
    // -T - does not know the length beforehand.
    assert_eq!(curl_with(&["-T", "-", &url], &value).status, 201);
    assert!(get(&url).body == value);
    let mut wire = Wire::open(up.ports[0]);
    wire.send(
        "PUT /v0/entity?id=c HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\na\r\n003;ext=1\r\nbcd\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
    );
    assert_eq!(wire.answer().status, 201);
    assert_eq!(
        wire.request("GET", "/v0/entity?id=c", "").text(),
        "abcd0123456789"
    );
    wire.send(
        "PUT /v0/entity?id=e HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    assert_eq!(wire.answer().status, 201);
    let empty = wire.request("GET", "/v0/entity?id=e", "");
    assert_eq!((empty.status, empty.body.len()), (200, 0));
}

#[test]
fn a_slow_client_is_served_and_holds_up_nobody() {
    let up = Up::nodes(1);
    let mut slow = Wire::open(up.ports[0]);
    let mut quick = Wire::open(up.ports[0]);
    let request = "PUT /v0/entity?id=slow HTTP/1.1\r\nHost: d\r\nContent-Length: 6\r\n\r\nplover";
    let mut longest = Duration::ZERO;
    for byte in request.as_bytes() {
        slow.send([*byte]);
        let begun = Instant::now();
        assert_eq!(quick.request("GET", "/v0/entity?id=other", "").status, 404);
        longest = longest.max(begun.elapsed());
        std::thread::sleep(Duration::from_millis(3));
    }
    assert_eq!(slow.answer().status, 201);
    assert_eq!(
        quick.request("GET", "/v0/entity?id=slow", "").text(),
        "plover"
    );
    assert!(
        longest < Duration::from_secs(2),
        "another client waited {longest:?}"
    );
}

#[test]
fn a_client_that_has_finished_sending_still_gets_its_answers() {
    let up = Up::nodes(3);
    put(&up.url(0, "/v0/entity?id=h"), b"half");
    for node in 0..3 {
        let mut wire = Wire::open(up.ports[node]);
        wire.send("PUT /v0/entity?id=i HTTP/1.1\r\nHost: d\r\nContent-Length: 1\r\n\r\n1");
        wire.send("GET /v0/entity?id=h&ack=3 HTTP/1.1\r\nHost: d\r\n\r\n");
        wire.finish();
        assert_eq!(wire.answer().status, 201);
        assert_eq!(wire.answer().text(), "half");
        assert!(wire.is_closed());
    }
}

#[test]
fn a_body_that_breaks_off_stores_nothing() {
    let up = Up::nodes(1);
    let mut watcher = Wire::open(up.ports[0]);
    for half_close in [true, false] {
        let mut wire = Wire::open(up.ports[0]);
        wire.send("PUT /v0/entity?id=b HTTP/1.1\r\nHost: d\r\nContent-Length: 100\r\n\r\nbroken");
        std::thread::sleep(Duration::from_millis(50));
        if half_close {
            wire.finish();
            let told = wire.head();
            assert!(told.is_err() || told.unwrap().status == 400);
        }
        drop(wire);
    }
    let mut chunked = Wire::open(up.ports[0]);
    chunked.send("PUT /v0/entity?id=b HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n");
    drop(chunked);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(watcher.request("GET", "/v0/entity?id=b", "").status, 404);
}

#[test]
fn idle_connections_cost_others_nothing() {
    let up = Up::nodes(1);
    let idle: Vec<Wire> = (0..300).map(|_| Wire::open(up.ports[0])).collect();
    let url = up.url(0, "/v0/entity?id=a");
    assert_eq!(put(&url, b"x").status, 201);
    drop(idle);
    eventually("served after they left", Duration::from_secs(5), || {
        get(&url).text() == "x"
    });
}
