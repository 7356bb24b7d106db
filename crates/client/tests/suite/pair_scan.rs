//! Scans as pairs: what is asked for, pieces cut at any byte, bodies that end early or lie.

use crate::support::{Answer, Chunks, Server, reply};
use bytes::Bytes;
use dunlin_client::{Client, ClientError, Pairs, Quorum, Range};
use hyper::Response;
use hyper::header::CONTENT_TYPE;

/// The end of a value.
const END_MS: u64 = 1_764_144_000_123;
const PAIRS: &str = "application/vnd.dunlin.pairs";

fn body() -> Vec<u8> {
    let mut pairs = Pairs::default();
    let large = vec![7; 200_000];
    let all: [(&[u8], &[u8]); 4] = [
        (b"a", b"1\0\n"),
        (b"b", b""),
        (b"c", &large),
        (b"\xff", b"end"),
    ];
    for (key, value) in all {
        let end = (key == b"b").then_some(END_MS);
        pairs.push_until(key, value, end).unwrap();
    }
    pairs.seal().body().to_vec()
}

fn pieces(body: &[u8], size: usize, is_cut: bool) -> Answer {
    let pieces = body.chunks(size);
    let mut pieces: std::collections::VecDeque<_> = pieces
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    if is_cut {
        pieces.push_back(Err(std::io::Error::other("cut")));
    }
    let response = Response::builder().header(CONTENT_TYPE, PAIRS);
    Answer::Reply(response.body(Chunks(pieces)).unwrap())
}

async fn collect(server: &Server) -> Result<Vec<(Bytes, Bytes)>, ClientError> {
    let store = Client::new(&server.url)?.keyspace("default");
    let mut scan = store
        .scan_pairs(&Range::default(), Quorum::default())
        .await?;
    let mut pairs = Vec::new();
    while let Some(bytes) = scan.peek().await? {
        assert_eq!(scan.peek().await?, Some(bytes));
        let pair = scan.next().await?.unwrap();
        assert_eq!(pair.key.len() + pair.value.len(), bytes);
        assert_eq!(pair.expires_ms, (pair.key == "b").then_some(END_MS));
        pairs.push((pair.key, pair.value));
    }
    assert_eq!(scan.next().await?, None);
    Ok(pairs)
}

#[tokio::test]
async fn pairs_may_be_cut_anywhere() {
    for size in [1, 3, 7, 8, 9, 4_096, 65_537, 10_000_000] {
        let server = Server::start(move |_| pieces(&body(), size, false)).await;
        let pairs = collect(&server).await.unwrap();
        let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| &key[..]).collect();
        assert_eq!(keys, [&b"a"[..], b"b", b"c", b"\xff"], "pieces of {size}");
        assert_eq!(pairs[0].1, &b"1\0\n"[..]);
        assert_eq!(pairs[1].1, &b""[..]);
        assert_eq!(pairs[2].1, vec![7; 200_000]);
        assert_eq!(pairs[3].1, &b"end"[..]);
        let seen = server.seen();
        assert!(seen[0].line.starts_with("GET /v1/keyspaces/default/keys"));
        assert_eq!(seen[0].header("accept"), Some(PAIRS));
    }
    let nothing = Server::start(|_| pieces(&[0; 4], 4, false)).await;
    assert_eq!(collect(&nothing).await.unwrap(), []);
}

#[tokio::test]
async fn a_body_that_ends_early_is_never_an_end() {
    let whole = body();
    for end in [
        0,
        1,
        3,
        7,
        8,
        9,
        12,
        20,
        21,
        25,
        100_000,
        whole.len() - 4,
        whole.len() - 1,
    ] {
        for is_cut in [false, true] {
            let part = whole[..end].to_vec();
            let server = Server::start(move |_| pieces(&part, 50_000, is_cut)).await;
            let error = collect(&server).await.unwrap_err();
            let is_told = matches!(
                error,
                ClientError::Interrupted { .. } | ClientError::Protocol { .. }
            );
            assert!(
                is_told && (!is_cut || error.is_retryable()),
                "{end}: {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_damaged_body_and_one_of_another_kind_are_refused() {
    let mut damaged = body();
    damaged[9] ^= 1;
    let server = Server::start(move |_| pieces(&damaged, 1_000, false)).await;
    let error = collect(&server).await.unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");

    // A length that nothing follows does not make room for itself.
    let lie = [&[1, 0, 0, 0, 255, 255, 255, 255][..], b"k and no more"].concat();
    let server = Server::start(move |_| pieces(&lie, 1_000, false)).await;
    let error = collect(&server).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Interrupted { .. }),
        "{error:?}"
    );

    // A node of before that knows but lines.
    let server = Server::start(|_| reply(200, "")).await;
    let error = collect(&server).await.unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");

    let server = Server::start(|_| reply(404, r#"{"error":"no such keyspace"}"#)).await;
    let error = collect(&server).await.unwrap_err();
    assert!(matches!(error, ClientError::NotFound(_)), "{error:?}");
}
