//! A connection that goes on without HTTP: a capability answers a request with 101, and serves the rest.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use dunlin_rpc::Duplex;
use hyper::StatusCode;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::reply::{self, Reply};
use crate::env::LocalFuture;

/// Serves a connection to its end.
pub type Upgrade = Box<dyn FnOnce(Box<dyn Duplex>) -> LocalFuture<()>>;

/// Where a request leaves what serves its connection from then on.
#[derive(Default)]
pub struct Upgrading(RefCell<Option<Upgrade>>);

impl Upgrading {
    /// Has this serve the connection once the answer, which [`switching`] gives, is sent.
    pub fn put(&self, upgrade: Upgrade) {
        self.0.replace(Some(upgrade));
    }

    pub(super) fn take(&self) -> Option<Upgrade> {
        self.0.take()
    }
}

/// 101, which names the protocol that follows.
pub fn switching(protocol: &'static str) -> Reply {
    let mut reply = reply::empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = reply.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(protocol));
    reply
}

/// A stream that is used by one after the other.
pub(super) struct Lent<S>(pub Rc<RefCell<S>>);

impl<S> Lent<S> {
    /// The same again.
    pub fn again(&self) -> Lent<S> {
        Lent(self.0.clone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lent<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lent<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.borrow().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_shutdown(cx)
    }
}
