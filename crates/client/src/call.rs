//! One request: built once, sent to the first server that can answer it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dunlin_tls::{ClientTls, Trouble};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use tokio::time::timeout;

use crate::address::Address;
use crate::attempt::{Answer, Attempts, Times, Underway};
use crate::error::ClientError;
use crate::pool::{Connection, Pool};

/// All but the characters RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Longer targets are sent as a path with the parameters in a header: servers and what stands
/// between refuse URIs that are long.
const TARGET_BYTES_MAX: usize = 48 << 10;

/// Percent-encodes a path segment or a query value.
pub(crate) fn encode(bytes: &[u8]) -> String {
    percent_encode(bytes, ENCODED).to_string()
}

/// A request that can be sent more than once.
pub(crate) struct Call {
    method: Method,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    /// Whether it may be sent again after an attempt whose answer was lost.
    pub(crate) repeatable: bool,
    /// Whether it changes values: then its attempts say until when they may be stamped.
    pub(crate) is_write: bool,
}

impl Call {
    pub(crate) fn new(method: Method, path: String) -> Call {
        Call {
            method,
            target: path,
            headers: Vec::new(),
            body: Bytes::new(),
            repeatable: true,
            is_write: false,
        }
    }

    pub(crate) fn parameter(&mut self, name: &str, value: &str) {
        self.parameter_bytes(name, value.as_bytes());
    }

    pub(crate) fn parameter_bytes(&mut self, name: &str, value: &[u8]) {
        self.target
            .push(if self.target.contains('?') { '&' } else { '?' });
        self.target.push_str(name);
        self.target.push('=');
        self.target.push_str(&encode(value));
    }

    pub(crate) fn header(&mut self, name: &'static str, value: String) {
        self.headers.push((name, value));
    }

    pub(crate) fn body(&mut self, body: Bytes) {
        self.body = body;
    }

    pub(crate) fn json(&mut self, body: Vec<u8>) {
        self.header(CONTENT_TYPE.as_str(), "application/json".to_owned());
        self.body(body.into());
    }

    fn request(
        &self,
        pool: &Pool,
        times: Option<Times>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let invalid = |error: &dyn std::fmt::Display| {
            ClientError::Invalid(format!("cannot send this request: {error}"))
        };
        let is_long = self.target.len() > TARGET_BYTES_MAX;
        let (target, query) = match self.target.split_once('?') {
            Some((path, query)) if is_long => (path, Some(query)),
            _ => (&*self.target, None),
        };
        let mut request = Request::builder()
            .method(&self.method)
            .uri(target)
            .header(HOST, pool.address().authority());
        if let Some(authorization) = pool.authorization() {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(query) = query {
            request = request.header("dunlin-query", query);
        }
        // An empty value is a body of no bytes, which hyper would leave unsaid.
        if self.method == Method::PUT {
            request = request.header(CONTENT_LENGTH, self.body.len());
        }
        if let Some(times) = times {
            request = request.header("dunlin-deadline", times.deadline_ms);
            if let Some(after_ms) = times.after_ms {
                request = request.header("dunlin-after", after_ms);
            }
        }
        for (name, value) in &self.headers {
            let value = HeaderValue::from_str(value).map_err(|e| invalid(&e))?;
            request = request.header(HeaderName::from_static(name), value);
        }
        request
            .body(Full::new(self.body.clone()))
            .map_err(|e| invalid(&e))
    }
}

/// An answer whose body was read to its end.
pub(crate) struct Reply {
    pub(crate) server: String,
    pub(crate) head: Response<()>,
    pub(crate) body: Bytes,
}

/// An answer whose body still arrives; the connection lives as long as this does.
pub(crate) struct Opening {
    pub(crate) server: String,
    pub(crate) response: Response<Incoming>,
    pub(crate) connection: Connection,
    underway: Option<Underway>,
}

/// The servers of a client, the one that answered last first.
pub(crate) struct Servers {
    pools: Vec<Pool>,
    preferred: AtomicUsize,
    attempts: Arc<Attempts>,
    pub(crate) timeout: Duration,
}

impl Servers {
    /// With what all of them are spoken to that speak TLS.
    pub(crate) fn over_tls(&self, tls: &Arc<ClientTls>) {
        for pool in &self.pools {
            pool.over_tls(tls);
        }
    }

    /// What every request to any of them says of who asks.
    pub(crate) fn authorize(&self, value: &HeaderValue) -> Result<(), ClientError> {
        let mut set = self.pools.iter().map(|pool| pool.authorize(value.clone()));
        if set.all(|is_set| is_set) {
            Ok(())
        } else {
            Err(ClientError::Invalid(
                "the client is somebody already".to_owned(),
            ))
        }
    }

    pub(crate) fn new(pools: Vec<Pool>, timeout: Duration) -> Servers {
        Servers {
            pools,
            preferred: AtomicUsize::new(0),
            attempts: Attempts::new(timeout),
            timeout,
        }
    }

