//! Keyspaces and status.

use crate::support::{Server, reply};
use dunlin_client::{Client, ClientError, CreateKeyspace};

const KEYSPACE: &str = r#"{"name":"birds","id":3,"settings":{"mode":"quorum","replicas":3,
    "partitions":64,"sync":"interval:100ms","tombstone_grace_s":86400,"new_setting":true}}"#;

#[tokio::test]
async fn keyspaces_are_created_listed_described_and_dropped() {
    let server = Server::start(|seen| match seen.line.as_str() {
        "POST /v1/keyspaces" if seen.body.starts_with(br#"{"name":"taken""#) => {
            reply(409, r#"{"error":"keyspace \"taken\" exists"}"#)
        }
        "POST /v1/keyspaces" => reply(201, KEYSPACE),
        "GET /v1/keyspaces" => reply(200, format!("[{KEYSPACE}]")),
        "GET /v1/keyspaces/birds" => reply(200, KEYSPACE),
        "DELETE /v1/keyspaces/birds" => reply(204, ""),
        _ => reply(404, r#"{"error":"there is no keyspace of that name"}"#),
    })
    .await;
    let client = Client::new(&server.url).unwrap();
    let wanted = CreateKeyspace {
        name: "birds".to_owned(),
        replicas: Some(3),
        sync: Some("never".to_owned()),
        ..CreateKeyspace::default()
    };
    let created = client.create_keyspace(&wanted).await.unwrap();
    assert_eq!(
        server.seen()[0].body,
        r#"{"name":"birds","replicas":3,"sync":"never"}"#
    );
    let taken = CreateKeyspace {
        name: "taken".to_owned(),
        ..CreateKeyspace::default()
    };
    let error = client.create_keyspace(&taken).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { status: 409, .. }),
        "{error:?}"
    );

    let listed = client.keyspaces().await.unwrap();
    assert_eq!(listed.len(), 1);
    let described = client.describe_keyspace("birds").await.unwrap().unwrap();
    assert_eq!(described, listed[0]);
    assert_eq!(created, described);
    assert_eq!(
        (
            described.settings.partitions,
            described.settings.sync.as_str()
        ),
        (64, "interval:100ms")
    );
    assert_eq!(described.settings.more["new_setting"], true);
    assert_eq!(client.describe_keyspace("none").await.unwrap(), None);
    client.drop_keyspace("birds").await.unwrap();
    assert!(matches!(
        client.drop_keyspace("none").await,
        Err(ClientError::NotFound(_))
    ));
}

#[tokio::test]
async fn status_is_read_and_tolerates_additions() {
    let server = Server::start(|seen| match seen.line.as_str() {
        "GET /health" => reply(200, "ok"),
        _ => reply(
            200,
            r#"{"node":"n1","topology_revision":7,"later":1,
            "nodes":[{"name":"n1","id":1,"http":"h:1","listen":"h:2","shards":2,"alive":true,"incarnation":4}],
            "keyspaces":[],
            "followers":[{"from":"n1/0","to":"n2/0","items_remaining":12,"bytes_remaining":60,"bytes_per_s":1500,"latency_us_p50":90,
              "latency_us_p95":200,"latency_us_p99":900,"connected":true,"state":"streaming"}]}"#,
        ),
    })
    .await;
    let client = Client::new(&server.url).unwrap();
    client.health().await.unwrap();
    let status = client.status().await.unwrap();
    assert_eq!((status.topology_revision, status.nodes.len()), (7, 1));
    assert!(status.nodes[0].alive);
    assert_eq!(
        (
            status.followers[0].items_remaining,
            status.followers[0].latency_us_p99
        ),
        (12, 900)
    );
    assert_eq!(status.more["later"], 1);
}

#[tokio::test]
async fn something_else_on_the_port_is_named() {
    let server = Server::start(|_| reply(200, "<html>hello</html>")).await;
    let error = Client::new(&server.url)
        .unwrap()
        .status()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::Protocol { server: told, .. } if *told == server.url),
        "{error:?}"
    );
}
