//! Nodes of one process, and a client that speaks just enough HTTP.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use dunlin_metadata::{KeyspaceSettings, Metadata};
use dunlin_node::{Node, NodeConfig, Placement, Process};
use dunlin_store::CacheSizes;

pub const CACHES: CacheSizes = CacheSizes {
    block_bytes: 8 << 20,
    row_bytes: 1 << 20,
};

/// What the nodes of a test share.
pub struct Cluster<'a> {
    pub dir: &'a Path,
    pub shards: u16,
    process: Process,
    metadata: Metadata,
}

impl Cluster<'_> {
    pub fn new(dir: &Path, shards: u16) -> Cluster<'_> {
        Cluster {
            dir,
            shards,
            process: Process::new(CACHES, usize::from(shards) * 2).unwrap(),
            metadata: Metadata::embedded(dir.join("metadata.json")).unwrap(),
        }
    }

    /// Makes a keyspace.
    pub async fn create(&self, name: &str, settings: KeyspaceSettings) {
        let created = self.metadata.create_keyspace(name, settings).await;
        created.unwrap();
    }

    /// A key whose first replica is a node's.
    pub fn key_of(&self, number: u16, keyspace: &str) -> String {
        let topology = self.metadata.topology().borrow().clone();
        let name = format!("n{number}");
        let node = topology.nodes.iter().find(|n| n.name == name).unwrap().id;
        let placement = Placement::compute(&topology);
        let keyspace = placement.named(keyspace).unwrap();
        let is_first = |key: &String| {
            let partition = keyspace.partition_of(key.as_bytes());
            keyspace.order(partition)[0].node == node
        };
        (0..).map(|i| format!("k{i}")).find(is_first).unwrap()
    }

    pub async fn start(&self, number: u16) -> Node {
        let config = NodeConfig {
            name: format!("n{number}"),
            data: self.dir.join(format!("n{number}")),
            http: "127.0.0.1:0".into(),
            listen: "127.0.0.1:0".into(),
            shards: self.shards,
            ..NodeConfig::default()
        };
        Node::start(config, self.metadata.clone(), &self.process)
            .await
            .unwrap()
    }

    pub async fn start_three(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        for number in 1..=3 {
            nodes.push(self.start(number).await);
        }
        nodes
    }
}

/// Status and body of the answer.
pub fn request(address: SocketAddr, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
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

pub async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(f).await.unwrap()
}
