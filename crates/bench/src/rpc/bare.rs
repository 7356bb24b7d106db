//! The bytes alone: what sockets, or threads, cost without anything on top.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};

use super::case::{REQUEST_BYTES, RESPONSE_BYTES};
use super::pair::{REQUEST, ServerSide};
use super::tally::{CallFigures, Tally};

/// Bytes of a read.
const READ_BYTES: usize = 256 << 10;
const RESPONSE: [u8; RESPONSE_BYTES] = [b'r'; RESPONSE_BYTES];

/// A connected socket.
trait Socket: Read + Write + AsFd {}

impl Socket for TcpStream {}
impl Socket for UnixStream {}

/// A socket that is listened on.
enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener, String),
}

impl Listening {
    fn on(at: &str) -> io::Result<Listening> {
        match at.strip_prefix("unix:") {
            Some(path) => Ok(Listening::Unix(UnixListener::bind(path)?, at.to_owned())),
            None => Ok(Listening::Tcp(TcpListener::bind(at)?)),
        }
    }

    fn address(&self) -> io::Result<String> {
        match self {
            Listening::Tcp(listener) => Ok(listener.local_addr()?.to_string()),
            Listening::Unix(_, at) => Ok(at.clone()),
        }
    }

    fn accept(&self) -> io::Result<Box<dyn Socket>> {
        match self {
            Listening::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            Listening::Unix(listener, _) => Ok(Box::new(listener.accept()?.0)),
        }
    }
}

fn dial(at: &str) -> io::Result<Box<dyn Socket>> {
    if let Some(path) = at.strip_prefix("unix:") {
        return Ok(Box::new(UnixStream::connect(path)?));
    }
    let stream = TcpStream::connect(at)?;
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// Answers one request after the other.
///
/// # Errors
/// When the socket fails.
pub fn answer_each(at: &str, side: ServerSide<String>) -> io::Result<()> {
    let listening = Listening::on(at)?;
    side.serves(listening.address()?);
    let mut socket = listening.accept()?;
    let mut request = [0; REQUEST_BYTES];
    loop {
        match socket.read_exact(&mut request) {
            Ok(()) => socket.write_all(&RESPONSE)?,
            Err(error) if has_ended(&error) => return Ok(()),
            failed => failed?,
        }
    }
}

/// That the client has ended.
fn has_ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

/// Asks one after the other.
///
/// # Errors
/// When the socket fails.
pub fn ask_each(at: &str, tally: &Tally) -> io::Result<Option<CallFigures>> {
    let mut socket = dial(at)?;
    let mut response = RESPONSE;
    loop {
        let began = Instant::now();
        socket.write_all(&REQUEST)?;
        socket.read_exact(&mut response)?;
        if !tally.add(began) {
            return Ok(tally.figures());
        }
    }
}

/// Both ways between two threads.
pub type Queues = (Sender<Bytes>, Receiver<[u8; RESPONSE_BYTES]>);

/// Answers one request of another thread after the other.
///
/// # Errors
/// None; as those over sockets.
pub fn answer_queue(side: ServerSide<Queues>) -> io::Result<()> {
    let (requests, taken) = channel::<Bytes>();
    let (responses, answers) = channel();
    side.serves((requests, answers));
    while taken.recv().is_ok() {
        if responses.send(RESPONSE).is_err() {
            break;
        }
    }
    Ok(())
}

/// Asks another thread one after the other.
///
/// # Errors
/// When the thread has ended.
pub fn ask_queue((requests, answers): &Queues, tally: &Tally) -> io::Result<Option<CallFigures>> {
    loop {
        let began = Instant::now();
        requests.send(REQUEST).map_err(io::Error::other)?;
        answers.recv().map_err(io::Error::other)?;
        if !tally.add(began) {
            return Ok(tally.figures());
        }
    }
}

/// Requests that are outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outstanding {
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Connections.
    pub connections: usize,
    /// Requests on each without an answer.
    pub depth: usize,
}

/// A connection that is read as it comes.
struct Reading {
    socket: Box<dyn Socket>,
    /// Bytes of the next request or response that were read.
    bytes: usize,
}

impl Reading {
    fn new(socket: Box<dyn Socket>) -> Reading {
        Reading { socket, bytes: 0 }
    }

    /// How many of this length are complete; none where nothing more comes.
    fn read(&mut self, buffer: &mut [u8], length: usize) -> io::Result<Option<usize>> {
        match self.socket.read(buffer) {
            Ok(0) => Ok(None),
            Ok(count) => {
                self.bytes += count;
                let whole = self.bytes / length;
                self.bytes %= length;
                Ok(Some(whole))
            }
            Err(error) if has_ended(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Answers as many requests at once as have come.
///
/// # Errors
/// When a socket fails.
pub fn answer(at: &str, shape: Outstanding, side: ServerSide<String>) -> io::Result<()> {
    let listening = Listening::on(at)?;
    side.serves(listening.address()?);
    let accepted = (0..shape.connections).map(|_| listening.accept().map(Reading::new));
    let mut all: Vec<Reading> = accepted.collect::<io::Result<_>>()?;
    let mut buffer = vec![0; READ_BYTES];
    let responses = vec![b'r'; RESPONSE_BYTES * shape.depth];
    loop {
        for number in readable(&all)? {
            let Some(one) = all.get_mut(number) else {
                continue;
            };
            let Some(whole) = one.read(&mut buffer, shape.request_bytes)? else {
                // All end together.
                return Ok(());
            };
            match one.socket.write_all(&responses[..whole * RESPONSE_BYTES]) {
                Err(error) if has_ended(&error) => return Ok(()),
                written => written?,
            }
        }
    }
}

/// Asks as many again at once as were answered.
///
/// # Errors
/// When a socket fails.
pub fn ask(at: &str, shape: Outstanding, tally: &Tally) -> io::Result<Option<CallFigures>> {
    let dialed = (0..shape.connections).map(|_| dial(at).map(Reading::new));
    let mut all: Vec<Reading> = dialed.collect::<io::Result<_>>()?;
    let requests = vec![b'q'; shape.request_bytes * shape.depth];
    let mut outstanding: Vec<VecDeque<Instant>> = Vec::new();
    for one in &mut all {
        outstanding.push((0..shape.depth).map(|_| Instant::now()).collect());
        one.socket.write_all(&requests)?;
    }
    let mut buffer = vec![0; READ_BYTES];
    loop {
        for number in readable(&all)? {
            let (Some(one), Some(waiting)) = (all.get_mut(number), outstanding.get_mut(number))
            else {
                continue;
            };
            let Some(whole) = one.read(&mut buffer, RESPONSE_BYTES)? else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            for began in waiting.drain(..whole.min(waiting.len())) {
                if !tally.add(began) {
                    return Ok(tally.figures());
                }
            }
            let now = Instant::now();
            waiting.extend((0..whole).map(|_| now));
            one.socket
                .write_all(&requests[..whole * shape.request_bytes])?;
        }
    }
}

/// The connections that can be read. One alone is read, and waited for by that.
fn readable(all: &[Reading]) -> io::Result<Vec<usize>> {
    if all.len() == 1 {
        return Ok(vec![0]);
    }
    let flags = PollFlags::IN;
    let polled = all
        .iter()
        .map(|one| PollFd::from_borrowed_fd(one.socket.as_fd(), flags));
    let mut polled: Vec<PollFd<'_>> = polled.collect();
    poll(&mut polled, None)?;
    let ready = polled.iter().enumerate();
    let ready = ready.filter(|(_, polled)| !polled.revents().is_empty());
    Ok(ready.map(|(number, _)| number).collect())
}
