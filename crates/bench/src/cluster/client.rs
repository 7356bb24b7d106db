//! A connection that is kept: requests, and answers with a length or in chunks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    /// # Errors
    /// When the node cannot be reached.
    pub fn new(node: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(node)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Client {
            stream: BufReader::with_capacity(64 << 10, stream),
            body: Vec::new(),
        })
    }

    /// Status and body of the answer.
    ///
    /// # Errors
    /// When there is none.
    pub fn request(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<(u16, &[u8])> {
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Length: {length}\r\n\r\n");
        self.stream
            .get_mut()
            .write_all(&[head.as_bytes(), body].concat())?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<(u16, &[u8])> {
        let malformed = || io::Error::other("the answer is not HTTP");
        let status = self.line()?;
        let status = status
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or_else(malformed)?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| malformed())?;
            }
            is_chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
        }
        self.body.clear();
        if !is_chunked {
            self.take(length)?;
            return Ok((status, &self.body));
        }
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(|_| malformed())?;
            self.take(size)?;
            self.line()?;
            if size == 0 {
                return Ok((status, &self.body));
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    fn take(&mut self, length: usize) -> io::Result<()> {
        let begin = self.body.len();
        self.body.resize(begin + length, 0);
        self.stream.read_exact(&mut self.body[begin..])
    }
}
