//! What the tests of calls share.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    dead_code
)]
pub mod frames;

use bytes::Bytes;
use dunlin_rpc::transport::{Detached, Listener, LocalFuture, Plain, Stream, Transport};
use dunlin_rpc::{
    Caller, ConnectOptions, Limits, Reply, Service, TcpTransport, connect, serve_stream,
};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::mpsc;

pub const SECOND: Duration = Duration::from_secs(1);

pub type EchoService = Rc<dyn Service<Bytes, Bytes>>;
pub type EchoCaller = Caller<Bytes, Bytes>;

/// Runs a test on one thread, in real time.
pub fn local<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, limited(60, test))
}

/// A test that hangs is a test that fails.
async fn limited<T>(limit_s: u64, test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(limit_s), test)
        .await
        .expect("the test hangs")
}

/// Runs a test on one thread, in time that jumps to the next timer whenever nothing else happens.
pub fn paused<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, limited(86_400, test))
}

pub fn echo() -> EchoService {
    Rc::new(|request: Bytes, reply: Reply<Bytes>| reply.send(request))
}

/// Serves whatever connects to a free port; gives the address.
pub async fn serve(service: EchoService, limits: Limits) -> String {
    serve_at("127.0.0.1:0", service, limits).await
}

pub async fn serve_at(addr: &str, service: EchoService, limits: Limits) -> String {
    let mut listener = TcpTransport.listen(addr).await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let serving = serve_stream(
                stream,
                service.clone(),
                |hello| hello == b"echo",
                limits.clone(),
            );
            tokio::task::spawn_local(serving);
        }
    });
    addr
}

pub async fn caller(addr: &str, options: ConnectOptions) -> EchoCaller {
    let caller = connect(
        Arc::new(TcpTransport),
        addr,
        Bytes::from_static(b"echo"),
        options,
    );
    caller.connected().await;
    caller
}

/// A transport whose streams are pipes in memory; the far ends come out of the receiver.
pub struct Pipes {
    far_ends: mpsc::UnboundedSender<DuplexStream>,
    flip: Option<Arc<Flip>>,
}

/// The byte to damage: how many bytes pass unharmed first, in one direction.
pub struct Flip {
    pub incoming: bool,
    pub bit: u8,
    pub countdown: AtomicI64,
}

impl Flip {
    fn damage(&self, bytes: &mut [u8]) {
        let before = self
            .countdown
            .fetch_sub(bytes.len() as i64, Ordering::Relaxed);
        if let Some(byte) = usize::try_from(before)
            .ok()
            .and_then(|at| bytes.get_mut(at))
        {
            *byte ^= 1 << self.bit;
        }
    }
}

impl Pipes {
    pub fn new(flip: Option<Arc<Flip>>) -> (Arc<Self>, mpsc::UnboundedReceiver<DuplexStream>) {
        let (far_ends, receiver) = mpsc::unbounded_channel();
        (Arc::new(Self { far_ends, flip }), receiver)
    }
}

impl Transport for Pipes {
    fn connect<'a>(&'a self, _: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            let (near, far) = duplex(1 << 16);
            self.far_ends.send(far).map_err(io::Error::other)?;
            match self.flip.clone() {
                None => Ok(Box::new(Plain(near)) as Box<dyn Stream>),
                Some(flip) => Ok(Box::new(Flipped { stream: near, flip }) as Box<dyn Stream>),
            }
        })
    }

    fn listen<'a>(&'a self, _: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

/// A stream that damages one byte.
struct Flipped {
    stream: DuplexStream,
    flip: Arc<Flip>,
}

impl Stream for Flipped {
    fn detach(self: Box<Self>) -> io::Result<Detached> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl AsyncRead for Flipped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if self.flip.incoming {
            self.flip.damage(&mut buf.filled_mut()[before..]);
        }
        read
    }
}

impl AsyncWrite for Flipped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.flip.incoming {
            return Pin::new(&mut self.stream).poll_write(cx, buf);
        }
        // One byte at a time, so that what is damaged is also what is written.
        let mut byte = [buf[0]];
        let before = self.flip.countdown.load(Ordering::Relaxed);
        self.flip.damage(&mut byte);
        let written = Pin::new(&mut self.stream).poll_write(cx, &byte);
        if !matches!(written, Poll::Ready(Ok(1))) {
            self.flip.countdown.store(before, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
