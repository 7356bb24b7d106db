//! Kept-alive connections, one idle list for each server.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use dunlin_tls::{ClientConfig, ClientFiles, ClientTls, ServerName, TlsConnector, Trouble};
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HeaderValue;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::Address;
use crate::call::refused_by_tls;
use crate::error::ClientError;

/// A server that takes this long to accept a connection is passed over.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// What is spoken over TLS.
pub(crate) const HTTP: &[u8] = b"http/1.1";

pub(crate) type Connection = SendRequest<Full<Bytes>>;

/// One server and its idle connections. There are never more of these than there were requests
/// at the same time.
pub(crate) struct Pool {
    address: Address,
    idle: Mutex<Vec<Connection>>,
    tls: OnceLock<Arc<ClientTls>>,
    authorization: OnceLock<HeaderValue>,
}

impl Pool {
    pub(crate) fn new(address: Address) -> Pool {
        Pool {
            address,
            idle: Mutex::new(Vec::new()),
            tls: OnceLock::new(),
            authorization: OnceLock::new(),
        }
    }

    /// With what the server is spoken to if it speaks TLS. Only the first word counts.
    pub(crate) fn over_tls(&self, tls: &Arc<ClientTls>) {
        drop(self.tls.set(tls.clone()));
    }

    /// Speaks to its server as another does to its own.
    pub(crate) fn be_as(&self, other: &Pool) {
        if let Some(tls) = other.tls.get() {
            self.over_tls(tls);
        }
        if let Some(authorization) = other.authorization.get() {
            self.authorize(authorization.clone());
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Who asks here; false when that has been said before.
    pub(crate) fn authorize(&self, value: HeaderValue) -> bool {
        self.authorization.set(value).is_ok()
    }

    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.get()
    }

    /// An idle connection that was not seen closing.
    pub(crate) fn reuse(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(connection) = idle.pop() {
            if !connection.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(crate) fn keep(&self, connection: Connection) {
        if !connection.is_closed() {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(connection);
        }
    }

    pub(crate) async fn connect(&self) -> Result<Connection, ClientError> {
        let stream = self.stream().await?;
        if !self.address.is_tls() {
            self.speak(stream).await
        } else {
            let config = self.config()?;
            let stream = timeout(CONNECT_TIMEOUT, self.shake(stream, config));
            let stream = stream.await.unwrap_or_else(|_| {
                let waited = CONNECT_TIMEOUT.as_secs();
                Err(self.unreachable(format!("no TLS handshake within {waited} s")))
            });
            self.speak(stream?).await
        }
    }

    // The client's one way to the network; its users are outside the simulation.
    #[allow(clippy::disallowed_methods)]
    async fn stream(&self) -> Result<TcpStream, ClientError> {
        let connect = TcpStream::connect(self.address.authority());
        let stream = timeout(CONNECT_TIMEOUT, connect)
            .await
            .map_err(|_| {
                let waited = CONNECT_TIMEOUT.as_secs();
                self.unreachable(format!("no connection within {waited} s"))
            })?
            .map_err(|error| self.unreachable(error.to_string()))?;
        stream
            .set_nodelay(true)
            .map_err(|error| self.unreachable(error.to_string()))?;
        Ok(stream)
    }

    /// What is said of TLS, or else what the system believes, which takes a while to read.
    fn config(&self) -> Result<Arc<ClientConfig>, ClientError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.get());
        }
        let tls = ClientTls::client(ClientFiles::default(), &[HTTP])
            .map_err(|error| ClientError::Invalid(format!("{error} (--tls-ca)")))?;
        Ok(self.tls.get_or_init(|| tls).get())
    }

    async fn shake(
        &self,
        stream: TcpStream,
        config: Arc<ClientConfig>,
    ) -> Result<dunlin_tls::client_stream::TlsStream<TcpStream>, ClientError> {
        let name = ServerName::try_from(self.address.host().to_owned()).map_err(|_| {
            ClientError::Address {
                address: self.address.to_string(),
                reason: "no certificate can be for this name".to_owned(),
            }
        })?;
        let connecting = TlsConnector::from(config).connect(name, stream);
        connecting.await.map_err(|error| match Trouble::of(&error) {
            Some(trouble) => refused_by_tls(&self.address.to_string(), &trouble),
            None => self.unreachable(format!("the TLS handshake was broken off: {error}")),
        })
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Connection, ClientError> {
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(error.to_string()))?;
        // Its failures reach the caller through the request in flight.
        tokio::spawn(connection.with_upgrades());
        Ok(sender)
    }

    fn unreachable(&self, reason: String) -> ClientError {
        ClientError::Unreachable {
            server: self.address.to_string(),
            reason,
        }
    }
}
