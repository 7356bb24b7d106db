//! Scans: the range sent, lines cut at any byte, bytes that are not text, scans that break off.

use crate::support::{Answer, Chunks, Server, reply};
use bytes::Bytes;
use dunlin_client::{Client, ClientError, Entry, Quorum, Range};
use hyper::Response;

const LINES: &str = "{\"key\":\"a\",\"value\":\"1\",\"version\":\"10\"}\n\
    {\"key_base64\":\"//4=\",\"value\":\"\",\"version\":\"11\"}\n\
    {\"key\":\"z\",\"value_base64\":\"AAE=\",\"version\":\"12\"}\n";

fn pieces(body: &'static str, size: usize) -> Answer {
    let pieces = body
        .as_bytes()
        .chunks(size)
        .map(|piece| Ok(Bytes::from_static(piece)))
        .collect();
    Answer::Reply(Response::new(Chunks(pieces)))
}

async fn collect(server: &Server) -> Result<Vec<Entry>, ClientError> {
    let store = Client::new(&server.url)?.keyspace("default");
    let mut scan = store.scan(&Range::default(), Quorum::default()).await?;
    let mut entries = Vec::new();
    while let Some(entry) = scan.next().await? {
        entries.push(entry);
    }
    assert_eq!(scan.next().await?, None);
    Ok(entries)
}

#[tokio::test]
async fn lines_may_be_cut_anywhere() {
    for size in [1, 2, 3, 7, 50, 10_000] {
        let server = Server::start(move |_| pieces(LINES, size)).await;
        let entries = collect(&server).await.unwrap();
        let keys: Vec<&[u8]> = entries.iter().map(|e| &e.key[..]).collect();
        assert_eq!(keys, [&b"a"[..], b"\xff\xfe", b"z"], "pieces of {size}");
        let values: Vec<&[u8]> = entries.iter().map(|e| &e.value[..]).collect();
        assert_eq!(values, [&b"1"[..], b"", b"\x00\x01"]);
        assert_eq!(entries[2].version, "12");
    }
}

#[tokio::test]
async fn an_empty_range_has_no_entries() {
    let server = Server::start(|_| reply(200, "")).await;
    assert_eq!(collect(&server).await.unwrap(), []);
}

#[tokio::test]
async fn a_scan_that_breaks_off_is_an_error_not_an_end() {
    let broken = || {
        let error = std::io::Error::other("cut");
        Answer::Reply(Response::new(Chunks(
            [Ok(Bytes::from_static(LINES.as_bytes())), Err(error)].into(),
        )))
    };
    let server = Server::start(move |_| broken()).await;
    let error = collect(&server).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Interrupted { .. }),
        "{error:?}"
    );

    let told =
        Server::start(|_| reply(200, "{\"error\":\"too few replicas of partition 3\"}\n")).await;
    let error = collect(&told).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("too few replicas of partition 3"),
        "{error}"
    );

    let nonsense = Server::start(|_| reply(200, "<html>\n")).await;
    assert!(matches!(
        collect(&nonsense).await,
        Err(ClientError::Protocol { .. })
    ));
    let both = Server::start(|_| {
        reply(
            200,
            r#"{"key":"a","key_base64":"YQ==","value":"","version":"1"}"#,
        )
    })
    .await;
    assert!(matches!(
        collect(&both).await,
        Err(ClientError::Protocol { .. })
    ));
}

#[tokio::test]
async fn the_range_is_sent_encoded() {
    let server = Server::start(|_| reply(200, "")).await;
    let store = Client::new(&server.url).unwrap().keyspace("default");
    let range = Range {
        start: Bytes::from_static(b"a&b"),
        end: Some(Bytes::from_static(b"\xff")),
        prefix: Some(Bytes::from_static(b"a")),
        limit: Some(10),
    };
    store.scan(&range, Quorum::of(1, 3)).await.unwrap();
    assert_eq!(
        server.seen()[0].line,
        "GET /v1/keyspaces/default/keys?start=a%26b&end=%FF&prefix=a&limit=10&ack=1&from=3"
    );
}

#[tokio::test]
async fn a_refused_scan_says_why() {
    let server = Server::start(|_| reply(400, r#"{"error":"ack is above from"}"#)).await;
    let error = collect(&server).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { status: 400, .. }),
        "{error:?}"
    );
}
