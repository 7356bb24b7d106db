//! Where streams come from. The real one is [`crate::TcpTransport`]; a simulation brings its own.
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A future that stays on its thread.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A way to reach addresses and to be reached.
pub trait Transport: Send + Sync {
    /// Opens a stream to `addr`.
    fn connect<'a>(&'a self, addr: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Stream>>>;

    /// Listens on `addr`.
    fn listen<'a>(&'a self, addr: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Listener>>>;
}

/// An address that is being listened on. Closed when dropped.
pub trait Listener {
    /// Waits for the next stream; the text names the peer for logs.
    fn accept(&mut self) -> LocalFuture<'_, io::Result<(Box<dyn Stream>, String)>>;

    /// The address in the form that [`Transport::connect`] takes; a port of 0 is filled in.
    fn local_addr(&self) -> io::Result<String>;
}

/// Bytes in order, both ways.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

/// An ordered stream of bytes, both ways, that can go to another thread.
pub trait Stream: Duplex + Send {
    /// Lets go of this thread's event loop, so that another thread can attach the stream to its own.
    fn detach(self: Box<Self>) -> io::Result<Detached>;
}

/// A stream between two event loops.
pub struct Detached(Box<dyn FnOnce() -> io::Result<Box<dyn Stream>> + Send>);

impl Detached {
    /// A stream that `attach` will register with the event loop it is called on.
    pub fn new(attach: impl FnOnce() -> io::Result<Box<dyn Stream>> + Send + 'static) -> Self {
        Self(Box::new(attach))
    }

    /// Registers the stream with this thread's event loop.
    pub fn attach(self) -> io::Result<Box<dyn Stream>> {
        (self.0)()
    }
}

impl std::fmt::Debug for Detached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Detached")
    }
}

/// Makes a [`Stream`] of anything that reads and writes and is bound to no event loop.
#[derive(Debug)]
pub struct Plain<S>(pub S);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for Plain<S> {
    fn detach(self: Box<Self>) -> io::Result<Detached> {
        Ok(Detached::new(move || Ok(self)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Plain<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Plain<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
