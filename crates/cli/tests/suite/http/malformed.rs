//! Bytes that are not HTTP, or not quite.

use crate::harness::up::Up;
use crate::harness::wire::Wire;

/// Sends bytes that can only be refused: with one of `statuses`, or by closing.
fn refused(up: &Up, bytes: &[u8], statuses: &[u16]) {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
    let mut wire = Wire::open(up.ports[0]);
    wire.send(bytes);
    wire.finish();
    match wire.head() {
        Ok(answer) => assert!(statuses.contains(&answer.status), "{shown:?}: {answer:?}"),
        Err(error) => assert!(
            statuses.is_empty() || error.kind() == std::io::ErrorKind::ConnectionReset,
            "{shown:?}: {error}"
        ),
    }
}

#[test]
fn requests_that_are_none_are_refused_and_the_next_client_is_served() {
    let up = Up::nodes(1);
    let bad = &[400][..];
    for line in [
        "GET\r\n\r\n",
        "GET /v0/entity?id=a\r\n\r\n",
        "GET  /v0/entity?id=a HTTP/1.1\r\n\r\n",
        "/v0/entity?id=a GET HTTP/1.1\r\n\r\n",
        "GET /v0/entity?id=a HTTP/9.9\r\n\r\n",
        "GET /v0/entity?id=a HTTX/1.1\r\n\r\n",
        "GET /v0/entity?id=a b HTTP/1.1\r\n\r\n",
        "G(T /v0/entity?id=a HTTP/1.1\r\n\r\n",
        "GET entity HTTP/1.1\r\nHost: d\r\n\r\n",
        "\0\0\0\0\0\0\0\0\r\n\r\n",
        "DNLN\x01\0\x04\0",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}hello, TLS\r\n\r\n",
    ] {
        refused(&up, line.as_bytes(), bad);
    }
    for header in [
        "no colon",
        "bad name : x",
        "Bad(Name): x",
        ": empty name",
        "X: a\0b",
        "Content-Length: abc",
        "Content-Length: -1",
        "Content-Length: 1.5",
        "Content-Length: +3",
        "Content-Length: 99999999999999999999999",
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3, 4",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
    ] {
        let request = format!("PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\n{header}\r\n\r\nabcd");
        refused(&up, request.as_bytes(), bad);
    }
    for body in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "-1\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "fffffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "3 3\r\nabc\r\n0\r\n\r\n",
    ] {
        let request = format!(
            "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
        );
        refused(&up, request.as_bytes(), bad);
    }
    let mut wire = Wire::open(up.ports[0]);
    assert_eq!(
        wire.request("GET", "/v0/entity?id=a", "").status,
        404,
        "nothing was stored"
    );
}

#[test]
fn heads_have_a_limit() {
    let up = Up::nodes(1);
    let before = up.process.rss_kib();
    let huge = format!(
        "GET /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nX-Huge: {}\r\n\r\n",
        "x".repeat(4 << 20)
    );
    refused(&up, huge.as_bytes(), &[431]);
    let many: String = (0..10_000).map(|n| format!("X-{n}: v\r\n")).collect();
    let many = format!("GET /v0/entity?id=a HTTP/1.1\r\nHost: d\r\n{many}\r\n");
    refused(&up, many.as_bytes(), &[431]);
    let long = format!(
        "GET /v0/entity?id={} HTTP/1.1\r\nHost: d\r\n\r\n",
        "x".repeat(1 << 20)
    );
    refused(&up, long.as_bytes(), &[414, 431]);
    let endless = vec![b'a'; 4 << 20];
    refused(&up, &endless, &[400, 414, 431]);
    assert_eq!(
        Wire::open(up.ports[0]).request("GET", "/health", "").status,
        200
    );
    let grown = up.process.rss_kib().saturating_sub(before);
    assert!(
        grown < 32 << 10,
        "{grown} KiB more for heads that were refused"
    );
}

#[test]
fn two_lengths_in_one_request_cannot_hide_another() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    wire.send(
        "PUT /v0/entity?id=a HTTP/1.1\r\nHost: d\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\n\r\nGET /v0/entity?id=smuggled HTTP/1.1\r\nHost: d\r\n\r\n",
    );
    // By RFC 9112 the chunks count; a server may also refuse.
    let first = wire.answer();
    assert!([201, 400].contains(&first.status), "{first:?}");
    if first.status == 201 {
        let read = Wire::open(up.ports[0]).request("GET", "/v0/entity?id=a", "");
        assert_eq!(read.body, b"");
    }
}

#[test]
fn random_bytes_never_stop_the_server() {
    let up = Up::nodes(1);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let seed = b"PUT /v0/entity?id=fuzz&ack=1&from=1 HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nIf-Match: \"1\"\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for _ in 0..400 {
        let mut bytes = seed.to_vec();
        for _ in 0..1 + random() % 6 {
            let at = (random() % bytes.len() as u64) as usize;
            match random() % 5 {
                0 | 1 => bytes[at] = random() as u8,
                2 => bytes.insert(at, random() as u8),
                3 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut wire = Wire::open(up.ports[0]);
        wire.send(&bytes);
        wire.finish();
        while let Ok(answer) = wire.head() {
            assert_ne!(
                answer.status / 100,
                5,
                "{:?}",
                String::from_utf8_lossy(&bytes)
            );
            if answer.status >= 200 {
                break;
            }
        }
    }
    assert_eq!(
        Wire::open(up.ports[0]).request("GET", "/health", "").status,
        200
    );
    assert!(
        !up.process.output().contains("panicked"),
        "{}",
        up.process.output()
    );
}
