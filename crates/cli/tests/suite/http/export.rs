//! A keyspace is taken out and in again: as lines by the commands, as pairs by HTTP. Ends of values stay as they are.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::pairs::PAIRS;
use crate::harness::answer::Answer;
use crate::harness::child::dunlin;
use crate::harness::curl::{curl, curl_with};
use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;
use crate::support::run_with_input;

const HOUR_MS: u64 = 3_600_000;

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as u64
}

fn create(up: &Up, name: &str) {
    let mut wire = Wire::open(up.ports[0]);
    let body = format!(r#"{{"name":"{name}","replicas":1}}"#);
    assert_eq!(wire.request("POST", "/v1/keyspaces", body).status, 201);
}

/// What `scan --json` prints, each line without the version, which is each put's own.
fn lines(up: &Up, keyspace: &str) -> (Vec<u8>, Vec<Value>) {
    let server = format!("http://127.0.0.1:{}", up.ports[0]);
    let scan = dunlin()
        .args([
            "scan",
            "--json",
            "--keyspace",
            keyspace,
            "--server",
            &server,
        ])
        .output()
        .unwrap();
    assert!(scan.status.success());
    let text = String::from_utf8(scan.stdout.clone()).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert!(line.as_object_mut().unwrap().remove("version").is_some());
        line
    });
    (scan.stdout, lines.collect())
}

fn as_pairs(up: &Up, keyspace: &str) -> Vec<u8> {
    let url = format!(
        "http://127.0.0.1:{}/v1/keyspaces/{keyspace}/keys",
        up.ports[0]
    );
    let answer: Answer = curl(&["-H", &format!("Accept: {PAIRS}"), &url]);
    assert_eq!(answer.status, 200);
    answer.body
}

#[test]
fn a_keyspace_is_taken_out_and_in_again_byte_for_byte() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    let mut put = |path: &str, value: &[u8]| {
        let path = format!("/v1/keyspaces/default/keys/{path}");
        let answer = wire.request("PUT", &path, value);
        assert_eq!(answer.status, 201, "{}", answer.text());
    };
    let end_ms = now_ms() + HOUR_MS;
    put("text", b"a\tb\nc");
    put("none", b"");
    put("%ff%00", &[0, 0xfe, 10]);
    put(&format!("until?expires_at={end_ms}"), b"text");
    put(&format!("%fe?expires_at={}", end_ms + 1), &[0xff; 100_000]);
    put("soon?expires_in=3", b"gone before it is put again");
    let (dump, before) = lines(&up, "default");
    let url = format!(
        "http://127.0.0.1:{}/v1/keyspaces/default/keys/",
        up.ports[0]
    );
    let until = curl(&[&format!("{url}until")]);
    assert_eq!(until.header("dunlin-expires"), Some(&*end_ms.to_string()));
    assert_eq!(
        curl(&[&format!("{url}text")]).header("dunlin-expires"),
        None
    );
    eventually("a value is gone", Duration::from_secs(20), || {
        curl(&[&format!("{url}soon")]).status == 404
    });
    create(&up, "lines");
    let server = format!("http://127.0.0.1:{}", up.ports[0]);
    let import = ["import", "--format", "dunlin", "--json", "--keyspace"];
    let import = [&import[..], &["lines", "--server", &server]].concat();
    let report = run_with_input(&import, &dump).ok().json();
    assert_eq!(
        (report["records"].as_u64(), report["expired"].as_u64()),
        (Some(5), Some(1))
    );
    let kept = before.into_iter().filter(|line| line["key"] != "soon");
    assert_eq!(lines(&up, "lines").1, kept.collect::<Vec<_>>());

    create(&up, "bulk");
    let pairs = as_pairs(&up, "default");
    assert_eq!(as_pairs(&up, "lines"), pairs);
    let url = format!("{server}/v1/keyspaces/bulk/bulk");
    let content_type = format!("Content-Type: {PAIRS}");
    let arguments = [
        "-X",
        "POST",
        "-H",
        &content_type,
        "--data-binary",
        "@-",
        &url,
    ];
    let stored = curl_with(&arguments, &pairs);
    assert_eq!(stored.status, 200, "{}", stored.text());
    assert_eq!(as_pairs(&up, "bulk"), pairs);
    assert_eq!(lines(&up, "bulk").1, lines(&up, "default").1);
}

#[test]
fn an_end_that_cannot_be_meant_is_refused() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    let now_s = now_ms() / 1_000;
    for (query, words) in [
        (format!("expires_at={now_s}"), "in milliseconds since 1970"),
        ("expires_at=soon".to_owned(), "expires_at"),
        (
            format!("expires_in=5&expires_at={}", now_ms() + HOUR_MS),
            "exclude one another",
        ),
    ] {
        let path = format!("/v1/keyspaces/default/keys/k?{query}");
        let answer = wire.request("PUT", &path, "v");
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text().contains(words), "{}", answer.text());
    }
    let (_, found) = lines(&up, "default");
    assert_eq!(found, Vec::<Value>::new());
}
