//! Vectors stay small however often nodes start again (decision 42).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::{Cluster, blocking, request};
use dunlin_node::Node;

/// Starts of each node.
const STARTS: usize = 100;
/// Of each of three shards: its seal, the greatest sequence below that, its present start.
const ORIGINS_MAX: u64 = 9;
const PATIENCE: Duration = Duration::from_secs(60);

fn origins(address: SocketAddr) -> u64 {
    let (_, metrics) = request(address, "GET /metrics", b"");
    let metrics = String::from_utf8(metrics).unwrap();
    let mut lines = metrics.lines();
    let line = lines.find(|line| line.starts_with("dunlin_vector_origins{"));
    let value = line.and_then(|line| line.rsplit(' ').next()).unwrap();
    value.parse().unwrap()
}

fn write(address: SocketAddr, key: usize) {
    let begun = Instant::now();
    while request(
        address,
        &format!("PUT /v0/entity?id=k{key}&ack=2"),
        b"value",
    )
    .0 != 201
    {
        assert!(begun.elapsed() < PATIENCE, "a write is not taken");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn hundreds_of_restarts_leave_vectors_as_small_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::new(dir.path(), 1);
    let mut nodes = cluster.start_three().await;
    for turn in 0..STARTS * 3 {
        let at = turn % 3;
        let node = nodes.remove(at);
        let address = node.http_address();
        // Something of each start.
        blocking(move || write(address, turn)).await;
        node.stop().await.unwrap();
        nodes.insert(at, cluster.start(at as u16 + 1).await);
    }
    let addresses: Vec<SocketAddr> = nodes.iter().map(Node::http_address).collect();
    blocking(move || {
        let begun = Instant::now();
        loop {
            let counts: Vec<u64> = addresses.iter().map(|a| origins(*a)).collect();
            if counts.iter().all(|count| *count <= ORIGINS_MAX) {
                println!(
                    "entries of the vectors after {} starts: {counts:?}",
                    STARTS * 3
                );
                break;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "vectors have {counts:?} entries"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        for turn in 0..STARTS * 3 {
            let head = format!("GET /v0/entity?id=k{turn}");
            assert_eq!(request(addresses[turn % 3], &head, b"").0, 200, "k{turn}");
        }
    })
    .await;
    for node in nodes {
        node.stop().await.unwrap();
    }
}
