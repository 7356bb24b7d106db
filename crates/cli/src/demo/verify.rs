//! Reads every acknowledged record back through one node and compares the bytes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_client::{Client, Keyspace, Quorum};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::key;

const READERS: usize = 64;
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);
/// Keys that are named when something is wrong; all are counted.
const NAMED: usize = 5;

/// What reading through one node gave.
#[derive(Debug, Default, Serialize)]
pub struct Verified {
    /// The node.
    pub node: String,
    /// Records whose bytes are the acknowledged ones.
    pub equal: u64,
    /// Records that are not there.
    pub missing: u64,
    /// Records with other bytes.
    pub different: u64,
    /// Records that could not be read.
    pub unreadable: u64,
    /// A few of those that are not equal, with the reason.
    pub examples: Vec<String>,
    /// Time taken, in seconds.
    pub duration_s: f64,
}

impl Verified {
    /// How many are not as they were acknowledged.
    pub fn mismatches(&self) -> u64 {
        self.missing + self.different + self.unreadable
    }

    fn example(&mut self, key: &[u8], reason: &str) {
        if self.examples.len() < NAMED {
            self.examples.push(format!("{}: {reason}", key::shown(key)));
        }
    }

    fn add(&mut self, other: Verified) {
        self.equal += other.equal;
        self.missing += other.missing;
        self.different += other.different;
        self.unreadable += other.unreadable;
        self.examples.extend(other.examples);
        self.examples.truncate(NAMED);
    }
}

/// Reads `records` of the keyspace `default` at `url`, two of three replicas answering each.
pub async fn verify(
    node: &str,
    url: &str,
    records: &Arc<Vec<(Vec<u8>, Bytes)>>,
) -> Result<Verified, Failure> {
    let began = Instant::now();
    let store = Client::new(url)?.keyspace("default");
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let (store, records) = (store.clone(), Arc::clone(records));
        readers.spawn(async move {
            let mut part = Verified::default();
            for (key, value) in records.iter().skip(reader).step_by(READERS) {
                compare(&store, key, value, &mut part).await;
            }
            part
        });
    }
    let mut verified = Verified {
        node: node.to_owned(),
        ..Verified::default()
    };
    while let Some(part) = readers.join_next().await {
        verified
            .add(part.map_err(|error| Failure::Failed(format!("a reader ended early: {error}")))?);
    }
    verified.duration_s = began.elapsed().as_secs_f64();
    Ok(verified)
}

async fn compare(store: &Keyspace, key: &[u8], expected: &Bytes, part: &mut Verified) {
    let mut attempt = 1;
    loop {
        match store.get(key, Quorum::of(2, 3)).await {
            Ok(Some(value)) if value.bytes == expected => part.equal += 1,
            Ok(Some(value)) => {
                part.different += 1;
                part.example(
                    key,
                    &format!(
                        "{} bytes, not the {} acknowledged",
                        value.bytes.len(),
                        expected.len()
                    ),
                );
            }
            Ok(None) => {
                part.missing += 1;
                part.example(key, "missing");
            }
            Err(error) if error.is_retryable() && attempt < ATTEMPTS => {
                attempt += 1;
                sleep(PAUSE).await;
                continue;
            }
            Err(error) => {
                part.unreadable += 1;
                part.example(key, &error.to_string());
            }
        }
        return;
    }
}
