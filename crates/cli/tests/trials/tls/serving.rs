//! What a listener does, it does with TLS too: limits, patience, a stop in good order.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::harness::eventually;
use crate::harness::secure::Secure;
use crate::harness::wire::Wire;

const KEY: &str = "/v1/keyspaces/default/keys/k";

#[test]
fn curl_speaks_tls_1_2_and_1_3_with_it_and_nothing_older() {
    let node = Secure::start(&[]);
    let url = node.url(KEY);
    node.curl(&["-X", "PUT", "--data-binary", "a small wader", &url])
        .ok();
    for version in ["1.2", "1.3"] {
        let flags = [&format!("--tlsv{version}"), "--tls-max", version, &url];
        assert_eq!(node.curl(&flags).ok(), "a small wader");
    }
    let old = node.curl(&[
        "--tlsv1.0",
        "--tls-max",
        "1.1",
        "--ciphers",
        "ALL:@SECLEVEL=0",
        &url,
    ]);
    assert_ne!(old.code, Some(0));
    // 16 MiB and back, over a connection that both sides write to.
    let large = node.folder().join("large");
    let bytes: Vec<u8> = (0..16_u32 << 18)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    std::fs::write(&large, &bytes).unwrap();
    let (from, to) = (format!("@{}", large.display()), node.folder().join("back"));
    node.curl(&["-X", "PUT", "--data-binary", &from, &url]).ok();
    node.curl(&["-o", to.to_str().unwrap(), &url]).ok();
    assert!(std::fs::read(to).unwrap() == bytes);
    let shown = node.dunlin(&["status", "--json"]).ok();
    assert!(
        shown.contains(&format!("\"http\":\"https://127.0.0.1:{}\"", node.port)),
        "{shown}"
    );
    assert!(node.process.output().contains("serves https://127.0.0.1:"));
}

#[test]
fn who_speaks_http_is_told_to_use_https() {
    let node = Secure::start(&[]);
    for request in [
        "GET /health HTTP/1.1\r\nHost: d\r\n\r\n",
        "PUT /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    ] {
        let mut wire = Wire::open(node.port);
        wire.send(request);
        let answer = wire.answer();
        assert_eq!(answer.status, 400);
        assert_eq!(answer.text(), "this port speaks TLS: use https://\n");
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(wire.is_closed());
    }
    assert_eq!(node.metric("dunlin_tls_plain_requests_total"), 2.0);
    // And what is neither.
    let mut stream = TcpStream::connect(("127.0.0.1", node.port)).unwrap();
    stream.write_all(&[0; 100]).unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
    let mut stream = TcpStream::connect(("127.0.0.1", node.port)).unwrap();
    stream.write_all(&[0x16, 3, 1, 0, 4, 1, 2, 3, 4]).unwrap();
    let mut said = Vec::new();
    drop(stream.read_to_end(&mut said));
    assert!(said.len() < 20, "{said:?}");
    eventually("both are counted", Duration::from_secs(5), || {
        node.metric("dunlin_tls_handshakes_failed_total") == 2.0
    });
}

#[test]
fn the_silent_are_cut_off_and_keep_nobody_waiting() {
    let node = Secure::start(&[]);
    let begun = Instant::now();
    // Half of them say the first half of a hello.
    let mut silent: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", node.port)).unwrap();
            if number % 2 == 0 {
                stream
                    .write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
                    .unwrap();
            }
            stream
        })
        .collect();
    for _ in 0..10 {
        node.get("/health").ok();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    for stream in &mut silent {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let ended = stream.read(&mut [0; 10]);
        assert!(!ended.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock));
    }
    let took = begun.elapsed();
    assert!(
        took > Duration::from_secs(9) && took < Duration::from_secs(25),
        "{took:?}"
    );
    assert_eq!(node.metric("dunlin_tls_handshakes_overdue_total"), 100.0);
}

#[test]
fn those_that_are_too_many_are_told_so() {
    let node = Secure::start(&["--max-connections", "8"]);
    let held: Vec<TcpStream> = (0..8)
        .map(|_| TcpStream::connect(("127.0.0.1", node.port)).unwrap())
        .collect();
    eventually("there is no place", Duration::from_secs(5), || {
        let said = node.get("/v1/status");
        said.code == Some(22)
            && said
                .out
                .contains("too many connections (--max-connections)")
    });
    drop(held);
    eventually("there are places again", Duration::from_secs(5), || {
        node.get("/health").code == Some(0)
    });
    assert!(node.metric("dunlin_connections_refused_total") >= 1.0);
}

#[test]
fn a_body_that_is_too_large_is_told_so() {
    let node = Secure::start(&["--max-body", "64KiB"]);
    let large = node.folder().join("large");
    std::fs::write(&large, vec![b'x'; 20 << 20]).unwrap();
    let body = format!("@{}", large.display());
    for more in [
        &[][..],
        &["-H", "Expect:"],
        &["-H", "Transfer-Encoding: chunked"],
    ] {
        let url = node.url(KEY);
        let said = node.curl(&[&["-X", "PUT", "--data-binary", &body, &url], more].concat());
        assert_eq!(said.code, Some(22), "{}", said.err);
        assert!(said.out.contains("65536"), "{}", said.out);
    }
}

#[test]
fn a_stop_waits_neither_for_the_idle_nor_for_the_silent() {
    let mut node = Secure::start(&[]);
    let _silent = TcpStream::connect(("127.0.0.1", node.port)).unwrap();
    let begun = Instant::now();
    assert_eq!(node.process.stop(), Some(0), "{}", node.process.output());
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
}
