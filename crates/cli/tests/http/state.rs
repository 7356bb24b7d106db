//! `/health`, `/metrics`, `/v1/status`.

use std::time::Duration;

use crate::harness::curl::{get, put};
use crate::harness::eventually;
use crate::harness::up::Up;

#[test]
fn health_names_the_node() {
    let up = Up::nodes(3);
    for node in 0..3 {
        let answer = get(&up.url(node, "/health"));
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["status"], "ok");
        assert_eq!(answer.json()["node"], format!("n{}", node + 1));
    }
}

/// Name with labels, and figure, of each sample; panics at a line that is neither that nor a comment.
fn samples(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, figure) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
            let bare = name.split('{').next().unwrap();
            assert!(bare.starts_with("dunlin_"), "{line:?}");
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

#[test]
fn metrics_can_be_scraped_and_count() {
    let up = Up::nodes(3);
    let read = || {
        let answer = get(&up.url(0, "/metrics"));
        assert_eq!(answer.status, 200);
        let kind = answer.header("content-type").unwrap();
        assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
        assert!(answer.text().ends_with("# EOF\n"));
        samples(answer.text())
    };
    let sum = |samples: &[(String, f64)], name: &str| -> f64 {
        let found = samples
            .iter()
            .filter(|(n, _)| n.split('{').next() == Some(name));
        let figures: Vec<f64> = found.map(|(_, figure)| *figure).collect();
        assert!(!figures.is_empty(), "no {name}");
        figures.iter().sum()
    };
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
    assert_eq!(sum(&after, "dunlin_up"), 1.0);
    for name in [
        "dunlin_replication_items_remaining",
        "dunlin_replication_latency_us_p99",
        "dunlin_store_bytes",
    ] {
        assert!(sum(&after, name) >= 0.0);
    }
}

#[test]
fn status_tells_of_the_whole_cluster_from_any_node() {
    let up = Up::nodes(3);
    for number in 0..50 {
        assert_eq!(
            put(
                &up.url(number % 3, &format!("/v0/entity?id={number}")),
                b"x"
            )
            .status,
            201
        );
    }
    for node in 0..3 {
        let status = || get(&up.url(node, "/v1/status")).json();
        eventually("all replicas have all", Duration::from_secs(10), || {
            let status = status();
            let links = status["links"].as_array().unwrap();
            links.len() == 6
                && links
                    .iter()
                    .all(|link| link["items_remaining"] == 0 && link["connected"] == true)
        });
        let status = status();
        assert_eq!(status["node"], format!("n{}", node + 1));
        let nodes = status["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 3);
        for found in nodes {
            assert!(
                found["name"].is_string()
                    && found["http"].is_string()
                    && found["listen"].is_string()
            );
            assert_eq!(
                (&found["alive"], &found["shards"]),
                (&true.into(), &1.into())
            );
        }
        assert_eq!(status["keyspaces"][0]["name"], "default");
        let shards = status["shards"].as_array().unwrap();
        let writes: u64 = shards
            .iter()
            .map(|shard| shard["writes"].as_u64().unwrap())
            .sum();
        assert_eq!((shards.len(), writes), (3, 50));
        assert!(
            shards
                .iter()
                .all(|shard| shard["trouble"].is_null() && shard["apply_backlog"] == 0)
        );
        for link in status["links"].as_array().unwrap() {
            assert_ne!(link["from"], link["to"]);
            assert_eq!(link["state"], "streaming");
            for figure in [
                "bytes_per_s",
                "latency_us_p50",
                "latency_us_p95",
                "latency_us_p99",
            ] {
                assert!(link[figure].is_u64(), "{figure} of {link}");
            }
            assert!(link["latency_us_p50"].as_u64() <= link["latency_us_p99"].as_u64());
        }
    }
}
