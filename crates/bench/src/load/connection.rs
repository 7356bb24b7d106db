//! One kept-alive connection with at most one request outstanding.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::protocol::{Malformed, Progress, Protocol, Verdict};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const READ_LENGTH: usize = 16 * 1024;

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The socket failed.
    #[error("{0}")]
    Socket(#[from] io::Error),
    /// The server closed it.
    #[error("the server closed the connection")]
    Closed,
    /// The answer was not understood.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A connection and what it is waiting for.
#[derive(Debug)]
pub struct Connection<E> {
    address: SocketAddr,
    stream: TcpStream,
    exchange: E,
    out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    filled: usize,
    /// When the outstanding request was meant to start; `None` when there is none.
    pub intended_ns: Option<u64>,
    /// How many requests were started.
    pub sequence: u64,
}

impl<E: Default> Connection<E> {
    /// Connects.
    ///
    /// # Errors
    /// When the server cannot be reached within two seconds.
    pub fn open<P: Protocol<Exchange = E>>(address: SocketAddr, protocol: &P) -> io::Result<Self> {
        let mut connection = Connection {
            address,
            stream: dial(address)?,
            exchange: E::default(),
            out: Vec::new(),
            sent: 0,
            input: vec![0; READ_LENGTH],
            filled: 0,
            intended_ns: None,
            sequence: 0,
        };
        protocol.greeting(&mut connection.exchange, &mut connection.out);
        Ok(connection)
    }

    /// Replaces a broken socket; whatever was outstanding is forgotten.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn reopen<P: Protocol<Exchange = E>>(&mut self, protocol: &P) -> io::Result<()> {
        self.stream = dial(self.address)?;
        self.out.clear();
        self.sent = 0;
        self.filled = 0;
        self.intended_ns = None;
        protocol.greeting(&mut self.exchange, &mut self.out);
        Ok(())
    }

    /// The socket, to be watched.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Puts the next request into the output; false when the workload has no more.
    pub fn ask<P: Protocol<Exchange = E>>(&mut self, protocol: &mut P, intended_ns: u64) -> bool {
        if !protocol.request(&mut self.exchange, &mut self.out) {
            return false;
        }
        self.intended_ns = Some(intended_ns);
        self.sequence += 1;
        true
    }

    /// Writes what is waiting; true when nothing is left.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn flush(&mut self) -> Result<bool, Broken> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(0) => return Err(Broken::Closed),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Reads what came; the verdict once the answer is complete.
    ///
    /// # Errors
    /// When the socket fails, closes, or says what the protocol does not know.
    pub fn receive<P: Protocol<Exchange = E>>(
        &mut self,
        protocol: &mut P,
    ) -> Result<Option<Verdict>, Broken> {
        if self.filled == self.input.len() {
            self.input.resize(self.input.len() * 2, 0);
        }
        let count = match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return Err(Broken::Closed),
            Ok(count) => count,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        self.filled += count;
        let waiting = self.out.len();
        let progress = protocol.response(
            &mut self.exchange,
            &self.input[..self.filled],
            &mut self.out,
        )?;
        let (consumed, verdict) = match progress {
            Progress::Incomplete { consumed } => (consumed, None),
            Progress::Complete { consumed, verdict } => (consumed, Some(verdict)),
        };
        self.input.copy_within(consumed..self.filled, 0);
        self.filled -= consumed;
        if verdict.is_some() && self.intended_ns.is_none() {
            return Err(Malformed("an answer that was not asked for").into());
        }
        // The protocol's own answers go out with the next request unless none follows.
        if verdict.is_none() && self.out.len() > waiting {
            self.flush()?;
        }
        Ok(verdict)
    }
}

fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}
