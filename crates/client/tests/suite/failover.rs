//! Servers that are down, slow, or close connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{Answer, Server, reply, versioned};
use dunlin_client::{Client, ClientError, Condition, Quorum, WriteOptions};

async fn closed_port() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test]
async fn a_dead_server_is_passed_over_and_the_live_one_remembered() {
    let live = Server::start(|_| versioned(200, "1", "v")).await;
    let client = Client::new(&format!("{},{}", closed_port().await, live.url)).unwrap();
    for _ in 0..3 {
        client
            .keyspace("default")
            .get(b"k", Quorum::default())
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(live.seen().len(), 3);
}

#[tokio::test]
async fn no_server_at_all_is_one_clear_line() {
    let port = closed_port().await;
    let client = Client::new(&port).unwrap();
    let error = client.status().await.unwrap_err();
    assert!(
        matches!(error, ClientError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot reach http://{port}: ")),
        "{error}"
    );
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_elsewhere() {
    let first = Server::start(|_| Answer::Hang).await;
    let second = Server::start(|_| versioned(201, "9", "")).await;
    let client = Client::new(&format!("{},{}", first.url, second.url)).unwrap();
    let version = client
        .keyspace("default")
        .put(b"k", "v".into(), &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(version, "9");
    assert_eq!((first.seen().len(), second.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_conditional_write_is_never_sent_twice() {
    let first = Server::start(|_| Answer::Hang).await;
    let second = Server::start(|_| versioned(201, "9", "")).await;
    let client = Client::new(&format!("{},{}", first.url, second.url)).unwrap();
    let options = WriteOptions {
        condition: Condition::Absent,
        ..WriteOptions::default()
    };
    let error = client
        .keyspace("default")
        .put(b"k", "v".into(), &options)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Ambiguous { .. }), "{error:?}");
    assert!(!error.is_retryable());
    assert_eq!((first.seen().len(), second.seen().len()), (1, 0));
}

#[tokio::test]
async fn a_connection_the_server_closed_while_idle_is_replaced() {
    // Every second request on the server's side meets a hang-up, as after an idle timeout.
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
            Answer::Hang
        } else {
            versioned(200, "1", "v")
        }
    })
    .await;
    let client = Client::new(&server.url).unwrap();
    for _ in 0..5 {
        client
            .keyspace("default")
            .get(b"k", Quorum::default())
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(server.seen().len(), 9);
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let silent = Server::start(|_| Answer::Stall).await;
    let live = Server::start(|_| versioned(200, "1", "v")).await;
    let wait = Duration::from_millis(100);
    let alone = Client::with_timeout(&silent.url, wait).unwrap();
    let error = alone
        .keyspace("default")
        .get(b"k", Quorum::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Timeout { after, .. } if after == wait),
        "{error:?}"
    );
    let both = Client::with_timeout(&format!("{},{}", silent.url, live.url), wait).unwrap();
    both.keyspace("default")
        .get(b"k", Quorum::default())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_node_that_cannot_serve_sends_the_client_on() {
    let failed = Server::start(|_| reply(503, r#"{"error":"the log has failed"}"#)).await;
    let live = Server::start(|_| versioned(200, "1", "v")).await;
    let client = Client::new(&format!("{},{}", failed.url, live.url)).unwrap();
    client
        .keyspace("default")
        .get(b"k", Quorum::default())
        .await
        .unwrap()
        .unwrap();
    let alone = Client::new(&failed.url).unwrap();
    let error = alone
        .keyspace("default")
        .get(b"k", Quorum::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Unavailable { status: 503, .. }),
        "{error:?}"
    );
}
