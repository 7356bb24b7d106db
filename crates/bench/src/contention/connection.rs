//! One client's connection: a request, then its answer.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::load::http::Whole;

/// Longer than a server tries.
const PATIENCE: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 16 << 10;

/// A connection that is kept.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Wire {
    /// Opens one.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn open(at: SocketAddr) -> io::Result<Wire> {
        let stream = TcpStream::connect_timeout(&at, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let input = Vec::new();
        Ok(Wire { stream, input })
    }

    /// Status and body of the answer.
    ///
    /// # Errors
    /// When the connection breaks, or the answer is not HTTP.
    pub fn request(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes())?;
        loop {
            let whole =
                Whole::read(&self.input).map_err(|malformed| io::Error::other(malformed.0))?;
            if let Some(whole) = whole {
                let answer = String::from_utf8_lossy(whole.body).into_owned();
                let (status, consumed) = (whole.status, whole.consumed);
                self.input.drain(..consumed);
                return Ok((status, answer));
            }
            let mut bytes = [0; READ_BYTES];
            match self.stream.read(&mut bytes)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.input.extend_from_slice(&bytes[..read]),
            }
        }
    }
}
