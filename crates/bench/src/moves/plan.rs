//! How much is measured.

use std::time::Duration;

use serde::Serialize;

use crate::cluster::Sync;
use crate::load::key::KEY_LENGTH;
use crate::options::{MoveOptions, Pacing};

/// What `dunlin serve` keeps clients' 99th percentile at while it moves data, in microseconds.
pub const BOUND_US_P99: u64 = 20_000;
/// No bound to speak of, as `dunlin serve --move-latency` takes it.
pub const UNBOUNDED: &str = "60s";

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Keys before anything moves; clients overwrite them and add none.
    pub keys: u64,
    /// Bytes in a key.
    pub key_bytes: u64,
    /// Bytes in a value.
    pub value_bytes: u64,
    /// Requests of clients a second, half of them GET, half PUT.
    pub rate_per_s: f64,
    /// Their connections, over all nodes.
    pub connections: usize,
    /// Before, between and after the moves.
    #[serde(rename = "rest_s", serialize_with = "crate::options::seconds")]
    pub rest: Duration,
    /// Runs of each case.
    pub repeats: usize,
    /// The cases, in the order of each round.
    pub cases: Vec<Condition>,
}

/// Under which conditions data moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// When writes are acknowledged.
    pub sync: Sync,
    /// What the move has to heed.
    pub pacing: Pacing,
}

impl Plan {
    /// What the flags ask for, as far as a program can do it that has a bound to set or not.
    pub fn of(options: &MoveOptions, can_set_bound: bool) -> Plan {
        let (size_bytes, rate, rest_s, repeats) = if options.quick {
            (32_000_000, 1_000, 5, 1)
        } else {
            (512_000_000, 4_000, 30, 3)
        };
        let key_bytes = KEY_LENGTH as u64;
        let pacings: Vec<Pacing> = match options.cases.as_slice() {
            [] => vec![Pacing::Bounded, Pacing::Idle, Pacing::Unbounded],
            asked => asked.to_vec(),
        };
        let cases = options.sync.iter().flat_map(|&sync| {
            let can_do = |pacing: &&Pacing| can_set_bound || **pacing != Pacing::Unbounded;
            let pacings = pacings.iter().filter(can_do);
            pacings.map(move |&pacing| Condition { sync, pacing })
        });
        let size_bytes = options.size.unwrap_or(size_bytes);
        Plan {
            keys: (size_bytes / (key_bytes + options.value_size)).max(1),
            key_bytes,
            value_bytes: options.value_size,
            rate_per_s: f64::from(options.rate.unwrap_or(rate).max(1)),
            connections: options.connections,
            rest: Duration::from_secs(options.rest.unwrap_or(rest_s).into()),
            repeats: options.repeats.unwrap_or(repeats).max(1),
            cases: cases.collect(),
        }
    }

    /// Bytes of keys and values before anything moves, each counted once.
    pub fn bytes(&self) -> u64 {
        self.keys * (self.key_bytes + self.value_bytes)
    }
}

impl Condition {
    /// In words.
    pub fn name(self) -> String {
        let pacing = match self.pacing {
            Pacing::Bounded => "clients, bounded",
            Pacing::Idle => "no clients",
            Pacing::Unbounded => "clients, not bounded",
        };
        format!("{pacing}, sync {}", self.sync.name())
    }

    /// Whether there are clients.
    pub fn has_clients(self) -> bool {
        self.pacing != Pacing::Idle
    }

    /// Further arguments of `dunlin serve`.
    pub fn serve_flags(self) -> Vec<String> {
        match self.pacing {
            Pacing::Unbounded => vec!["--move-latency".into(), UNBOUNDED.into()],
            Pacing::Bounded | Pacing::Idle => Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
