//! An answer whose body is read as it arrives.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName};
use tokio::time::timeout;

use crate::call::{Call, Opening, Reply, Servers, interrupted, refusal};
use crate::error::ClientError;
use crate::pool::Connection;

/// The body of an answer of status 200, piece by piece; dropping it ends it.
pub(crate) struct Streamed {
    server: String,
    headers: HeaderMap,
    body: Incoming,
    // Dropping the sender would end the connection under the body.
    _connection: Connection,
    wait: Duration,
}

impl Streamed {
    /// Sends the call; fails when the status is another.
    pub async fn open(servers: &Servers, call: &Call) -> Result<Streamed, ClientError> {
        let Opening {
            server,
            response,
            connection,
            ..
        } = servers.opening(call).await?;
        let (parts, body) = response.into_parts();
        if parts.status != StatusCode::OK {
            let body = body
                .collect()
                .await
                .map_err(|error| interrupted(&server, true, &error))?
                .to_bytes();
            return Err(refusal(Reply {
                server,
                head: hyper::Response::from_parts(parts, ()),
                body,
            }));
        }
        Ok(Streamed {
            server,
            headers: parts.headers,
            body,
            _connection: connection,
            wait: servers.timeout,
        })
    }

    /// The server that answers.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A header of the answer, when it is text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next piece; `None` at the end, which a body that breaks off never reaches.
    pub async fn data(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let frame =
                timeout(self.wait, self.body.frame())
                    .await
                    .map_err(|_| ClientError::Timeout {
                        server: self.server.clone(),
                        after: self.wait,
                    })?;
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(interrupted(&self.server, true, &error)),
                None => return Ok(None),
            }
        }
    }

    /// The error of an answer that makes no sense.
    pub fn protocol(&self, reason: String) -> ClientError {
        ClientError::Protocol {
            server: self.server.clone(),
            reason,
        }
    }
}
