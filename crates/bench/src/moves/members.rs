//! The members of a cluster, as `/v1/members` tells and takes them.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::cluster::http;
use crate::error::BenchError;
use crate::interrupt::Interrupt;

/// A node that is busy may be late, not silent.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// Which nodes hold data.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Members {
    /// Names of those that do.
    pub members: Vec<String>,
    /// Names of those that do not.
    pub spare: Vec<String>,
    /// The change under way.
    pub change: Option<Change>,
}

/// A change of the members.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Change {
    /// Its number.
    pub id: u64,
    /// Its phase: `copy`, `joint`, `switch`, `settle`.
    pub phase: String,
    /// How far the shards are.
    pub shards: Vec<Shard>,
}

/// How far a shard is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Shard {
    /// `NODE/SHARD`.
    pub shard: String,
    /// The change it knows of.
    pub change: u64,
    /// Pieces it takes over.
    pub parts: u64,
    /// Records copied.
    pub records: u64,
    /// Bytes of keys and values copied.
    pub bytes: u64,
    /// Bytes a second it allows itself.
    pub bytes_per_s_max: u64,
    /// 99th percentile of its clients' latency, in microseconds.
    pub latency_us_p99: u64,
}

/// A step from one set of members to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A spare node gets data.
    Add(String),
    /// A node gives its data away.
    Drain(String),
}

impl Step {
    /// In words.
    pub fn name(&self) -> String {
        match self {
            Step::Add(name) => format!("add {name}"),
            Step::Drain(name) => format!("drain {name}"),
        }
    }

    /// Whether these are the members that it leaves.
    pub fn is_done(&self, now: &Members) -> bool {
        match self {
            Step::Add(name) => now.members.contains(name),
            Step::Drain(name) => now.spare.contains(name),
        }
    }
}

/// Asks a node.
///
/// # Errors
/// [`BenchError::Members`] when it does not answer; when the user stops the run.
pub fn ask(address: SocketAddr, interrupt: &Interrupt) -> Result<Members, BenchError> {
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        match http::request(address, "GET", "/v1/members", b"") {
            Ok((200, body)) => return Ok(serde_json::from_str(&body)?),
            Ok((status, body)) => why = format!("{status} {body}"),
            Err(error) => why = error.to_string(),
        };
        interrupt.sleep(PAUSE)?;
    }
    Err(BenchError::Members(format!(
        "{address} does not tell: {why}"
    )))
}

/// Begins a step.
///
/// # Errors
/// [`BenchError::Members`] when the node refuses it, or does not answer; when the user stops the
/// run.
pub fn begin(address: SocketAddr, step: &Step, interrupt: &Interrupt) -> Result<(), BenchError> {
    let body = match step {
        Step::Add(name) => json!({ "add": [name] }),
        Step::Drain(name) => json!({ "drain": [name] }),
    };
    let body = body.to_string();
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        match http::request(address, "POST", "/v1/members", body.as_bytes()) {
            Ok((202, _)) => return Ok(()),
            Ok((status, said)) => {
                why = format!("{status} {said}");
                break;
            }
            Err(error) => why = error.to_string(),
        }
        // It may have been taken, and only its answer be lost.
        let now = ask(address, interrupt)?;
        if now.change.is_some() || step.is_done(&now) {
            return Ok(());
        }
    }
    Err(BenchError::Members(format!("{}: {why}", step.name())))
}