    /// Sends the call and reads the whole answer.
    pub(crate) async fn reply(&self, call: &Call) -> Result<Reply, ClientError> {
        let mut result = Err(no_servers());
        for (index, pool) in self.in_order() {
            result = self.at(pool, call).await.and_then(serving);
            if self.is_final(index, call, &result) {
                break;
            }
        }
        result
    }

    /// The answer of one server, to an attempt that was in time.
    async fn at(&self, pool: &Pool, call: &Call) -> Result<Reply, ClientError> {
        let mut tries = 0;
        loop {
            let attempt = whole(pool, call, &self.attempts);
            let (reply, underway) = timeout_at(self.timeout, pool, call, attempt).await?;
            let Some(underway) = underway else {
                return Ok(reply);
            };
            let (status, headers) = (reply.head.status(), reply.head.headers());
            match underway.answered(status, headers, tries) {
                Answer::Final => return Ok(reply),
                Answer::Again => tries += 1,
            }
        }
    }

    /// Sends the call and returns when the head of the answer is there.
    pub(crate) async fn opening(&self, call: &Call) -> Result<Opening, ClientError> {
        let mut result = Err(no_servers());
        for (index, pool) in self.in_order() {
            result = timeout_at(self.timeout, pool, call, open(pool, call, &self.attempts)).await;
            if self.is_final(index, call, &result) {
                break;
            }
        }
        result
    }

    /// The same at one server alone.
    pub(crate) async fn opening_at(
        &self,
        pool: &Pool,
        call: &Call,
    ) -> Result<Opening, ClientError> {
        timeout_at(self.timeout, pool, call, open(pool, call, &self.attempts)).await
    }

    /// A server that another has named, as `host:port`: spoken to as those that were given.
    pub(crate) fn pool_at(&self, authority: &str) -> Pool {
        let first = self.in_order().next();
        let is_tls = first.is_some_and(|(_, pool)| pool.address().is_tls());
        let pool = Pool::new(Address::new(authority, is_tls));
        if let Some((_, first)) = first {
            pool.be_as(first);
        }
        pool
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.pools.len()
    }

    /// The server that answered last is asked last from now on: it could not go on.
    pub(crate) fn prefer_next(&self) {
        let next = (self.preferred.load(Ordering::Relaxed) + 1) % self.pools.len().max(1);
        self.preferred.store(next, Ordering::Relaxed);
    }

    fn in_order(&self) -> impl Iterator<Item = (usize, &Pool)> {
        let first = self.preferred.load(Ordering::Relaxed);
        self.pools
            .iter()
            .enumerate()
            .cycle()
            .skip(first)
            .take(self.pools.len())
    }

