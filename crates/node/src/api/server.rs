//! Sockets to requests. hyper speaks HTTP/1.1: keep-alive, `Expect: 100-continue`,
//! and an `Upgrade` it does not know is ignored, as it should be.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::router;
use crate::shard::Shard;

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause after a failed accept, as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts for all shards of the node; `give` gets a running number and the connection.
pub(crate) async fn accept_http(
    listener: std::net::TcpListener,
    give: impl Fn(usize, std::net::TcpStream),
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "HTTP cannot be served");
            return;
        }
    };
    let mut turn = 0;
    loop {
        match listener.accept().await.and_then(|(s, _)| s.into_std()) {
            Ok(stream) => {
                give(turn, stream);
                turn += 1;
            }
            Err(error) => {
                tracing::warn!(%error, "an HTTP connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve_http(stream: std::net::TcpStream, shard: Rc<Shard>) {
    let attached = stream
        .set_nodelay(true)
        .and_then(|()| TcpStream::from_std(stream));
    let Ok(stream) = attached else { return };
    let service = service_fn(move |request| {
        let shard = shard.clone();
        async move { Ok::<_, Infallible>(router::route(shard, request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        // Clients that have finished sending still wait for their answers. (hyper's pipeline_flush
        // stays off: it holds answers back while anything of a next request has arrived, and the
        // 400 to a malformed one for ever.)
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
}
