//! One HTTP request on a connection of its own, for what is not measured.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Status and body of the answer.
///
/// # Errors
/// When the server cannot be reached or does not speak HTTP.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &[u8],
) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    // HTTP/1.0: the answer ends with the connection and is not chunked.
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: bench\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    parse(&answer).ok_or_else(|| io::Error::other("the answer is not HTTP"))
}

fn parse(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    Some((status.parse().ok()?, body.to_owned()))
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