    /// Whether a result is the caller's, or the next server is to be asked.
    fn is_final<T>(&self, index: usize, call: &Call, result: &Result<T, ClientError>) -> bool {
        match result {
            Ok(_) => {
                self.preferred.store(index, Ordering::Relaxed);
                true
            }
            // Nothing was sent.
            Err(ClientError::Unreachable { .. } | ClientError::Tls { .. }) => false,
            Err(error) => !(error.is_retryable() && call.repeatable),
        }
    }
}

fn no_servers() -> ClientError {
    ClientError::Invalid("the client has no servers".to_owned())
}

/// A node that cannot serve at present is a failure here: another may be able to.
fn serving(reply: Reply) -> Result<Reply, ClientError> {
    match reply.head.status() {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT => Err(refusal(reply)),
        _ => Ok(reply),
    }
}

async fn whole(
    pool: &Pool,
    call: &Call,
    attempts: &Arc<Attempts>,
) -> Result<(Reply, Option<Underway>), ClientError> {
    let Opening {
        server,
        response,
        connection,
        underway,
    } = open(pool, call, attempts).await?;
    let (parts, body) = response.into_parts();
    let body = body
        .collect()
        .await
        .map_err(|error| lost(&server, call, &error))?;
    pool.keep(connection);
    let reply = Reply {
        server,
        head: Response::from_parts(parts, ()),
        body: body.to_bytes(),
    };
    Ok((reply, underway))
}

async fn timeout_at<T>(
    after: Duration,
    pool: &Pool,
    call: &Call,
    attempt: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let server = || pool.address().to_string();
    match timeout(after, attempt).await {
        Ok(result) => result,
        Err(_) if call.repeatable => Err(ClientError::Timeout {
            server: server(),
            after,
        }),
        Err(_) => Err(ClientError::Ambiguous {
            server: server(),
            reason: format!("no answer within {} ms", after.as_millis()),
        }),
    }
}

/// Sends over an idle connection when there is one, else over a new one. An idle connection may
/// just be closing on the server's side, so its failure is followed by a try over a new one.
async fn open(pool: &Pool, call: &Call, attempts: &Arc<Attempts>) -> Result<Opening, ClientError> {
    let server = pool.address().to_string();
    while let Some(mut connection) = pool.reuse() {
        if connection.ready().await.is_err() {
            continue;
        }
        let (request, underway) = attempt(pool, call, attempts).await?;
        match connection.try_send_request(request).await {
            Ok(response) => {
                return Ok(Opening {
                    server,
                    response,
                    connection,
                    underway,
                });
            }
            Err(mut failed) => {
                let sent = failed.take_message().is_none();
                if !sent && let Some(underway) = underway {
                    underway.settle();
                } else if sent && !call.repeatable {
                    return Err(lost(&server, call, failed.error()));
                }
            }
        }
    }
    let mut connection = pool.connect().await?;
    let (request, underway) = attempt(pool, call, attempts).await?;
    let response = connection
        .send_request(request)
        .await
        .map_err(|error| lost(&server, call, &error))?;
    Ok(Opening {
        server,
        response,
        connection,
        underway,
    })
}

/// The request of one attempt; of a write, with what settles it or gives it up.
async fn attempt(
    pool: &Pool,
    call: &Call,
    attempts: &Arc<Attempts>,
) -> Result<(Request<Full<Bytes>>, Option<Underway>), ClientError> {
    if !call.is_write {
        return Ok((call.request(pool, None)?, None));
    }
    let underway = attempts.begin().await;
    match call.request(pool, Some(underway.times)) {
        Ok(request) => Ok((request, Some(underway))),
        Err(error) => {
            underway.settle();
            Err(error)
        }
    }
}

pub(crate) fn lost(server: &str, call: &Call, error: &hyper::Error) -> ClientError {
    interrupted(server, call.repeatable, error)
}

/// The error of a connection that broke after the request was sent.
pub(crate) fn interrupted(server: &str, repeatable: bool, error: &hyper::Error) -> ClientError {
    // A server that refuses the client's certificate says so behind the handshake, and has read nothing.
    if let Some(trouble @ (Trouble::WantsIdentity | Trouble::RefusesIdentity)) =
        Trouble::within(error)
    {
        return refused_by_tls(server, &trouble);
    }
    let mut reason = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        reason = format!("{reason}: {source}");
    }
    let server = server.to_owned();
    if repeatable {
        ClientError::Interrupted { server, reason }
    } else {
        ClientError::Ambiguous { server, reason }
    }
}

/// The error of a connection that TLS stands in the way of.
pub(crate) fn refused_by_tls(server: &str, trouble: &Trouble) -> ClientError {
    ClientError::Tls {
        server: server.to_owned(),
        reason: trouble.say("--tls-ca", "--tls-cert and --tls-key"),
    }
}

/// The error an unsuccessful answer stands for.
pub(crate) fn refusal(reply: Reply) -> ClientError {
    #[derive(serde::Deserialize)]
    struct Refusal {
        error: String,
    }
    let status = reply.head.status();
    let message = match serde_json::from_slice::<Refusal>(&reply.body) {
        Ok(refusal) => refusal.error,
        Err(_) => one_line(&reply.body).unwrap_or_else(|| {
            status
                .canonical_reason()
                .unwrap_or("no reason given")
                .to_lowercase()
        }),
    };
    refused_as(status, reply.server, message)
}

/// The error that a status stands for.
pub(crate) fn refused_as(status: StatusCode, server: String, message: String) -> ClientError {
    match status {
        StatusCode::NOT_FOUND => ClientError::NotFound(message),
        StatusCode::UNAUTHORIZED => ClientError::Unauthorized(message),
        StatusCode::FORBIDDEN => ClientError::Forbidden(message),
        StatusCode::PRECONDITION_FAILED => ClientError::Precondition(message),
        StatusCode::GATEWAY_TIMEOUT => ClientError::NotEnoughReplicas(message),
        // It came too late and nothing was written: with more time it may be in time.
        StatusCode::REQUEST_TIMEOUT => ClientError::Unavailable {
            server,
            status: status.as_u16(),
            message,
        },
        status if status.is_client_error() => ClientError::Refused {
            status: status.as_u16(),
            message,
        },
        status if status.is_server_error() => ClientError::Unavailable {
            server,
            status: status.as_u16(),
            message,
        },
        status => ClientError::Protocol {
            server,
            reason: format!("status {status} was not expected"),
        },
    }
}

fn one_line(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(300).collect())
}

/// The JSON of an answer that went well.
pub(crate) fn json<T: serde::de::DeserializeOwned>(reply: Reply) -> Result<T, ClientError> {
    if !matches!(reply.head.status(), StatusCode::OK | StatusCode::CREATED) {
        return Err(refusal(reply));
    }
    serde_json::from_slice(&reply.body).map_err(|error| ClientError::Protocol {
        server: reply.server,
        reason: error.to_string(),
    })
}
