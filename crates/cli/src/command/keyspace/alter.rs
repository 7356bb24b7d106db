//! `dunlin keyspace alter`: how much of the log is kept for followers of a keyspace, and how many replicas its ranges have.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use clap::Args;
use dunlin_client::{Client, Retention, Status};

use crate::command::range::target;
use crate::connect::Server;
use crate::failure::Failure;
use crate::units::{Delay, Size};

pub const EXAMPLES: &str = "\
Examples:
  dunlin keyspace alter birds --retain-min 1GiB
  dunlin keyspace alter birds --retain-min 10GiB,24h --retain-max 7d
  dunlin keyspace alter birds --retain-min none
  dunlin keyspace alter bank --replicas 5             transactional: waits until all ranges have them

BOUND is a size, an age, or both with a comma; none takes the bound away.
Sizes and ages are those of each shard's log, which serves all keyspaces of the shard.";

/// Arguments of `keyspace alter`.
#[derive(Debug, Args)]
pub struct Alter {
    /// Name
    name: String,
    /// Log that is kept for who follows it, needed or not: a size, an age, or both, as in 1GiB,1h
    #[arg(long, value_name = "BOUND", required_unless_present_any = ["retain_max", "replicas"])]
    retain_min: Option<Bound>,
    /// Log that who follows it can hold back at most, in the same form
    #[arg(long, value_name = "BOUND")]
    retain_max: Option<Bound>,
    /// Replicas of each range of a transactional keyspace: 1, 3 or 5
    #[arg(long, value_name = "N", conflicts_with_all = ["retain_min", "retain_max"])]
    replicas: Option<u8>,
    #[command(flatten)]
    server: Server,
}

impl Alter {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = self.server.client()?;
        if let Some(replicas) = self.replicas {
            client.alter_replicas(&self.name, replicas).await?;
            return self.wait(&client, replicas).await;
        }
        let keyspace = client.describe_keyspace(&self.name).await?;
        let keyspace = keyspace
            .ok_or_else(|| Failure::NotFound(format!("keyspace {:?} does not exist", self.name)))?;
        let retention = retained(keyspace.retention, self.retain_min, self.retain_max);
        client.alter_keyspace(&self.name, retention).await?;
        Ok(())
    }

    /// Waits until all ranges have so many replicas, and says meanwhile how many do.
    async fn wait(&self, client: &Client, replicas: u8) -> Result<(), Failure> {
        let numbers = |status: &Status| -> Vec<u64> {
            let same = status.keyspaces.iter().filter(|k| k.name == self.name);
            let ranges = same.flat_map(|keyspace| &keyspace.ranges);
            ranges.map(|range| range.number).collect()
        };
        let is_whole = |status: &Status, number: u64| {
            target::leader(status, (&self.name, number)).is_some_and(|leader| {
                leader.led.replicas.len() == usize::from(replicas)
                    && target::is_whole(status, leader)
            })
        };
        let whole = |status: &Status| {
            let numbers = numbers(status).into_iter();
            numbers.filter(|number| is_whole(status, *number)).count()
        };
        let doing = |status: &Status| {
            let (whole, all) = (whole(status), numbers(status).len());
            vec![format!("{whole} of {all} ranges have {replicas} replicas")]
        };
        let is_done = |status: &Status| whole(status) == numbers(status).len();
        // The node that answers may not know of this command yet.
        let is_known = Cell::new(false);
        let other = |status: &Status| {
            let mut same = status.keyspaces.iter().filter(|k| k.name == self.name);
            match same.next() {
                Some(keyspace) if keyspace.settings.replicas == u16::from(replicas) => {
                    is_known.set(true);
                    None
                }
                Some(_) => is_known.get().then(|| {
                    format!(
                        "keyspace {} was given another number of replicas meanwhile",
                        self.name
                    )
                }),
                None => Some(format!("keyspace {} was dropped meanwhile", self.name)),
            }
        };
        target::wait(client, doing, is_done, other).await
    }
}

/// A size, an age, both, or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bound {
    bytes: Option<u64>,
    age_s: Option<u64>,
}

/// What a keyspace's retention becomes; a bound that is not given stays.
pub fn retained(before: Retention, min: Option<Bound>, max: Option<Bound>) -> Retention {
    let mut retention = before;
    if let Some(min) = min {
        (retention.min_bytes, retention.min_age_s) = (min.bytes, min.age_s);
    }
    if let Some(max) = max {
        (retention.max_bytes, retention.max_age_s) = (max.bytes, max.age_s);
    }
    retention
}

/// A retention, for people.
pub fn told(retention: &Retention) -> String {
    let bound = |name, bytes, age_s| match (bytes, age_s) {
        (None, None) => None,
        _ => Some(format!("{name} {}", Bound { bytes, age_s })),
    };
    let min = bound("at least", retention.min_bytes, retention.min_age_s);
    let max = bound("at most", retention.max_bytes, retention.max_age_s);
    let bounds: Vec<String> = min.into_iter().chain(max).collect();
    if bounds.is_empty() {
        "as needed".to_owned()
    } else {
        bounds.join(", ")
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Bound, String> {
        let mut bound = Bound::default();
        if text == "none" {
            return Ok(bound);
        }
        for part in text.split(',') {
            let wrong = || {
                format!("{part:?} is neither a size nor an age; write 1GiB, 24h, 1GiB,24h or none")
            };
            let place = match (part.parse::<Size>(), part.parse::<Delay>()) {
                (Ok(size), _) => bound.bytes.replace(size.0),
                (_, Ok(age)) if age.0 % 1_000 == 0 => bound.age_s.replace(age.0 / 1_000),
                _ => return Err(wrong()),
            };
            if place.is_some() {
                return Err(format!("{text:?} has two of a kind; write 1GiB,24h"));
            }
        }
        Ok(bound)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes.map(|bytes| Size(bytes).to_string());
        let age = self
            .age_s
            .map(|s| Delay(s.saturating_mul(1_000)).to_string());
        let parts: Vec<String> = bytes.into_iter().chain(age).collect();
        if parts.is_empty() {
            f.write_str("none")
        } else {
            f.write_str(&parts.join(","))
        }
    }
}

#[cfg(test)]
#[path = "alter_tests.rs"]
mod tests;
