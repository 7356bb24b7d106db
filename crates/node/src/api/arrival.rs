//! A client's connection, watched for what waited in its socket while the event loop stood still.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::shard::Arrivals;

/// A stream that says what it reads to its [`Arrivals`].
pub(super) struct Watched {
    /// Also held by whoever ends the connection, once nobody reads here any more.
    stream: Rc<RefCell<TcpStream>>,
    arrivals: Rc<Arrivals>,
}

impl Watched {
    pub fn new(stream: Rc<RefCell<TcpStream>>, arrivals: Rc<Arrivals>) -> Watched {
        Watched { stream, arrivals }
    }
}

/// Asks the kernel: what tokio knows of a socket may be from before the stall. Where it cannot be
/// asked, as without file descriptors, the socket counts as not empty.
fn is_empty(stream: &TcpStream) -> bool {
    let looked = stream
        .as_fd()
        .try_clone_to_owned()
        .and_then(|fd| std::net::TcpStream::from(fd).peek(&mut [0]));
    looked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.arrivals.is_unclear() && is_empty(&self.stream.borrow()) {
            self.arrivals.was_empty();
        }
        let (before, room) = (buf.filled().len(), buf.remaining());
        let read = Pin::new(&mut *self.stream.borrow_mut()).poll_read(cx, buf);
        match &read {
            Poll::Ready(Ok(())) => {
                let bytes = buf.filled().len() - before;
                self.arrivals.read(bytes < room);
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.arrivals.idle(cx.waker()),
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.borrow().is_write_vectored()
    }
}
