//! `/health`, `/v1/status`.

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
            let followers = status["followers"].as_array().unwrap();
            followers.len() == 6
                && followers.iter().all(|follower| {
                    follower["items_remaining"] == 0 && follower["connected"] == true
                })
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
        for follower in status["followers"].as_array().unwrap() {
            assert_ne!(follower["from"], follower["to"]);
            assert_eq!(follower["state"], "streaming");
            for figure in [
                "bytes_per_s",
                "latency_us_p50",
                "latency_us_p95",
                "latency_us_p99",
            ] {
                assert!(follower[figure].is_u64(), "{figure} of {follower}");
            }
            assert!(follower["latency_us_p50"].as_u64() <= follower["latency_us_p99"].as_u64());
        }
    }
}
