//! Three nodes in one process over HTTP: the whole path, with real files and sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use dunlin_metadata::Metadata;
use dunlin_node::{Node, NodeConfig, Process};

fn request(address: SocketAddr, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12])
        .unwrap()
        .parse()
        .unwrap();
    (status, answer[end + 4..].to_vec())
}

async fn start(dir: &std::path::Path, shards: u16) -> Vec<Node> {
    let process = Process::new(8 << 20).unwrap();
    let metadata = Metadata::embedded(dir.join("metadata.json")).unwrap();
    let mut nodes = Vec::new();
    for number in 1..=3 {
        let config = NodeConfig {
            name: format!("n{number}"),
            data: dir.join(format!("n{number}")),
            http: "127.0.0.1:0".into(),
            listen: "127.0.0.1:0".into(),
            shards,
            ..NodeConfig::default()
        };
        nodes.push(
            Node::start(config, metadata.clone(), &process)
                .await
                .unwrap(),
        );
    }
    nodes
}

async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(f).await.unwrap()
}

#[tokio::test]
async fn what_one_node_takes_every_node_gives_also_after_a_restart() {
    for shards in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let nodes = start(dir.path(), shards).await;
        let addresses: Vec<_> = nodes.iter().map(Node::http_address).collect();
        blocking(move || {
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
        let nodes = start(dir.path(), shards).await;
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
