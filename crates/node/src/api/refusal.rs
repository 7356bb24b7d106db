//! The way out for connections that are too many: they are told so, and when to come back.

use std::convert::Infallible;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_tls::{ServerConfig, ServerTls};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::error::Rejected;
use super::handshake::{self, Turns};
use super::linger::linger;
use super::reply::Reply;
use crate::doors::{Doors, Entered};

/// One that asks nothing for so long is closed without a word.
const ASK_TIME: Duration = Duration::from_secs(1);
/// And none is waited for longer.
const LONGEST: Duration = Duration::from_secs(5);
/// What those are told who cannot be waited for.
const AT_ONCE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\
    Retry-After: 1\r\nContent-Length: 0\r\n\r\n";

/// Who turns connections away.
pub(super) struct Refusals {
    doors: Arc<Doors>,
    /// With what they are spoken to, and whose turn it is with that.
    tls: Option<(Arc<ServerTls>, Rc<Turns>)>,
}

impl Refusals {
    pub fn new(doors: Arc<Doors>, tls: Option<Arc<ServerTls>>) -> Refusals {
        Refusals {
            doors,
            tls: tls.map(|tls| (tls, Rc::default())),
        }
    }

    /// Answers the first request of a connection that there are too many, and ends it.
    pub fn refuse(&self, stream: std::net::TcpStream) {
        match (self.doors.refuse(), &self.tls) {
            (Some(entered), None) => {
                tokio::task::spawn_local(tell(stream, entered));
            }
            (Some(entered), Some((tls, turns))) => {
                let (config, turns, doors) = (tls.get(), turns.clone(), self.doors.clone());
                tokio::task::spawn_local(tell_secretly(stream, entered, config, turns, doors));
            }
            // Whether it hears that depends on what it sends meanwhile.
            (None, None) => drop((&stream).write(AT_ONCE)),
            // It would not understand it.
            (None, Some(_)) => {}
        }
    }
}

async fn tell(stream: std::net::TcpStream, entered: Entered) {
    let Ok(mut stream) = TcpStream::from_std(stream) else {
        return;
    };
    if answer(&mut stream).await {
        drop(tokio::time::timeout(LONGEST, linger(stream)).await);
    }
    drop(entered);
}

async fn tell_secretly(
    stream: std::net::TcpStream,
    entered: Entered,
    config: Arc<ServerConfig>,
    turns: Rc<Turns>,
    doors: Arc<Doors>,
) {
    let Ok(mut stream) = TcpStream::from_std(stream) else {
        return;
    };
    let counts = &doors.handshakes;
    let begun = handshake::begin(&mut stream, config, &turns, counts, ASK_TIME).await;
    if let Some(mut begun) = begun
        && answer(&mut begun).await
    {
        drop(begun);
        drop(tokio::time::timeout(LONGEST, linger(stream)).await);
    }
    drop(entered);
}

/// Whether it was answered in time.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin) -> bool {
    let service = service_fn(async |request: Request<Incoming>| {
        Ok::<_, Infallible>(too_many(request.uri().path()))
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASK_TIME)
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::time::timeout(LONGEST, served).await.is_ok()
}

fn too_many(path: &str) -> Reply {
    let mut rejected = Rejected::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many connections (--max-connections): use those there are, or try again in a moment",
    );
    rejected.retry_after_s = Some(1);
    let mut reply = if path.starts_with("/v1/") {
        rejected.into_json()
    } else {
        rejected.into_text()
    };
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
    reply
}
