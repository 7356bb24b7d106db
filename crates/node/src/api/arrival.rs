//! A client's connection, watched for what waited in its socket while the event loop stood still, and
//! for a client that does not take its answers.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::pace::Pace;
use crate::doors::Doors;
use crate::limits::TAKE_TIME;
use crate::shard::Arrivals;

/// A stream that says what it reads to its [`Arrivals`].
pub(super) struct Watched {
    /// Also held by whoever ends the connection, once nobody reads here any more.
    stream: Rc<RefCell<TcpStream>>,
    arrivals: Rc<Arrivals>,
    doors: Arc<Doors>,
    /// There while the client takes less than there is for it.
    behind: Option<Behind>,
}

/// How much the client takes, and when that is judged.
struct Behind {
    pace: Pace,
    alarm: Pin<Box<Sleep>>,
}

impl Watched {
    pub fn new(
        stream: Rc<RefCell<TcpStream>>,
        arrivals: Rc<Arrivals>,
        doors: Arc<Doors>,
    ) -> Watched {
        Watched {
            stream,
            arrivals,
            doors,
            behind: None,
        }
    }

    /// Gives up a client that takes nothing of its answer, or next to nothing.
    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                let is_kept = self.behind.as_mut().is_some_and(|behind| {
                    behind.pace.passed(bytes);
                    behind.pace.is_kept()
                });
                if is_kept {
                    self.behind = None;
                }
                written
            }
            Poll::Ready(Err(_)) => written,
            Poll::Pending => {
                let behind = self.behind.get_or_insert_with(|| {
                    let pace = Pace::begin(Instant::now(), TAKE_TIME);
                    let alarm = Box::pin(sleep_until(pace.until()));
                    Behind { pace, alarm }
                });
                if behind.alarm.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.doors.slow_readers.fetch_add(1, Relaxed);
                Poll::Ready(Err(ErrorKind::TimedOut.into()))
            }
        }
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
        let this = self.get_mut();
        let written = Pin::new(&mut *this.stream.borrow_mut()).poll_write(cx, buf);
        this.judge(cx, written)
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
        let this = self.get_mut();
        let written = Pin::new(&mut *this.stream.borrow_mut()).poll_write_vectored(cx, bufs);
        this.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.borrow().is_write_vectored()
    }
}
