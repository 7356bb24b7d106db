//! A replica that lost its data does not answer "absent" as if it knew.

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{Cluster, blocking, request};
use dunlin_metadata::KeyspaceSettings;

const PUT: &str = "PUT /v0/entity?id=k&ack=2";
const GET: &str = "GET /v0/entity?id=k&ack=2";

async fn status(address: SocketAddr, head: &str) -> u16 {
    let head = head.to_owned();
    blocking(move || request(address, &head, b"v").0).await
}

/// The status once it is no longer `not_yet`, or that after ten seconds.
async fn settled(address: SocketAddr, not_yet: u16) -> u16 {
    let mut last = not_yet;
    for _ in 0..100 {
        last = status(address, GET).await;
        if last != not_yet {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    last
}

/// Waits until no shard says that it is being filled, for ten seconds.
async fn filled(address: SocketAddr) {
    for _ in 0..100 {
        let (code, body) = blocking(move || request(address, "GET /v1/status", b"")).await;
        assert_eq!(code, 200);
        if !String::from_utf8(body)
            .unwrap()
            .contains("\"refilling\":true")
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still being filled");
}

#[tokio::test]
async fn an_emptied_replica_counts_for_reads_only_when_it_is_full_again() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::new(dir.path(), 1);
    let mut nodes = cluster.start_three().await;
    nodes.pop().unwrap().stop().await.unwrap();
    let n2 = nodes.pop().unwrap();
    let n1 = nodes.pop().unwrap();
    assert_eq!(status(n1.http_address(), PUT).await, 201);
    n2.stop().await.unwrap();
    n1.stop().await.unwrap();

    std::fs::remove_dir_all(dir.path().join("n2")).unwrap();
    let n2 = cluster.start(2).await;
    let n3 = cluster.start(3).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    for node in [&n2, &n3] {
        assert_eq!(
            status(node.http_address(), GET).await,
            504,
            "{}",
            node.name()
        );
    }
    let range = "GET /v0/entities?start=a&ack=2";
    assert_eq!(status(n3.http_address(), range).await, 504);
    // Also after a restart, when the log is no longer empty.
    n2.stop().await.unwrap();
    let n2 = cluster.start(2).await;
    assert_eq!(status(n2.http_address(), GET).await, 504);

    let n1 = cluster.start(1).await;
    assert_eq!(settled(n2.http_address(), 504).await, 200);
    // Two others can answer before it is full, so it is asked itself.
    filled(n2.http_address()).await;
    n1.stop().await.unwrap();
    // What it was given counts, without those who gave it.
    assert_eq!(settled(n3.http_address(), 504).await, 200);
    for node in [n2, n3] {
        node.stop().await.unwrap();
    }
}

/// Two others may hold something newer, which it has lost: its clock may be behind.
#[tokio::test]
async fn the_word_of_an_emptied_replica_does_not_count_where_it_alone_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::new(dir.path(), 1);
    let mut nodes = cluster.start_three().await;
    let alone = KeyspaceSettings {
        replicas: 1,
        ..KeyspaceSettings::default()
    };
    cluster.create("alone", alone).await;
    let n3 = nodes.pop().unwrap();
    let key = cluster.key_of(2, "default");
    let put = format!("PUT /v0/entity?id={key}&ack=1&from=1");
    let key = cluster.key_of(2, "alone");
    let put_alone = format!("PUT /v1/keyspaces/alone/keys/{key}");
    for put in [&put, &put_alone] {
        assert_eq!(status(n3.http_address(), put).await, 201);
    }
    for node in nodes {
        node.stop().await.unwrap();
    }

    std::fs::remove_dir_all(dir.path().join("n2")).unwrap();
    let n2 = cluster.start(2).await;
    // Of what nobody else stores there is nothing newer.
    for _ in 0..100 {
        if status(n3.http_address(), &put_alone).await == 201 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(status(n3.http_address(), &put_alone).await, 201);
    assert_eq!(status(n3.http_address(), &put).await, 504);
    let n1 = cluster.start(1).await;
    filled(n2.http_address()).await;
    assert_eq!(status(n3.http_address(), &put).await, 201);
    for node in [n1, n2, n3] {
        node.stop().await.unwrap();
    }
}
