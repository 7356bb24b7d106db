//! A connection between sender and receiver: TCP, or two queues inside the process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dunlin_secret::Guard;

use super::frame::{self, Frame};
use super::guarded::{self, Failed};
use super::hello;
use super::message::kind;
use super::refusal;
use crate::CopyError;
use crate::gate::{Gate, HUGE_BYTES, LARGE_BYTES, Permit};

/// Frames that wait in a queue inside the process.
const QUEUED_FRAMES: usize = 2;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection says within this who opened it.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);
/// A peer that neither sends nor takes bytes for this long is given up.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How often a receiver says that it is still at it.
pub(crate) const BUSY_EVERY: Duration = Duration::from_secs(5);
/// How long a sender may have nothing to send: it may wait for its own disk.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    peer: String,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Tcp {
        stream: TcpStream,
        gate: Gate,
    },
    Local {
        send: SyncSender<Passed>,
        receive: Receiver<Passed>,
        /// What the other end has not done with yet, when it is huge.
        huge: Gate,
        /// After the queues, whose end lets it end.
        answerer: Option<Answerer>,
    },
}

/// A frame on its way inside the process, and the right to hold it when it is huge.
type Passed = (Frame, Option<Permit>);

/// The thread that answers at the other end. It may have a database open, which must be closed
/// before the process ends.
#[derive(Debug)]
struct Answerer(Option<JoinHandle<()>>);

impl Drop for Answerer {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic in it has been told to the sender by the queue's end.
            drop(thread.join());
        }
    }
}

/// A frame, and the right to hold it when it is large.
pub(crate) struct Received {
    pub kind: u8,
    pub body: Vec<u8>,
    _permit: Option<Permit>,
}

