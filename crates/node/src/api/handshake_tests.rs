#![allow(clippy::unwrap_used, clippy::disallowed_methods)]
use dunlin_tls::{
    ClientFiles, ClientTls, IdentityFiles, ServerFiles, ServerName, ServerTls, TlsConnector,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(30);

fn ends() -> (Arc<ServerTls>, Arc<ClientTls>) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    let identity = IdentityFiles {
        certificate: folder.path().join("c.pem"),
        key: folder.path().join("k.pem"),
    };
    std::fs::write(&identity.certificate, made.cert.pem()).unwrap();
    std::fs::write(&identity.key, made.signing_key.serialize_pem()).unwrap();
    let ca = Some(identity.certificate.clone());
    let server = ServerFiles {
        identity,
        client_ca: None,
    };
    let client = ClientFiles { ca, identity: None };
    (
        ServerTls::server(server, &[]).unwrap(),
        ClientTls::client(client, &[]).unwrap(),
    )
}

fn counted(counts: &Handshakes) -> [u64; 3] {
    [&counts.done, &counts.failed, &counts.overdue].map(|count| count.load(Relaxed))
}

async fn connect(near: DuplexStream, client: &ClientTls) -> io::Result<String> {
    let name = ServerName::try_from("a.example").unwrap();
    let mut stream = TlsConnector::from(client.get()).connect(name, near).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

#[tokio::test]
async fn how_handshakes_end_is_counted() {
    let (server, client) = ends();
    let (turns, counts) = (Turns::default(), Handshakes::default());
    // Many at a time, through buffers that take several steps.
    let all = (0..20).map(async |_| {
        let (near, far) = duplex(300);
        let serve = async {
            let mut stream = begin(far, server.get(), &turns, &counts, LATE)
                .await
                .unwrap();
            stream.write_all(b"welcome").await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let ((), said) = tokio::join!(serve, connect(near, &client));
        assert_eq!(said.unwrap(), "welcome");
    });
    futures_util::future::join_all(all).await;
    assert_eq!(counted(&counts), [20, 0, 0]);

    let (mut near, far) = duplex(1 << 10);
    near.write_all(&[HANDSHAKE_RECORD, 3, 1, 0, 4, 9, 0, 0, 0])
        .await
        .unwrap();
    assert!(
        begin(far, server.get(), &turns, &counts, LATE)
            .await
            .is_none()
    );
    assert_eq!(counted(&counts), [20, 1, 0]);

    let (_silent, far) = duplex(1 << 10);
    assert!(
        begin(far, server.get(), &turns, &counts, SOON)
            .await
            .is_none()
    );
    assert_eq!(counted(&counts), [20, 1, 1]);
}

#[tokio::test]
async fn the_silent_keep_no_turn_and_nobody_goes_without_one() {
    let (server, client) = ends();
    let (turns, counts) = (Turns::default(), Handshakes::default());
    let (_silent, quiet) = duplex(1 << 10);
    let (near, far) = duplex(1 << 10);
    let serve = async {
        let stream = begin(far, server.get(), &turns, &counts, LATE).await;
        drop(stream);
    };
    let ((), silent, said) = tokio::join!(
        serve,
        begin(quiet, server.get(), &turns, &counts, SOON),
        connect(near, &client)
    );
    assert!(silent.is_none());
    // It was let in, and dropped without a word of farewell.
    assert_eq!(said.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(counted(&counts), [1, 0, 1]);

    let held = turns.0.acquire().await.unwrap();
    let (near, far) = duplex(1 << 10);
    let (begun, said) = tokio::join!(
        begin(far, server.get(), &turns, &counts, SOON),
        connect(near, &client)
    );
    assert!(begun.is_none() && said.is_err());
    assert_eq!(counted(&counts), [1, 0, 2]);
    drop(held);
}
