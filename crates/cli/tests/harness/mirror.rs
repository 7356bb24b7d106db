//! A client of change streams that keeps what a careful one would: what was told, up to the last token, in one step
//! with it. What came behind that is lost when its connection breaks.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::answer::Answer;
use super::wire::Wire;

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    partition: u64,
    rank: String,
    /// None where it is gone.
    value: Option<Vec<u8>>,
}

/// The client.
#[derive(Debug, Clone)]
pub struct Mirror {
    keyspace: String,
    /// Where it goes on.
    pub from: String,
    held: BTreeMap<Vec<u8>, Held>,
    open: Vec<Value>,
    /// Changes that were told.
    pub changes: usize,
    /// Snapshots that began: all, and those that say that what they do not name is gone.
    pub snapshots: (usize, usize),
}

impl Mirror {
    /// From the beginning.
    pub fn new(keyspace: &str) -> Mirror {
        Mirror {
            keyspace: keyspace.to_owned(),
            from: "beginning".to_owned(),
            held: BTreeMap::new(),
            open: Vec::new(),
            changes: 0,
            snapshots: (0, 0),
        }
    }

    /// Follows one node until the stream ends; why it ended, if it said so.
    pub fn follow(&mut self, node: SocketAddr, query: &str) -> io::Result<Option<String>> {
        self.follow_until(node, query, || false)
    }

    /// The same, until `is_over` after a line.
    pub fn follow_until(
        &mut self,
        node: SocketAddr,
        query: &str,
        mut is_over: impl FnMut() -> bool,
    ) -> io::Result<Option<String>> {
        self.open.clear();
        let mut wire = Wire::try_open_at(node)?;
        let path = format!(
            "/v1/keyspaces/{}/changes?from={}{query}",
            self.keyspace, self.from
        );
        wire.try_send("GET", &path, "", b"")?;
        let head: Answer = wire.head()?;
        if head.status != 200 {
            return Err(io::Error::other(format!("status {}", head.status)));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = wire.chunk()? {
            bytes.extend_from_slice(&chunk);
            while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
                let line: Value = serde_json::from_slice(&bytes[..at]).map_err(io::Error::other)?;
                bytes.drain(..=at);
                let reason = line["reason"].as_str().map(str::to_owned);
                self.take(line);
                if reason.is_some() {
                    return Ok(reason);
                }
                if is_over() {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    fn take(&mut self, line: Value) {
        let token = line["token"].as_str().map(str::to_owned);
        self.open.push(line);
        let Some(token) = token else { return };
        self.from = token;
        for line in std::mem::take(&mut self.open) {
            self.keep(&line);
        }
    }

    fn keep(&mut self, line: &Value) {
        match line["event"].as_str().unwrap() {
            "change" => {}
            "snapshot_begins" => {
                self.snapshots.0 += 1;
                if line["scope"] == "complete" {
                    self.snapshots.1 += 1;
                    let partition = line["partition"].as_u64().unwrap();
                    self.held.retain(|_, held| held.partition != partition);
                }
                return;
            }
            _ => return,
        }
        self.changes += 1;
        let held = Held {
            partition: line["partition"].as_u64().unwrap(),
            rank: line["rank"].as_str().unwrap().to_owned(),
            value: bytes(line, "value"),
        };
        assert_eq!(held.value.is_none(), line["absent"].is_string(), "{line}");
        let key = bytes(line, "key").unwrap();
        let before = self.held.get(&key);
        if before.is_none_or(|before| before.rank < held.rank) {
            self.held.insert(key, held);
        }
    }

    /// All keys that have a value.
    pub fn values(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let held = self.held.iter();
        held.filter_map(|(key, held)| Some((key.clone(), held.value.clone()?)))
            .collect()
    }
}

fn bytes(line: &Value, name: &str) -> Option<Vec<u8>> {
    if let Some(text) = line[name].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let coded = line[format!("{name}_base64")].as_str()?;
    Some(STANDARD.decode(coded).unwrap())
}

/// What a scan tells of a keyspace.
pub fn scan(node: SocketAddr, keyspace: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let path = format!("/v1/keyspaces/{keyspace}/keys");
    let mut wire = Wire::try_open_at(node).unwrap();
    let answer = wire.request("GET", &path, b"");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let lines = answer.text().lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (bytes(&line, "key").unwrap(), bytes(&line, "value").unwrap())
    });
    lines.collect()
}
