//! `/metrics`, as scrapers read it and as Prometheus' own tool judges it.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::pairs::crc32c;
use crate::harness::child::command;
use crate::harness::curl::{curl, curl_with, delete, get, put};
use crate::harness::eventually;
use crate::harness::promtool::promtool;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

/// Name with labels, and figure, of each sample; panics at a line that is neither that nor a comment.
fn samples(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, figure) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
            let bare = name.split('{').next().unwrap();
            assert!(
                bare.starts_with("dunlin_") || bare.starts_with("process_"),
                "{line:?}"
            );
            assert!(
                bare.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{line:?}"
            );
            assert!(name == bare || name.ends_with("\"}"), "{line:?}");
            (
                name.to_owned(),
                figure.parse().unwrap_or_else(|_| panic!("{line:?}")),
            )
        })
        .collect()
}

/// The sum of a figure over its labels.
fn sum(samples: &[(String, f64)], name: &str) -> f64 {
    let found = samples
        .iter()
        .filter(|(n, _)| n.split('{').next() == Some(name));
    let figures: Vec<f64> = found.map(|(_, figure)| *figure).collect();
    assert!(!figures.is_empty(), "no {name}");
    figures.iter().sum()
}

#[test]
fn metrics_can_be_scraped_and_count() {
    let up = Up::nodes(3);
    let read = || samples(get(&up.url(0, "/metrics")).text());
    let before = read();
    for number in 0..20 {
        assert_eq!(
            put(&up.url(0, &format!("/v0/entity?id={number}")), b"x").status,
            201
        );
    }
    let after = read();
    for (name, least) in [
        ("dunlin_writes_total", 20.0),
        ("dunlin_http_requests_total", 21.0),
        ("dunlin_log_records_total", 20.0),
        ("dunlin_log_syncs_total", 1.0),
    ] {
        let grown = sum(&after, name) - sum(&before, name);
        assert!(grown >= least, "{name} grew by {grown}");
    }
    for name in ["dunlin_up", "dunlin_build_info"] {
        assert_eq!(sum(&after, name), 1.0);
    }
    for name in [
        "dunlin_replication_items_remaining",
        "dunlin_replication_latency_p99_seconds",
        "dunlin_store_bytes",
        "process_cpu_seconds_total",
    ] {
        assert!(sum(&after, name) >= 0.0);
    }
    assert!(sum(&after, "process_resident_memory_bytes") > 1e6);
    assert!(sum(&after, "process_open_fds") < sum(&after, "process_max_fds"));
}

