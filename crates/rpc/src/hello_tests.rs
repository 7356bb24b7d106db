#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;
use tokio::io::duplex;

/// Of an answer that says two bytes.
const ANSWER_BYTES: usize = HEAD_BYTES + 2 + 2 + CHECKSUM_BYTES;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// What a client sends before it waits for the answer.
async fn opening(hello: &[u8]) -> Vec<u8> {
    let (mut client, mut server) = duplex(1 << 17);
    let _unanswered =
        tokio::time::timeout(std::time::Duration::ZERO, open(&mut client, hello)).await;
    drop(client);
    let mut bytes = Vec::new();
    server.read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn read_all(bytes: &[u8]) -> Result<Hello, AcceptError> {
    let (mut client, mut server) = duplex(1 << 17);
    client.write_all(bytes).await.unwrap();
    client.shutdown().await.unwrap();
    read(&mut server).await
}

#[tokio::test]
async fn a_hello_arrives_and_what_follows_it_is_left_in_the_stream() {
    for hello in [&b""[..], b"shard 3", &[7; 65_535]] {
        let mut bytes = opening(hello).await;
        bytes.push(0xaa);
        let (mut client, mut server) = duplex(1 << 17);
        client.write_all(&bytes).await.unwrap();
        let read = read(&mut server).await.unwrap();
        assert_eq!(&read.body[..], hello);
        assert_eq!(server.read_u8().await.unwrap(), 0xaa);
    }
}

#[tokio::test]
async fn a_hello_that_is_too_long_is_refused_before_it_is_sent() {
    let (mut client, _server) = duplex(64);
    let refused = open(&mut client, &[0; 65_536]).await;
    assert!(matches!(refused, Err(AcceptError::NotDunlin(_))));
}

#[tokio::test]
async fn answers_say_what_they_mean() {
    for (status, meant) in [
        (Status::Accepted, "Ok(b\"body\")"),
        (Status::ProtocolUnknown, "Err(Protocol(7))"),
        (Status::NotServed, "Err(NotServed)"),
        (Status::Superseded, "Err(Superseded(b\"body\"))"),
    ] {
        let (mut client, mut server) = duplex(1024);
        answer(&mut server, status, b"body").await.unwrap();
        server.write_all(b"what follows").await.unwrap();
        let opened = open(&mut client, b"h").await;
        assert_eq!(format!("{opened:?}"), meant, "{status:?}");
        let mut left = [0; 12];
        if !meant.contains("Err") {
            client.read_exact(&mut left).await.unwrap();
            assert_eq!(&left, b"what follows", "{status:?}");
        }
    }
}

#[tokio::test]
async fn another_version_is_told_so() {
    let (mut client, mut server) = duplex(1024);
    client.write_all(b"DNLN\x03\x00\x00\x00").await.unwrap();
    assert!(matches!(
        read(&mut server).await,
        Err(AcceptError::Protocol(3))
    ));
    let mut answer = [0; ANSWER_BYTES - 2];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer[..10], *b"DNLN\x07\x00\x01\x00\x00\x00");
}

proptest! {
    #[test]
    fn damaged_hellos_are_errors(at: proptest::sample::Index, bit in 0u8..8) {
        block_on(async {
            let mut bytes = opening(b"shard 3").await;
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            assert!(read_all(&bytes).await.is_err());
        });
    }

    #[test]
    fn any_bytes_are_a_hello_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        block_on(async {
            assert!(read_all(&bytes).await.is_err());
        });
    }

    #[test]
    fn damaged_answers_are_errors(at in 0usize..ANSWER_BYTES, bit in 0u8..8) {
        block_on(async {
            let (mut client, mut server) = duplex(1024);
            let (mut near, mut far) = duplex(1024);
            answer(&mut far, Status::Accepted, b"ab").await.unwrap();
            let mut bytes = [0; ANSWER_BYTES];
            near.read_exact(&mut bytes).await.unwrap();
            bytes[at] ^= 1 << bit;
            server.write_all(&bytes).await.unwrap();
            drop(server);
            assert!(open(&mut client, b"h").await.is_err());
        });
    }
}
