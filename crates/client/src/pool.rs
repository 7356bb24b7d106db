//! Kept-alive connections, one idle list for each server.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HeaderValue;
use hyper_util::rt::TokioIo;

use crate::address::Address;
use crate::error::ClientError;

/// A server that takes this long to accept a connection is passed over.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) type Connection = SendRequest<Full<Bytes>>;

/// One server and its idle connections. There are never more of these than there were requests
/// at the same time.
pub(crate) struct Pool {
    address: Address,
    idle: Mutex<Vec<Connection>>,
    authorization: OnceLock<HeaderValue>,
}

impl Pool {
    pub(crate) fn new(address: Address) -> Pool {
        Pool {
            address,
            idle: Mutex::new(Vec::new()),
            authorization: OnceLock::new(),
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

    // The client's one way to the network; its users are outside the simulation.
    #[allow(clippy::disallowed_methods)]
    pub(crate) async fn connect(&self) -> Result<Connection, ClientError> {
        let unreachable = |reason: String| ClientError::Unreachable {
            server: self.address.to_string(),
            reason,
        };
        let connect = tokio::net::TcpStream::connect(self.address.authority());
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, connect)
            .await
            .map_err(|_| {
                unreachable(format!(
                    "no connection within {} s",
                    CONNECT_TIMEOUT.as_secs()
                ))
            })?
            .map_err(|error| unreachable(error.to_string()))?;
        stream
            .set_nodelay(true)
            .map_err(|error| unreachable(error.to_string()))?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        // Its failures reach the caller through the request in flight.
        tokio::spawn(connection);
        Ok(sender)
    }
}
