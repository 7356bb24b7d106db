//! `/metrics`, as scrapers read it and as Prometheus' own tool judges it.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::harness::curl::{curl, get, put};
use crate::harness::promtool::promtool;
use crate::harness::up::Up;

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
        samples(answer).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(text.text()), names(open_metrics.text()));
}

#[test]
fn promtool_finds_nothing_to_blame() {
    let up = Up::nodes(3);
    for number in 0..20 {
        let url = up.url(0, &format!("/v0/entity?id={number}"));
        assert_eq!((put(&url, b"x").status, get(&url).status), (201, 200));
    }
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
