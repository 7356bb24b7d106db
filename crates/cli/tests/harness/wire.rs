//! HTTP by hand on a socket: for requests no client would send, and for load.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::answer::Answer;

/// Nothing here may take longer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One connection.
pub struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    pub fn open(port: u16) -> Wire {
        Wire::try_open(port).unwrap()
    }

    pub fn try_open(port: u16) -> io::Result<Wire> {
        Wire::try_open_at(([127, 0, 0, 1], port).into())
    }

    pub fn try_open_at(address: SocketAddr) -> io::Result<Wire> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Wire {
            stream: BufReader::with_capacity(64 << 10, stream),
        })
    }

    /// Waits no longer than this for an answer.
    pub fn patience(&mut self, patience: Duration) {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(Some(patience)).unwrap();
    }

    /// Sends bytes as they are. The server may have closed already: the answer tells.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.get_mut().write_all(bytes.as_ref());
    }

    /// Sends nothing more.
    pub fn finish(&mut self) {
        let _ = self.stream.get_ref().shutdown(Shutdown::Write);
    }

    /// One answer to what was sent, not to a `HEAD`.
    pub fn answer(&mut self) -> Answer {
        self.try_answer(false).unwrap()
    }

    /// Sends a request: see [`Answer::repeated`].
    pub fn request(&mut self, method: &str, path: &str, body: impl AsRef<[u8]>) -> Answer {
        Answer::repeated(method != "POST", || {
            self.try_request(method, path, body.as_ref()).unwrap()
        })
    }

    pub fn try_request(
        &mut self,
        method: &str,
        path: &str,
        body: impl AsRef<[u8]>,
    ) -> io::Result<Answer> {
        self.try_request_with(method, path, "", body)
    }

    /// With more headers, each ended by its line break.
    pub fn try_request_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: impl AsRef<[u8]>,
    ) -> io::Result<Answer> {
        self.try_send(method, path, headers, body)?;
        self.try_answer(method == "HEAD")
    }

    /// Sends a request and does not wait for its answer.
    pub fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: impl AsRef<[u8]>,
    ) -> io::Result<()> {
        let body = body.as_ref();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: dunlin\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request)
    }

    /// Whether the server has closed the connection, with nothing left to read.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    /// Reads `count` bytes and no more, as a slow client does.
    pub fn read_some(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Status and headers of the next answer.
    pub fn head(&mut self) -> io::Result<Answer> {
        let mut head = String::new();
        loop {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if head.ends_with("\r\n\r\n") {
                return Ok(Answer::from_head(head.trim_end()));
            }
        }
    }

    fn try_answer(&mut self, headers_only: bool) -> io::Result<Answer> {
        let mut answer = self.head()?;
        if headers_only || matches!(answer.status, 100..=199 | 204 | 304) {
            return Ok(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk()? {
                answer.body.extend_from_slice(&chunk);
                answer.chunks.push(chunk);
            }
        } else {
            let length = answer.header("content-length").expect("no length");
            answer.body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// The next chunk of a chunked body; `None` after the last.
    pub fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk)?;
        assert_eq!(&chunk[size..], b"\r\n");
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }
}
