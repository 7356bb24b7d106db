//! What a cell is run against: Dunlin, or Redis with a replica beside it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::probe::{PATIENCE, Probe, until_all};
use super::stream::{self, Shared, Told};
use crate::cluster::http;
use crate::load::redis_stream;

/// Entries that a client of Redis takes at a time.
const XREAD_COUNT: usize = 256;

/// From a write until it is there on both nodes.
pub type Probing = Box<dyn FnMut() -> std::io::Result<Duration> + Send>;

/// A system of two nodes.
pub trait System: Sync {
    /// Follows a node from the beginning, until it has been told all keys of a tag.
    ///
    /// # Errors
    /// When the node cannot be reached or breaks off.
    fn follow(&self, node: SocketAddr, tag: u8, shared: &Shared) -> std::io::Result<Told>;

    /// The paper's probe.
    ///
    /// # Errors
    /// When a node cannot be reached.
    fn probe(&self, nodes: &[SocketAddr]) -> std::io::Result<Probing>;

    /// Entries that a replica has yet to acknowledge, and bytes of entries sent a second, where it tells.
    fn remaining(&self, node: SocketAddr) -> Option<(u64, u64)>;
}

/// Dunlin.
pub struct Dunlin;

impl System for Dunlin {
    fn follow(&self, node: SocketAddr, tag: u8, shared: &Shared) -> std::io::Result<Told> {
        stream::follow(node, tag, shared)
    }

    fn probe(&self, nodes: &[SocketAddr]) -> std::io::Result<Probing> {
        let mut probe = Probe::new(nodes)?;
        Ok(Box::new(move || probe.once()))
    }

    fn remaining(&self, node: SocketAddr) -> Option<(u64, u64)> {
        let Ok((200, body)) = http::request(node, "GET", "/v1/status", b"") else {
            return None;
        };
        let status: serde_json::Value = serde_json::from_str(&body).ok()?;
        let followers = status["followers"].as_array()?;
        let sum = |name: &str| followers.iter().filter_map(|f| f[name].as_u64()).sum();
        Some((sum("items_remaining"), sum("bytes_per_s")))
    }
}

/// Redis: a stream, of which clients read at the primary and at the replica.
pub struct Redis;

impl System for Redis {
    fn follow(&self, node: SocketAddr, tag: u8, shared: &Shared) -> std::io::Result<Told> {
        let mut client = RedisClient::new(node)?;
        let (mut told, mut last) = (stream::Ticks::new(tag), "0-0".to_owned());
        loop {
            let name = redis_stream::NAME;
            client.send(&format!(
                "XREAD COUNT {XREAD_COUNT} BLOCK 200 STREAMS {name} {last}\r\n"
            ))?;
            client.entries(&mut last, &mut told)?;
            if told.is_done(shared) {
                return Ok(told.told());
            }
        }
    }

    fn probe(&self, nodes: &[SocketAddr]) -> std::io::Result<Probing> {
        let clients = nodes.iter().map(|node| RedisClient::new(*node));
        let mut clients = clients.collect::<std::io::Result<Vec<_>>>()?;
        let mut number = 0;
        let value = "p".repeat(super::VALUE_BYTES);
        Ok(Box::new(move || {
            number += 1;
            let begun = Instant::now();
            clients[0].send(&format!("SET probe-{number:016} {value}\r\n"))?;
            clients[0].line()?;
            until_all(clients.len(), begun, |node| {
                clients[node].send(&format!("GET probe-{number:016}\r\n"))?;
                Ok(clients[node].bulk()?.is_some())
            })
        }))
    }

    fn remaining(&self, _: SocketAddr) -> Option<(u64, u64)> {
        None
    }
}

/// A connection to Redis.
struct RedisClient {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
    bulk: Vec<u8>,
    /// Bytes read.
    bytes: u64,
}

impl RedisClient {
    fn new(node: SocketAddr) -> std::io::Result<RedisClient> {
        let stream = TcpStream::connect(node)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(RedisClient {
            stream: BufReader::with_capacity(256 << 10, stream),
            line: Vec::new(),
            bulk: Vec::new(),
            bytes: 0,
        })
    }

    fn send(&mut self, request: &str) -> std::io::Result<()> {
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// The next line: its kind, and the number in it where there is one.
    fn line(&mut self) -> std::io::Result<(u8, i64)> {
        self.line.clear();
        self.bytes += self.stream.read_until(b'\n', &mut self.line)? as u64;
        let wrong = || std::io::Error::other("an answer that is none of Redis'");
        let text = self.line.strip_suffix(b"\r\n").ok_or_else(wrong)?;
        let (kind, rest) = text.split_first().ok_or_else(wrong)?;
        let number = std::str::from_utf8(rest)
            .ok()
            .and_then(|text| text.parse().ok());
        match kind {
            b'-' => Err(std::io::Error::other(
                String::from_utf8_lossy(rest).into_owned(),
            )),
            kind => Ok((*kind, number.unwrap_or(0))),
        }
    }

    /// The next string, whatever it is; `None` for none.
    fn bulk(&mut self) -> std::io::Result<Option<&[u8]>> {
        let (_, length) = self.line()?;
        let Ok(length) = usize::try_from(length) else {
            return Ok(None);
        };
        self.bulk.resize(length + 2, 0);
        self.stream.read_exact(&mut self.bulk)?;
        self.bytes += self.bulk.len() as u64;
        Ok(Some(&self.bulk[..length]))
    }

    /// The answer to `XREAD` of one stream.
    fn entries(&mut self, last: &mut String, told: &mut stream::Ticks) -> std::io::Result<()> {
        let (_, streams) = self.line()?;
        // Nothing came in time.
        if streams < 1 {
            return Ok(());
        }
        self.line()?;
        self.bulk()?;
        let (_, entries) = self.line()?;
        for _ in 0..entries {
            self.line()?;
            if let Some(id) = self.bulk()? {
                *last = String::from_utf8_lossy(id).into_owned();
            }
            self.line()?;
            let key = self.bulk()?;
            let number = key.and_then(|key| told.number(key));
            let has_value = self.bulk()?.is_some_and(|value| !value.is_empty());
            if let Some(number) = number.filter(|_| has_value) {
                told.tick(number);
            }
        }
        told.set_bytes(self.bytes);
        Ok(())
    }
}
