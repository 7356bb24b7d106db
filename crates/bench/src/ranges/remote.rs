//! The status of a range, and requests about it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::http;
use crate::error::BenchError;
use crate::interrupt::Interrupt;

/// The keyspace that is measured: one range.
pub const KEYSPACE: &str = "bench";
/// Its timestamps come from here.
pub const ORACLE: &str = "_oracle";
/// How long a change may take.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// The range, as its leader sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Led {
    /// Name of the node that leads.
    pub node: String,
    /// Whether all replicas are there and have caught up.
    pub is_whole: bool,
    /// Bytes of copies sent since the start of the leader.
    pub copied_bytes: u64,
    /// Bytes a second of the copy under way.
    pub bytes_per_s: Option<u64>,
}

fn failed(why: impl Into<String>) -> BenchError {
    BenchError::Rival {
        program: "dunlin".to_owned(),
        why: why.into(),
    }
}

/// The status of a node.
fn status(at: SocketAddr) -> Result<Value, BenchError> {
    let (_, body) =
        http::request(at, "GET", "/v1/status", b"").map_err(|e| failed(e.to_string()))?;
    Ok(serde_json::from_str(&body)?)
}

/// The range of a keyspace by the status of a node; none while nobody leads it.
pub fn led(status: &Value, keyspace: &str) -> Option<Led> {
    let rows = status["ranges"].as_array()?.iter();
    let mut leads = rows.filter(|row| row["keyspace"] == keyspace && row["role"] == "leader");
    let row = leads.next_back()?;
    let copy = row["copies"].as_array().and_then(|copies| copies.first());
    Some(Led {
        node: row["at"].as_str()?.split('/').next()?.to_owned(),
        is_whole: row["whole"] == true,
        copied_bytes: row["copied_bytes"].as_u64().unwrap_or(0),
        bytes_per_s: copy.and_then(|copy| copy["bytes_per_s"].as_u64()),
    })
}

/// Looks until it is as wanted.
///
/// # Errors
/// When it is not within two minutes, or the user stops the run.
pub fn until(
    (at, interrupt): (SocketAddr, &Interrupt),
    keyspace: &str,
    what: &str,
    mut is_so: impl FnMut(&Led) -> bool,
) -> Result<Led, BenchError> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Ok(status) = status(at)
            && let Some(led) = led(&status, keyspace)
            && is_so(&led)
        {
            return Ok(led);
        }
        if Instant::now() >= end {
            return Err(failed(format!(
                "{what}: not within {} s",
                PATIENCE.as_secs()
            )));
        }
        interrupt.sleep(LOOK)?;
    }
}

/// Has the replica on a node lead.
///
/// # Errors
/// When the node refuses.
pub fn lead(at: SocketAddr, keyspace: &str, node: &str) -> Result<(), BenchError> {
    let path = format!("/v1/ranges/{keyspace}/0/target");
    let body = serde_json::json!({ "lead": node }).to_string();
    let answer = http::request(at, "PUT", &path, body.as_bytes());
    match answer.map_err(|error| failed(error.to_string()))? {
        (202, _) => Ok(()),
        (status, body) => Err(failed(format!("{status} {body}"))),
    }
}

/// Has one node lead the range of each keyspace, once all replicas are there.
///
/// # Errors
/// When it does not lead within two minutes, or the user stops the run.
pub fn lead_all(
    (at, interrupt): (SocketAddr, &Interrupt),
    keyspaces: &[&str],
    node: &str,
) -> Result<(), BenchError> {
    for keyspace in keyspaces {
        let whole = until((at, interrupt), keyspace, "all replicas", |led| {
            led.is_whole
        })?;
        if whole.node != node {
            lead(at, keyspace, node)?;
        }
        until((at, interrupt), keyspace, "the node leads", |led| {
            led.node == node
        })?;
    }
    Ok(())
}

/// Creates a keyspace, which nodes that have just started may refuse for a moment.
///
/// # Errors
/// When it is not created within two minutes, or the user stops the run.
pub fn create((at, interrupt): (SocketAddr, &Interrupt), body: &str) -> Result<(), BenchError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match http::request(at, "POST", "/v1/keyspaces", body.as_bytes()) {
            Ok((201 | 409, _)) => return Ok(()),
            answer if Instant::now() >= end => return Err(failed(format!("{answer:?}"))),
            _ => interrupt.sleep(LOOK)?,
        }
    }
}

/// Makes the keyspace.
///
/// # Errors
/// When it is not made within two minutes.
pub fn make(at: SocketAddr, interrupt: &Interrupt) -> Result<(), BenchError> {
    let body = format!(r#"{{"name":"{KEYSPACE}","mode":"transactional"}}"#);
    create((at, interrupt), &body)?;
    until((at, interrupt), KEYSPACE, "the keyspace is made", |led| {
        led.is_whole
    })
    .map(drop)
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