impl Link {
    /// Connects to a receiver.
    pub fn connect(address: &str, gate: &Gate, guard: &Guard) -> Result<Link, CopyError> {
        let lost = |error: std::io::Error| CopyError::Lost {
            peer: address.to_owned(),
            detail: error.to_string(),
        };
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(lost)?.collect();
        let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "no such host");
        for at in &addresses {
            match TcpStream::connect_timeout(at, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    let mut link = Link::tcp(stream, address, gate, SILENCE_MAX).map_err(lost)?;
                    if let Inner::Tcp { stream, .. } = &mut link.inner {
                        guarded::prove(&mut Within::new(stream), guard)
                            .map_err(|failed| untrusted(failed, address))?;
                        let silence = Some(SILENCE_MAX);
                        stream.set_read_timeout(silence).map_err(lost)?;
                        stream.set_write_timeout(silence).map_err(lost)?;
                        hello::open(stream, address)?;
                    }
                    return Ok(link);
                }
                Err(error) => last = error,
            }
        }
        Err(lost(last))
    }

    /// Takes a connection that a sender opened.
    pub fn accept(
        stream: TcpStream,
        peer: &str,
        gate: &Gate,
        guard: &Guard,
    ) -> Result<Link, CopyError> {
        let lost = |error: std::io::Error| CopyError::Lost {
            peer: peer.to_owned(),
            detail: error.to_string(),
        };
        let mut link = Link::tcp(stream, peer, gate, SILENCE_MAX).map_err(lost)?;
        if let Inner::Tcp { stream, .. } = &mut link.inner {
            let first = guarded::admit(&mut Within::new(stream), guard)
                .map_err(|failed| untrusted(failed, peer))?;
            stream.set_write_timeout(Some(SILENCE_MAX)).map_err(lost)?;
            hello::accept(stream, first, peer)?;
            stream.set_read_timeout(Some(IDLE_MAX)).map_err(lost)?;
        }
        Ok(link)
    }

    fn tcp(
        stream: TcpStream,
        peer: &str,
        gate: &Gate,
        read_timeout: Duration,
    ) -> std::io::Result<Link> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(read_timeout))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        Ok(Link {
            peer: peer.to_owned(),
            inner: Inner::Tcp {
                stream,
                gate: gate.clone(),
            },
        })
    }

    /// Two ends of a connection inside this process.
    pub fn pair(peer: &str) -> (Link, Link) {
        let (near_send, far_receive) = sync_channel(QUEUED_FRAMES);
        let (far_send, near_receive) = sync_channel(QUEUED_FRAMES);
        let link = |send, receive| Link {
            peer: peer.to_owned(),
            inner: Inner::Local {
                send,
                receive,
                huge: Gate::default(),
                answerer: None,
            },
        };
        (link(near_send, near_receive), link(far_send, far_receive))
    }

    /// Makes the end of this link wait for the end of the thread at its other end.
    pub fn answered_by(mut self, thread: JoinHandle<()>) -> Link {
        if let Inner::Local { answerer, .. } = &mut self.inner {
            *answerer = Some(Answerer(Some(thread)));
        }
        self
    }

    /// Whether the other end is another process.
    fn is_remote(&self) -> bool {
        matches!(self.inner, Inner::Tcp { .. })
    }

    /// Sends a frame; answers how many bytes it took.
    pub fn send(&mut self, kind: u8, body: Vec<u8>) -> Result<usize, CopyError> {
        match &mut self.inner {
            Inner::Tcp { stream, .. } => {
                let sent = frame::write(stream, kind, &body);
                sent.map_err(|error| self.lost(&error.to_string()))
            }
            Inner::Local { send, huge, .. } => {
                let bytes = body.len();
                let is_huge = bytes > HUGE_BYTES;
                let permit = is_huge.then(|| huge.wait());
                let sent = send.send((Frame { kind, body }, permit));
                if is_huge {
                    // Until the other end has done with it nobody makes another.
                    drop(huge.wait());
                }
                sent.map_err(|_| self.lost("closed"))?;
                Ok(bytes)
            }
        }
    }

    /// The next frame.
    pub fn receive(&mut self) -> Result<Received, CopyError> {
        let (frame, permit) = match &mut self.inner {
            Inner::Tcp { stream, gate } => {
                let read = frame::read_head(stream).and_then(|head| {
                    // The checksum of the head comes with the body; until then the length is
                    // only a claim, and the largest of claims costs no more than one at a time.
                    let permit = (head.body_bytes > LARGE_BYTES).then(|| gate.wait());
                    Ok((frame::read_body(stream, &head)?, permit))
                });
                read.map_err(|error| self.lost(&said(&error)))?
            }
            Inner::Local { receive, .. } => {
                let received = receive.recv();
                received.map_err(|_| self.lost("closed"))?
            }
        };
        Ok(Received {
            kind: frame.kind,
            body: frame.body,
            _permit: permit,
        })
    }

    /// The answer to what was sent: of kind `expected`, or the receiver's refusal.
    pub fn answer(&mut self, expected: u8) -> Result<Vec<u8>, CopyError> {
        loop {
            let received = self.receive()?;
            match received.kind {
                kind::BUSY => {}
                kind::REFUSED => {
                    let address = self.is_remote().then_some(self.peer.as_str());
                    let said = refusal::decode(&received.body, address);
                    return Err(said.unwrap_or_else(|_| self.out_of_turn(kind::REFUSED)));
                }
                kind if kind == expected => return Ok(received.body),
                other => return Err(self.out_of_turn(other)),
            }
        }
    }

    /// A second handle that says [`kind::BUSY`] while the first works; none is needed inside a
    /// process, where nobody loses patience.
    pub fn reminder(&self) -> Option<TcpStream> {
        match &self.inner {
            Inner::Tcp { stream, .. } => stream.try_clone().ok(),
            Inner::Local { .. } => None,
        }
    }

    /// Nothing more will be sent; what the peer still sends is thrown away, so that it can read
    /// what was said last.
    pub fn close(mut self) {
        if let Inner::Tcp { stream, .. } = &mut self.inner {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.set_read_timeout(Some(SILENCE_MAX));
            let _ = std::io::copy(stream, &mut std::io::sink());
        }
    }

    /// The error of a frame that has no place here.
    pub fn out_of_turn(&self, kind: u8) -> CopyError {
        CopyError::Protocol {
            peer: self.peer.clone(),
            detail: format!("sent a message of kind {kind} out of turn"),
        }
    }

    fn lost(&self, detail: &str) -> CopyError {
        CopyError::Lost {
            peer: self.peer.clone(),
            detail: detail.to_owned(),
        }
    }
}

fn untrusted(failed: Failed, peer: &str) -> CopyError {
    let peer = peer.to_owned();
    match failed {
        Failed::Refused(refusal) => CopyError::Untrusted { peer, refusal },
        Failed::Io(error) => CopyError::Lost {
            peer,
            detail: said(&error),
        },
    }
}

/// A stream that must be done with what is read and written through it within some seconds, in
/// however small pieces it comes.
struct Within<'a> {
    stream: &'a mut TcpStream,
    end: Instant,
}

impl<'a> Within<'a> {
    fn new(stream: &'a mut TcpStream) -> Within<'a> {
        let end = Instant::now() + OPENING_TIMEOUT;
        Within { stream, end }
    }

    fn left(&self) -> std::io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(std::io::ErrorKind::TimedOut.into())
        } else {
            Ok(Some(left))
        }
    }
}

impl Read for Within<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Within<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

fn said(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "closed".to_owned(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
            "nothing was heard for too long".to_owned()
        }
        _ => error.to_string(),
    }
}
