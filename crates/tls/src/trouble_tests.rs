#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;
use crate::authority_tests::{Authority, file};
use crate::{
    ClientFiles, ClientTls, IdentityFiles, ServerFiles, ServerName, ServerTls, TlsAcceptor,
    TlsConnector,
};

/// What a client sees that connects and reads a word.
fn meet(server: &ServerTls, client: &ClientTls, name: &'static str) -> Result<String, Trouble> {
    let acceptor = TlsAcceptor::from(server.get());
    let connector = TlsConnector::from(client.get());
    let (near, far) = duplex(64 << 10);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let serve = async {
            let mut stream = acceptor.accept(far).await?;
            stream.write_all(b"welcome").await?;
            stream.shutdown().await
        };
        let connect = async {
            let name = ServerName::try_from(name).unwrap();
            let mut stream = connector.connect(name, near).await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            Ok(text)
        };
        let (_, read): (io::Result<()>, io::Result<String>) = tokio::join!(serve, connect);
        read.map_err(|error| Trouble::of(&error).unwrap_or(Trouble::Other(error.to_string())))
    })
}

struct Stage {
    folder: tempfile::TempDir,
    authority: Authority,
}

impl Stage {
    fn new() -> Stage {
        Stage {
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new(),
        }
    }

    fn server(&self, identity: IdentityFiles, asks: bool) -> Arc<ServerTls> {
        let ca = self.authority.file(self.folder.path(), "ca.pem");
        let files = ServerFiles {
            identity,
            client_ca: asks.then_some(ca),
        };
        ServerTls::server(files, &[b"http/1.1"]).unwrap()
    }

    fn identity(&self, name: &str, from: i32, until: i32) -> IdentityFiles {
        let (certificate, key) = self.authority.sign(&[name], from, until);
        IdentityFiles {
            certificate: file(
                self.folder.path(),
                &format!("{name}{until}.pem"),
                &certificate,
            ),
            key: file(self.folder.path(), &format!("{name}{until}.key"), &key),
        }
    }

    fn client(&self, identity: Option<IdentityFiles>) -> Arc<ClientTls> {
        let ca = Some(self.authority.file(self.folder.path(), "ca.pem"));
        ClientTls::client(ClientFiles { ca, identity }, &[b"http/1.1"]).unwrap()
    }
}

#[test]
fn what_stands_in_the_way_is_told_apart() {
    let stage = Stage::new();
    let good = stage.identity("a.example", 2020, 2120);
    let server = stage.server(good.clone(), false);
    let asks = stage.server(good.clone(), true);
    let client = stage.client(None);
    assert_eq!(
        meet(&server, &client, "a.example"),
        Ok("welcome".to_owned())
    );
    let wrong = meet(&server, &client, "b.example").unwrap_err();
    let names = vec!["a.example".to_owned()];
    assert_eq!(wrong, Trouble::WrongName { names });
    let expired = stage.server(stage.identity("a.example", 2000, 2001), false);
    assert_eq!(meet(&expired, &client, "a.example"), Err(Trouble::Expired));
    let early = stage.server(stage.identity("a.example", 2118, 2119), false);
    assert_eq!(meet(&early, &client, "a.example"), Err(Trouble::NotYet));
    let stranger = Stage::new().client(None);
    assert_eq!(
        meet(&server, &stranger, "a.example"),
        Err(Trouble::UnknownIssuer)
    );

    assert_eq!(
        meet(&asks, &client, "a.example"),
        Err(Trouble::WantsIdentity)
    );
    let known = stage.client(Some(stage.identity("client", 2020, 2120)));
    assert_eq!(meet(&asks, &known, "a.example"), Ok("welcome".to_owned()));
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (stage, elsewhere) = (Stage::new(), Stage::new());
    let server = stage.server(stage.identity("a.example", 2020, 2120), true);
    let foreign = stage.client(Some(elsewhere.identity("client", 2020, 2120)));
    assert_eq!(
        meet(&server, &foreign, "a.example"),
        Err(Trouble::RefusesIdentity)
    );
    let old = stage.client(Some(stage.identity("client", 2000, 2001)));
    assert_eq!(
        meet(&server, &old, "a.example"),
        Err(Trouble::RefusesIdentity)
    );
}

#[test]
fn an_authority_is_no_server() {
    let stage = Stage::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    let folder = stage.folder.path();
    let identity = IdentityFiles {
        certificate: file(folder, "own.pem", &pem),
        key: file(folder, "own.key", &key.serialize_pem()),
    };
    let files = ClientFiles {
        ca: Some(identity.certificate.clone()),
        identity: None,
    };
    let client = ClientTls::client(files, &[]).unwrap();
    let server = stage.server(identity, false);
    assert_eq!(meet(&server, &client, "a.example"), Err(Trouble::IsCa));
}

#[test]
fn a_server_without_tls_is_known_by_its_answer() {
    let client = Stage::new().client(None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (near, mut far) = duplex(64 << 10);
    let error = runtime.block_on(async {
        far.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        let name = ServerName::try_from("a.example").unwrap();
        let connector = TlsConnector::from(client.get());
        connector.connect(name, near).await.unwrap_err()
    });
    assert_eq!(Trouble::of(&error), Some(Trouble::NotTls));
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    assert_eq!(Trouble::of(&refused), None);
}
