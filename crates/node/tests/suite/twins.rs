//! A start without data leaves the name to who answers by it; a twin that hears nothing from the metadata
//! store hears of a later one from the other nodes.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::common::{CACHES, blocking, request};
use dunlin_metadata::Metadata;
use dunlin_node::{Node, NodeConfig, Process, StartError};

/// A node in a process of its own, as far as nodes can tell.
async fn try_start(
    name: &str,
    data: &Path,
    listen: &str,
    metadata: &Metadata,
) -> Result<(Node, Process), StartError> {
    let process = Process::new(CACHES, 1).unwrap();
    let config = NodeConfig {
        name: name.to_owned(),
        data: data.to_owned(),
        http: "127.0.0.1:0".to_owned(),
        listen: listen.to_owned(),
        ..NodeConfig::default()
    };
    let node = Node::start(config, metadata.clone(), &process).await?;
    Ok((node, process))
}

async fn start(name: &str, data: &Path, listen: &str, metadata: &Metadata) -> (Node, Process) {
    try_start(name, data, listen, metadata).await.unwrap()
}

/// One that no connection of another test is given: a node listens there more than once.
fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + std::process::id() as u16 % 5_000;
    let next = || format!("127.0.0.1:{}", first + NEXT.fetch_add(1, Ordering::Relaxed));
    let mut ports = std::iter::repeat_with(next);
    ports.find(|at| TcpListener::bind(at).is_ok()).unwrap()
}

#[tokio::test]
async fn the_others_tell_it_and_then_it_acknowledges_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let metadata = Metadata::embedded(path("metadata.json")).unwrap();
    let listen = free_address();
    let (_n1, _p1) = start("n1", &path("n1"), "127.0.0.1:0", &metadata).await;
    let (n2, _p2) = start("n2", &path("n2"), &listen, &metadata).await;
    let (_n3, _p3) = start("n3", &path("n3"), "127.0.0.1:0", &metadata).await;
    n2.stop().await.unwrap();

    // The earlier one has a metadata store that stands still.
    std::fs::create_dir(path("still")).unwrap();
    std::fs::copy(path("metadata.json"), path("still/metadata.json")).unwrap();
    let still = Metadata::embedded(path("still/metadata.json")).unwrap();
    let (earlier, process) = start("n2", &path("n2"), &listen, &still).await;
    let http = earlier.http_address();
    let put = move || request(http, "PUT /v0/entity?id=k&ack=3", b"v").0;
    assert_eq!(blocking(put).await, 201);
    let mut superseded = process.superseded();
    assert!(superseded.borrow().is_none());

    // A start without data does not take the name of one that answers.
    let refused = try_start("n2", &path("later"), "127.0.0.1:0", &metadata).await;
    let error = refused.err().expect("the earlier one answers");
    assert!(matches!(error, StartError::Running { .. }), "{error}");
    for part in ["another process runs as node n2", &listen, "--name"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(superseded.borrow().is_none());

    // What the still store gave, the other one must not give again; and the earlier one is not found.
    let nowhere = free_address();
    let given = metadata.register("n2", "127.0.0.1:1", &nowhere, 1, 0).await;
    assert_eq!(given.unwrap().incarnation, 2);
    let (later, p_later) = start("n2", &path("later"), "127.0.0.1:0", &metadata).await;
    let heard = superseded.wait_for(Option::is_some);
    let heard = tokio::time::timeout(Duration::from_secs(10), heard).await;
    let by = heard.expect("nobody told it").unwrap().clone().unwrap();
    assert_eq!((&*by.node, by.incarnation, by.newer), ("n2", 2, 3));
    for head in [
        "PUT /v0/entity?id=k&ack=1",
        "GET /v0/entity?id=k&ack=1",
        "GET /health/ready",
    ] {
        let (status, body) = blocking(move || request(http, head, b"w")).await;
        let text = String::from_utf8(body).unwrap();
        assert_eq!(status, 503, "{head}: {text}");
        assert!(text.contains("another process runs as this node"), "{text}");
    }
    earlier.stop().await.unwrap();
    assert!(p_later.superseded().borrow().is_none());
    let http = later.http_address();
    let get = move || request(http, "GET /v0/entity?id=k&ack=3", b"");
    assert_eq!(blocking(get).await, (200, b"v".to_vec()));
}
