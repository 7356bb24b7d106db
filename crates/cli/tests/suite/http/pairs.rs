//! `/v1/keyspaces/{name}/keys` as pairs: the binary form of a range, which `Accept` asks for.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::answer::Answer;
use crate::harness::curl::{curl, curl_with, put};
use crate::harness::up::Up;
use crate::harness::wire::Wire;
use crate::harness::{eventually, percent};

pub const PAIRS: &str = "application/vnd.dunlin.pairs";
const LINES: &str = "application/x-ndjson";

/// The pairs of a body, after a look at its checksum.
fn decode(body: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut rest, checksum) = body.split_last_chunk::<4>().expect("no checksum");
    assert_eq!(crc32c(rest), u32::from_le_bytes(*checksum));
    let mut pairs = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<8>() {
        let length = |at: usize| {
            let bytes = head[at..at + 4].try_into().unwrap();
            u32::from_le_bytes(bytes) as usize
        };
        // This bit says that the end of the value comes before the key.
        let end_bytes = if length(0) & 1 << 31 == 0 { 0 } else { 8 };
        let behind = &behind[end_bytes..];
        let (key, behind) = behind.split_at(length(0) & !(1 << 31));
        let (value, behind) = behind.split_at(length(4));
        pairs.push((key.to_vec(), value.to_vec()));
        rest = behind;
    }
    assert!(rest.is_empty());
    pairs
}

/// CRC-32C, bit by bit.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(crc & 1))
        })
    })
}

fn scan(port: u16, query: &str) -> Answer {
    let url = format!("http://127.0.0.1:{port}/v1/keyspaces/default/keys{query}");
    curl(&["-H", &format!("Accept: {PAIRS}"), &url])
}

fn pairs(port: u16, query: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let answer = scan(port, query);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some(PAIRS));
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    decode(&answer.body)
}

