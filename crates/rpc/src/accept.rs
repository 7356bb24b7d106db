//! Reading hellos on one thread and handing each stream to the thread that its hello names.
//!
//! A process listens on one address for all its shards: one task runs [`run`], whose `route` sends
//! `stream.detach()?` to the shard's thread; there it is attached and given to
//! [`crate::serve_accepted`]. A hello that names nothing served here goes to [`refuse`].
use crate::error::AcceptError;
use crate::failed::FailedAccepts;
use crate::hello::{self, Hello, Status};
use crate::transport::{Listener, Stream};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Streams whose hello is awaited at a time; further ones wait to be accepted.
pub const OPENING_MAX: usize = 32;

/// Reads a stream's hello within `limit`, and not one byte behind it.
pub async fn read_hello(stream: &mut dyn Stream, limit: Duration) -> Result<Hello, AcceptError> {
    timeout(limit, hello::read(stream))
        .await
        .unwrap_or(Err(AcceptError::Timeout))
}

/// Tells the peer that it is not served, why, and `body` (at most 65,535 bytes) beside it.
pub async fn refuse(
    mut stream: Box<dyn Stream>,
    hello: &Hello,
    why: Status,
    body: &[u8],
) -> Result<(), AcceptError> {
    hello::answer(&mut *stream, hello.protocol, why, body).await
}

/// Accepts streams for as long as it is polled, reads each one's hello within `limit` and calls
/// `route` with both. Must run inside a `LocalSet`. Streams that open badly are logged and closed.
pub async fn run(
    mut listener: Box<dyn Listener>,
    limit: Duration,
    route: impl Fn(Hello, Box<dyn Stream>) + 'static,
) {
    let route = Rc::new(route);
    let opening = std::sync::Arc::new(Semaphore::new(OPENING_MAX));
    let mut failed = FailedAccepts::default();
    loop {
        // The semaphore is never closed.
        let Ok(permit) = opening.clone().acquire_owned().await else {
            return;
        };
        let (mut stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                failed.pause_after("a connection", &error).await;
                continue;
            }
        };
        failed.passed();
        let route = route.clone();
        tokio::task::spawn_local(async move {
            match read_hello(&mut *stream, limit).await {
                Ok(hello) => route(hello, stream),
                Err(error) => tracing::info!(peer, %error, "a connection did not open"),
            }
            drop(permit);
        });
    }
}
