//! The paper's probe: a unique key is written at one node and polled at both until both have it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::load::http::Whole;

/// How often both nodes are asked.
const POLL: Duration = Duration::from_millis(2);
/// One that is not there by then counts with this.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks so many nodes again and again until all have what was written at `begun`; how long that took.
///
/// # Errors
/// When a node does not answer.
pub fn until_all(
    nodes: usize,
    begun: Instant,
    mut has: impl FnMut(usize) -> std::io::Result<bool>,
) -> std::io::Result<Duration> {
    let mut waits: Vec<usize> = (0..nodes).collect();
    while !waits.is_empty() && begun.elapsed() < PATIENCE {
        let mut left = Vec::new();
        for node in waits {
            if !has(node)? {
                left.push(node);
            }
        }
        waits = left;
        if !waits.is_empty() {
            std::thread::sleep(POLL);
        }
    }
    Ok(begun.elapsed())
}

/// A connection to each node.
pub struct Probe {
    streams: Vec<(TcpStream, Vec<u8>)>,
    number: u64,
}

impl Probe {
    /// # Errors
    /// When a node cannot be reached.
    pub fn new(nodes: &[SocketAddr]) -> std::io::Result<Probe> {
        let mut streams = Vec::new();
        for node in nodes {
            let stream = TcpStream::connect(node)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            streams.push((stream, Vec::new()));
        }
        Ok(Probe { streams, number: 0 })
    }

    /// From the write of a key at one of the nodes until both have it.
    ///
    /// # Errors
    /// When a node does not answer.
    pub fn once(&mut self) -> std::io::Result<Duration> {
        self.number += 1;
        let key = format!("probe-{:016}", self.number);
        let at = (self.number % self.streams.len() as u64) as usize;
        let value = "p".repeat(super::VALUE_BYTES);
        let begun = Instant::now();
        let put = format!(
            "PUT /v0/entity?id={key}&ack=1&from=2 HTTP/1.1\r\nHost: bench\r\nContent-Length: {}\r\n\r\n{value}",
            value.len()
        );
        self.ask(at, &put)?;
        let get = format!("GET /v0/entity?id={key}&ack=1&from=2 HTTP/1.1\r\nHost: bench\r\n\r\n");
        until_all(self.streams.len(), begun, |node| {
            Ok(self.ask(node, &get)? == 200)
        })
    }

    fn ask(&mut self, node: usize, request: &str) -> std::io::Result<u16> {
        let (stream, input) = &mut self.streams[node];
        stream.write_all(request.as_bytes())?;
        loop {
            let whole = Whole::read(input).map_err(|e| std::io::Error::other(e.0))?;
            if let Some(whole) = whole {
                let (status, consumed) = (whole.status, whole.consumed);
                input.drain(..consumed);
                return Ok(status);
            }
            let mut bytes = [0; 16 << 10];
            match stream.read(&mut bytes)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => input.extend_from_slice(&bytes[..count]),
            }
        }
    }
}