#[test]
fn a_range_comes_as_pairs_to_who_asks_for_it() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[0]);
    // More than a page and more than a chunk; zeros, nothing, bytes that are no text.
    let expected: Vec<(Vec<u8>, Vec<u8>)> = (0..2_500u32)
        .map(|number| {
            let key = format!("k{number:05}\u{0}\u{ff}").into_bytes();
            let value = match number % 5 {
                0 => Vec::new(),
                1 => vec![0; number as usize],
                2 => vec![0xff; 1],
                3 => vec![(number % 256) as u8; 70_000 * usize::from(number % 500 == 3)],
                _ => format!("line\n{number}").into_bytes(),
            };
            (key, value)
        })
        .collect();
    for (key, value) in &expected {
        let path = format!("/v1/keyspaces/default/keys/{}", percent(key));
        assert_eq!(wire.request("PUT", &path, value).status, 201);
    }
    for port in &up.ports {
        assert!(pairs(*port, "") == expected);
    }
    let port = up.ports[1];
    assert!(pairs(port, "?start=k00100&end=k02000") == expected[100..2_000]);
    assert!(pairs(port, "?prefix=k01") == expected[1_000..2_000]);
    assert!(pairs(port, "?prefix=k01&start=k0150&limit=7&ack=3&from=3") == expected[1_500..1_507]);
    for nothing in ["?start=x", "?limit=0", "?start=k2&end=k1", "?prefix=%00"] {
        assert_eq!(scan(port, nothing).body, [0; 4], "{nothing}");
    }

    // What came goes back as it is.
    let url = |name: &str| format!("http://127.0.0.1:{port}/v1/keyspaces{name}");
    let created = curl(&["-d", r#"{"name":"back","sync":"never"}"#, &url("")]);
    assert_eq!(created.status, 201);
    let body = scan(port, "?prefix=k00").body;
    let content_type = format!("Content-Type: {PAIRS}");
    let bulk = [
        "-H",
        &content_type,
        "--data-binary",
        "@-",
        &url("/back/bulk"),
    ];
    assert_eq!(curl_with(&bulk, &body).status, 200);
    let again = curl(&["-H", &format!("Accept: {PAIRS}"), &url("/back/keys")]);
    assert!(again.body == body);
}

#[test]
fn the_header_decides_and_a_bad_one_is_refused() {
    let up = Up::nodes(1);
    let base = format!("http://127.0.0.1:{}/v1/keyspaces", up.ports[0]);
    let keys = format!("{base}/default/keys");
    assert_eq!(put(&format!("{keys}/knot"), b"red").status, 201);
    let both = format!("Accept: {PAIRS};q=0.4, {LINES};q=0.5");
    let ask = |header: &str| curl(&["-H", header, &keys]);
    // curl sends `*/*` of its own accord, and nothing for `Accept:`.
    for lines in ["X: y", "Accept:", "Accept: text/html, */*;q=0.1", &both] {
        let answer = ask(lines);
        assert_eq!(answer.header("content-type"), Some(LINES), "{lines}");
        assert_eq!(answer.json()["value"], "red");
    }
    let preferred = format!("Accept: */*;q=0.1, {PAIRS}");
    assert_eq!(ask(&preferred).header("content-type"), Some(PAIRS));
    for bad in [
        "Accept: text/html",
        "Accept: ;;",
        "Accept: */*;q=0",
        "Accept: a, b",
    ] {
        let answer = ask(bad);
        assert_eq!(answer.status, 406, "{bad}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(PAIRS) && error.contains(LINES), "{error}");
    }
    let accept = format!("Accept: {PAIRS}");
    let missing = curl(&["-H", &accept, &format!("{base}/nowhere/keys")]);
    assert_eq!(missing.status, 404);
    assert!(missing.json()["error"].is_string());
    for bad in ["?limit=many", "?ack=2&from=1"] {
        assert_eq!(curl(&["-H", &accept, &format!("{keys}{bad}")]).status, 400);
    }
    assert_eq!(curl(&["-X", "POST", "-H", &accept, &keys]).status, 405);
    let head = curl(&["-I", "-H", &accept, &keys]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-type"), Some(PAIRS));
}

#[test]
fn an_expired_value_does_not_come() {
    let up = Up::nodes(3);
    let url = format!("http://127.0.0.1:{}/v1/keyspaces/default/keys", up.ports[0]);
    assert_eq!(
        put(&format!("{url}/a?expires_in=2"), b"soon gone").status,
        201
    );
    assert_eq!(put(&format!("{url}/b"), b"stays").status, 201);
    assert_eq!(pairs(up.ports[1], "").len(), 2);
    eventually("the value expires", Duration::from_secs(10), || {
        pairs(up.ports[2], "") == [(b"b".to_vec(), b"stays".to_vec())]
    });
}

#[test]
fn values_of_64_mb_come_whole_or_visibly_not_at_all() {
    let mut up = Up::with(1, &["--max-body=64MiB"]);
    let port = up.ports[0];
    let url = format!("http://127.0.0.1:{port}/v1/keyspaces/default/keys");
    let value: Vec<u8> = (0..64u32 << 20).map(|at| (at % 251) as u8).collect();
    for name in ["a", "m", "z"] {
        let value: &[u8] = if name == "m" { &value } else { b"small" };
        // A machine that stands still for a second while it takes 64 MB says so: sent again.
        eventually("it is stored", Duration::from_secs(30), || {
            let status = put(&format!("{url}/{name}"), value).status;
            assert!(status == 201 || status == 503, "{status}");
            status == 201
        });
    }
    let all = pairs(port, "");
    assert_eq!(all.len(), 3);
    assert!(all[1] == (b"m".to_vec(), value));

    // A node that dies on the way: what came has no end, and curl knows.
    let directory = tempfile::tempdir().unwrap();
    let part = directory.path().join("part");
    let mut slow = Command::new("curl")
        .args([
            "-sS",
            "--limit-rate",
            "4M",
            "-H",
            &format!("Accept: {PAIRS}"),
            "-o",
        ])
        .arg(&part)
        .arg(&url)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let arrived = || std::fs::metadata(&part).map_or(0, |file| file.len());
    eventually("a part arrives", Duration::from_secs(30), || {
        arrived() > 1 << 20
    });
    up.process.kill();
    let code = slow.wait().unwrap().code();
    // A body that ends too early, or a connection that was reset.
    assert!(matches!(code, Some(18 | 56)), "{code:?}");
    assert!(arrived() < 64 << 20);
}
