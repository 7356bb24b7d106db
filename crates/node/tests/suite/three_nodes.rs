//! Three nodes in one process over HTTP: the whole path, with real files and sockets.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::{Cluster, blocking, request};
use dunlin_node::Node;

#[tokio::test]
async fn what_one_node_takes_every_node_gives_also_after_a_restart() {
    for shards in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let cluster = Cluster::new(dir.path(), shards);
        let nodes = cluster.start_three().await;
        let addresses: Vec<_> = nodes.iter().map(Node::http_address).collect();
        blocking(move || {
            // All three must answer a write, so all connections have to be there.
            for address in &addresses {
                let patience = Instant::now() + Duration::from_secs(30);
                while request(*address, "GET /health", b"").0 != 200 {
                    assert!(Instant::now() < patience, "not ready");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            for i in 0..300 {
                let head = format!("PUT /v0/entity?id=k{i:04}&ack=3");
                let value = format!("value {i}");
                assert_eq!(request(addresses[i % 3], &head, value.as_bytes()).0, 201);
            }
            for i in 0..30 {
                let head = format!("DELETE /v0/entity?id=k{:04}", i * 10);
                assert_eq!(request(addresses[(i + 1) % 3], &head, b"").0, 202);
            }
            verify(&addresses);
        })
        .await;
        for node in nodes {
            node.stop().await.unwrap();
        }
        let nodes = cluster.start_three().await;
        let addresses: Vec<_> = nodes.iter().map(Node::http_address).collect();
        blocking(move || verify(&addresses)).await;
        for node in nodes {
            node.stop().await.unwrap();
        }
    }
}

fn verify(addresses: &[SocketAddr]) {
    let mut listing = Vec::new();
    for i in 0..300 {
        let (status, body) = request(
            addresses[(i + 2) % 3],
            &format!("GET /v0/entity?id=k{i:04}"),
            b"",
        );
        if i % 10 == 0 {
            assert_eq!(status, 404, "k{i:04}");
        } else {
            assert_eq!((status, body), (200, format!("value {i}").into_bytes()));
            listing.push(format!("k{i:04}"));
        }
    }
    for address in addresses {
        let head = "GET /v1/keyspaces/default/keys?start=k";
        let (status, body) = request(*address, head, b"");
        assert_eq!(status, 200);
        let text = String::from_utf8(body).unwrap();
        let keys: Vec<String> = text
            .lines()
            .filter_map(|l| l.strip_prefix("{\"key\":\""))
            .map(|l| l[..5].to_owned())
            .collect();
        assert_eq!(keys, listing);
    }
}