#[test]
fn metrics_come_in_the_form_that_is_asked_for() {
    let up = Up::nodes(1);
    let url = up.url(0, "/metrics");
    let text = get(&url);
    assert_eq!(
        (text.status, text.header("content-type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    assert!(!text.text().contains("# EOF"));
    let open_metrics = curl(&[
        "-H",
        "Accept: application/openmetrics-text; version=1.0.0",
        &url,
    ]);
    assert_eq!(
        (open_metrics.status, open_metrics.header("content-type")),
        (
            200,
            Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
        )
    );
    assert!(open_metrics.text().ends_with("# EOF\n"));
    let names = |answer: &str| -> Vec<String> {
        let mut names: Vec<String> = samples(answer).into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    };
    assert_eq!(names(text.text()), names(open_metrics.text()));
}

/// A view, a transactional keyspace, and a stream that stays open.
fn feeds(up: &Up) -> Wire {
    let view = r#"{"name": "all", "map": "function (doc, meta) { emit(meta.id) }"}"#;
    let path = "/v1/keyspaces/default/views";
    assert_eq!(curl(&["-d", view, &up.url(0, path)]).status, 201);
    let bank = r#"{"name": "bank", "mode": "transactional"}"#;
    assert_eq!(curl(&["-d", bank, &up.url(0, "/v1/keyspaces")]).status, 201);
    let mut stream = Wire::open(up.ports[0]);
    let path = "/v1/keyspaces/default/changes";
    stream.try_send("GET", path, "", b"").unwrap();
    let is_there = || {
        let metrics = get(&up.url(0, "/metrics"));
        let names = [
            "dunlin_streams{",
            "dunlin_view_rows{",
            "dunlin_range_leader{",
            "dunlin_txns_total{",
        ];
        names.iter().all(|name| metrics.text().contains(name))
    };
    eventually(
        "all of them have figures",
        Duration::from_secs(30),
        is_there,
    );
    stream
}

/// One request of each kind, and some that are refused.
fn ask_everything(up: &Up) {
    let url = |path: &str| up.url(0, path);
    let made = curl(&[
        "-d",
        r#"{"name": "birds", "replicas": 3}"#,
        &url("/v1/keyspaces"),
    ]);
    assert_eq!(made.status, 201);
    let key = url("/v1/keyspaces/birds/keys/knot");
    assert_eq!(get(&key).status, 404);
    let put_and_version = put(&key, b"red in summer");
    assert_eq!(put_and_version.status, 201);
    let tag = put_and_version.header("etag").unwrap();
    assert_eq!(get(&key).status, 200);
    let known = format!("If-None-Match: {tag}");
    assert_eq!(curl(&["-H", &known, &key]).status, 304);
    assert_eq!(
        curl(&["-X", "PUT", "-d", "x", "-H", "If-None-Match: *", &key]).status,
        400
    );
    assert_eq!(get(&url("/v1/keyspaces/birds/keys")).status, 200);
    assert_eq!(delete(&key).status, 202);
    let mut pair = b"\x01\0\0\0\x01\0\0\0kv".to_vec();
    pair.extend(crc32c(&pair).to_le_bytes());
    let kind = "Content-Type: application/vnd.dunlin.pairs";
    let bulk = url("/v1/keyspaces/birds/bulk");
    let sent = curl_with(&["-H", kind, "--data-binary", "@-", &bulk], &pair);
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert_eq!(get(&url("/v1/keyspaces/none/keys/a")).status, 404);
}

#[test]
fn requests_are_timed_by_operation_keyspace_and_status() {
    let up = Up::nodes(3);
    ask_everything(&up);
    let samples = samples(get(&up.url(0, "/metrics")).text());
    let name = "dunlin_request_duration_seconds_count";
    let mut found: Vec<(&str, f64)> = samples
        .iter()
        .filter_map(|(sample, count)| Some((sample.strip_prefix(name)?, *count)))
        // A machine that stands still for a moment has requests refused, and they are sent again.
        .filter(|(labels, _)| labels.contains("birds") && !labels.contains("5xx"))
        .collect();
    found.sort_by(|a, b| a.0.cmp(b.0));
    let of = |operation: &str, status: &str| {
        format!(r#"{{operation="{operation}",keyspace="birds",status="{status}"}}"#)
    };
    let expected = [
        (of("bulk", "2xx"), 1.0),
        (of("delete", "2xx"), 1.0),
        (of("get", "2xx"), 1.0),
        (of("get", "3xx"), 1.0),
        (of("get", "4xx"), 1.0),
        (of("put", "2xx"), 1.0),
        (of("scan", "2xx"), 1.0),
    ];
    let expected: Vec<(&str, f64)> = expected.iter().map(|(l, c)| (l.as_str(), *c)).collect();
    assert_eq!(found, expected);
    let responses = |class: &str| {
        let name = format!("dunlin_http_responses_total{{shard=\"n1/0\",status=\"{class}\"}}");
        let found = samples.iter().find(|(sample, _)| *sample == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    };
    // Those of the harness that looks at the health are among them.
    assert!(responses("2xx") >= 6.0 && responses("4xx") >= 3.0);
    assert_eq!(responses("3xx"), 1.0);
    // The bounds of docs/limits.md for a node with one shard of three.
    let count = |belongs: fn(&str) -> bool| samples.iter().filter(|(s, _)| belongs(s)).count();
    let is_timed = |s: &str| s.starts_with("dunlin_request_duration_seconds");
    assert!(count(|s| s.contains("{shard=")) <= 60);
    assert_eq!(count(|s| s.contains("{from=")), 3 * 2);
    let labelled = |s: &str| s.contains("{shard=") || s.contains("{from=");
    let others = samples.iter().filter(|(s, _)| !labelled(s) && !is_timed(s));
    assert!(others.count() <= 34);
    for (name, figure) in [
        (r#"dunlin_shard_state{shard="n1/0",state="serving"}"#, 1.0),
        (r#"dunlin_shard_state{shard="n1/0",state="failing"}"#, 0.0),
        ("dunlin_metadata_reached", 1.0),
        ("dunlin_problems", 0.0),
    ] {
        assert!(samples.contains(&(name.to_owned(), figure)), "{name}");
    }
    assert!(sum(&samples, "dunlin_disk_free_bytes") <= sum(&samples, "dunlin_disk_size_bytes"));
    assert!(sum(&samples, "dunlin_row_cache_misses_total") >= 1.0);
    assert!(sum(&samples, "dunlin_log_sync_seconds_total") > 0.0);
}

/// A cluster to which the default keyspace is linked.
fn link(up: &Up) -> Up {
    let target = Up::nodes(1);
    let to = format!("--to={}", target.url(0, "/default"));
    let server = format!("--server={}", up.url(0, ""));
    let create = ["link", "create", "ab", "--from=default", &to, &server];
    let made = command().args(create).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    target
}

/// A file of `contrib`.
fn contrib(path: &str) -> String {
    format!("{}/../../contrib/{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_alerts_fire_when_they_should() {
    let output = Command::new(promtool())
        .args([
            "test",
            "rules",
            &contrib("prometheus/dunlin.rules.test.yml"),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn alerts_and_dashboard_name_only_what_there_is() {
    let up = Up::nodes(3);
    ask_everything(&up);
    let _stream = feeds(&up);
    let _target = link(&up);
    let samples = samples(get(&up.url(0, "/metrics")).text());
    let names: BTreeSet<&str> = samples
        .iter()
        .filter_map(|(sample, _)| sample.split('{').next())
        .collect();
    let rules = std::fs::read_to_string(contrib("prometheus/dunlin.rules.yml")).unwrap();
    let dashboard = std::fs::read_to_string(contrib("grafana/dunlin.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&dashboard).unwrap();
    for (text, least) in [(rules, 10), (dashboard, 20)] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named: BTreeSet<&str> = words
            .filter(|word| word.starts_with("dunlin_") || word.starts_with("process_"))
            .collect();
        assert!(named.len() >= least, "{named:?}");
        let unknown: Vec<_> = named.difference(&names).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

#[test]
fn promtool_finds_nothing_to_blame() {
    let up = Up::nodes(3);
    ask_everything(&up);
    let _target = link(&up);
    let text = get(&up.url(0, "/metrics"));
    let mut child = Command::new(promtool())
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.text().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
