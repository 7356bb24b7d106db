//! Reads and writes: what is sent, and what each answer becomes.

use crate::support::{Server, reply, versioned};
use dunlin_client::{Client, ClientError, Condition, Expires, Pairs, Quorum, WriteOptions};

#[tokio::test]
async fn a_request_says_what_the_caller_asked() {
    let server = Server::start(|_| versioned(201, "77", "")).await;
    let store = Client::new(&server.url).unwrap().keyspace("birds of/prey");
    let options = WriteOptions {
        quorum: Quorum::of(2, 3),
        expires: Some(Expires::InS(60)),
        condition: Condition::Version("41".to_owned()),
    };
    let version = store
        .put(b"a/b?c=\xc3\xa9\x00\xff~", "value".into(), &options)
        .await
        .unwrap();
    assert_eq!(version, "77");
    let absent = WriteOptions {
        condition: Condition::Absent,
        ..WriteOptions::default()
    };
    store.put(b"k", "".into(), &absent).await.unwrap();

    let seen = server.seen();
    assert_eq!(
        seen[0].line,
        "PUT /v1/keyspaces/birds%20of%2Fprey/keys/a%2Fb%3Fc%3D%C3%A9%00%FF~?ack=2&from=3&expires_in=60"
    );
    assert_eq!(seen[0].header("if-match"), Some("\"41\""));
    assert_eq!(seen[0].header("if-none-match"), None);
    assert_eq!(seen[0].body, "value");
    assert_eq!(seen[1].line, "PUT /v1/keyspaces/birds%20of%2Fprey/keys/k");
    assert_eq!(seen[1].header("if-none-match"), Some("*"));
    assert_eq!(seen[1].header("content-length"), Some("0"));
}

#[tokio::test]
async fn get_tells_a_missing_key_from_a_missing_keyspace() {
    let server = Server::start(|seen| match seen.line.as_str() {
        line if line.contains("/known/keys/here") => versioned(200, "5", vec![0, 255, 10]),
        line if line.contains("/known/") => reply(404, ""),
        _ => reply(404, r#"{"error":"there is no keyspace \"lost\""}"#),
    })
    .await;
    let client = Client::new(&server.url).unwrap();
    let value = client
        .keyspace("known")
        .get(b"here", Quorum::default())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (&value.bytes[..], value.version.as_str()),
        (&[0, 255, 10][..], "5")
    );
    assert_eq!(
        client
            .keyspace("known")
            .get(b"gone", Quorum::default())
            .await
            .unwrap(),
        None
    );
    let error = client
        .keyspace("lost")
        .get(b"k", Quorum::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::NotFound(message) if message.contains("lost")),
        "{error}"
    );
}

#[tokio::test]
async fn an_empty_value_is_a_value_and_an_empty_key_is_not_sent() {
    let server = Server::start(|_| versioned(200, "1", "")).await;
    let store = Client::new(&server.url).unwrap().keyspace("default");
    assert_eq!(
        store
            .get(b"k", Quorum::default())
            .await
            .unwrap()
            .unwrap()
            .bytes,
        ""
    );
    assert!(matches!(
        store.get(b"", Quorum::default()).await,
        Err(ClientError::Invalid(_))
    ));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn each_refusal_says_what_to_do() {
    let server = Server::start(|seen| {
        let key = seen.line.rsplit('/').next().unwrap();
        let status = key.split('?').next().unwrap().parse().unwrap();
        reply(status, r#"{"error":"the reason"}"#)
    })
    .await;
    let store = Client::new(&server.url).unwrap().keyspace("default");
    for (status, retryable) in [
        (400, false),
        (412, false),
        (413, false),
        (504, true),
        (503, true),
        (507, true),
    ] {
        let key = status.to_string();
        let error = store
            .put(key.as_bytes(), "".into(), &WriteOptions::default())
            .await
            .unwrap_err();
        assert_eq!(error.is_retryable(), retryable, "{status}: {error}");
        assert!(error.to_string().contains("the reason"), "{error}");
        match (status, &error) {
            (412, ClientError::Precondition(_)) | (504, ClientError::NotEnoughReplicas(_)) => {}
            (400 | 413, ClientError::Refused { status: told, .. }) => assert_eq!(*told, status),
            (503 | 507, ClientError::Unavailable { status: told, .. }) => assert_eq!(*told, status),
            _ => panic!("{status} became {error:?}"),
        }
    }
}

#[tokio::test]
async fn delete_wants_202() {
    let server = Server::start(|seen| {
        if seen.line.ends_with("/k") {
            reply(202, "")
        } else {
            reply(200, "")
        }
    })
    .await;
    let store = Client::new(&server.url).unwrap().keyspace("default");
    store.delete(b"k", &WriteOptions::default()).await.unwrap();
    let error = store
        .delete(b"other", &WriteOptions::default())
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
    assert_eq!(server.seen()[0].line, "DELETE /v1/keyspaces/default/keys/k");
}

#[tokio::test]
async fn pairs_travel_together_and_the_answer_is_checked() {
    let server = Server::start(|seen| match &seen.line {
        line if line.contains("/lost/") => reply(404, r#"{"error":"there is no such keyspace"}"#),
        line if line.contains("/few/") => reply(504, r#"{"error":"Not Enough Replicas"}"#),
        line if line.contains("/wrong/") => reply(200, r#"{"pairs":1,"bytes":4}"#),
        _ => reply(200, r#"{"pairs":2,"bytes":6}"#),
    })
    .await;
    let client = Client::new(&server.url).unwrap();
    let mut pairs = Pairs::default();
    pairs.push(b"a", b"bc").unwrap();
    pairs.push(b"def", b"").unwrap();
    let pairs = pairs.seal();
    let bulk = async |name: &str, quorum| client.keyspace(name).bulk(&pairs, quorum).await;
    let stored = bulk("birds", Quorum::of(1, 2)).await.unwrap();
    assert_eq!((stored.pairs, stored.bytes), (2, 6));
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /v1/keyspaces/birds/bulk?ack=1&from=2");
    assert_eq!(
        seen[0].header("content-type"),
        Some("application/vnd.dunlin.pairs")
    );
    assert_eq!(seen[0].body, pairs.body());
    let none = Quorum::default();
    let few = bulk("few", none).await.unwrap_err();
    assert!(few.is_retryable(), "{few}");
    assert!(matches!(
        bulk("lost", none).await,
        Err(ClientError::NotFound(_))
    ));
    assert!(matches!(
        bulk("wrong", none).await,
        Err(ClientError::Protocol { .. })
    ));
}

#[tokio::test]
async fn pairs_go_to_another_server_when_one_cannot_serve() {
    let busy = Server::start(|_| reply(503, r#"{"error":"the node is busy"}"#)).await;
    let other = Server::start(|_| reply(200, r#"{"pairs":1,"bytes":2}"#)).await;
    let client = Client::new(&format!("{},{}", busy.url, other.url)).unwrap();
    let mut pairs = Pairs::default();
    pairs.push(b"k", b"v").unwrap();
    let stored = client
        .keyspace("birds")
        .bulk(&pairs.seal(), Quorum::default())
        .await;
    assert_eq!(stored.unwrap().pairs, 1);
    assert_eq!((busy.seen().len(), other.seen().len()), (1, 1));
}
