//! The beginning of a TLS connection. It costs processor time, and a client can ask for it with one
//! packet: the steps of all handshakes of an event loop are taken one at a time, with whatever else is
//! ready between two of them.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::mem::replace;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use dunlin_tls::{ServerConfig, TlsAcceptor, server_stream::TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// How long a client may take from its connection to the end of its handshake.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// The first byte of everything that may begin a TLS connection.
const HANDSHAKE_RECORD: u8 = 0x16;
/// What those are told who speak HTTP here: in the clear, as they would understand nothing else.
const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 35\r\n\r\n\
    this port speaks TLS: use https://\n";

/// How handshakes went, for all nodes of a process.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    pub done: AtomicU64,
    /// What the client sent, or that it went, or a certificate that is not believed.
    pub failed: AtomicU64,
    /// Too slow, or silent.
    pub overdue: AtomicU64,
    /// HTTP without TLS.
    pub plain: AtomicU64,
}

/// Who takes the next step of a handshake on one event loop: in the order of asking.
pub(super) struct Turns(Semaphore);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Semaphore::new(1))
    }
}

/// Begins TLS on a connection within `time`. `None` when nothing comes of it: the client has been told
/// what can be told.
pub(super) async fn begin<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    config: Arc<ServerConfig>,
    turns: &Turns,
    counts: &Handshakes,
    time: Duration,
) -> Option<TlsStream<S>> {
    let shaken = tokio::time::timeout(time, shake(stream, config, turns)).await;
    let (count, stream) = match shaken {
        Ok(Ok(stream)) => (&counts.done, Some(stream)),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            (&counts.failed, None)
        }
        Err(_) => (&counts.overdue, None),
    };
    count.fetch_add(1, Relaxed);
    stream
}

async fn shake<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    config: Arc<ServerConfig>,
    turns: &Turns,
) -> io::Result<TlsStream<S>> {
    let mut shaking = pin!(TlsAcceptor::from(config).accept(stream));
    loop {
        let turn = turns.0.acquire().await;
        let step = poll_fn(|cx| Poll::Ready(shaking.as_mut().poll(cx))).await;
        drop(turn);
        if let Poll::Ready(shaken) = step {
            return shaken;
        }
        // Until the socket, which knows this task by now, wakes it.
        let mut is_woken = false;
        poll_fn(|_| {
            if replace(&mut is_woken, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// Waits for the first byte and looks whether it begins TLS. Who speaks HTTP instead is told; false
/// then, and for those who say nothing in `time`.
pub(super) async fn speaks_tls(
    stream: &RefCell<TcpStream>,
    counts: &Handshakes,
    time: Duration,
) -> bool {
    let mut first = [0];
    let peeked = poll_fn(|cx| stream.borrow().poll_peek(cx, &mut ReadBuf::new(&mut first)));
    let count = match tokio::time::timeout(time, peeked).await {
        Ok(Ok(1..)) if first[0] == HANDSHAKE_RECORD => return true,
        Ok(Ok(1..)) if first[0].is_ascii_alphabetic() => {
            // A socket that was not written to has room for this.
            drop(stream.borrow().try_write(SPEAKS_TLS));
            &counts.plain
        }
        Ok(_) => &counts.failed,
        Err(_) => &counts.overdue,
    };
    count.fetch_add(1, Relaxed);
    false
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
