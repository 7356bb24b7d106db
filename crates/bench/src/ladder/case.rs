//! Transactions of one read and one write: how they are sent, and where the data are.

use clap::ValueEnum;
use serde::Serialize;

/// Bytes of a value.
pub const VALUE_BYTES: usize = 512;
/// Keys that have values before.
pub const KEYS: usize = 1_000;

/// A keyspace with the same keys in two ranges.
pub const PAIRS: &str = "pairs";

/// A key by its number.
pub fn key(number: usize) -> String {
    format!("k{number:04}")
}

/// How a transaction of one read and one write is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// `crates/rpc` alone: a request of 1 KiB, answered with 10 bytes.
    Call,
    /// A read by a direct client.
    DirectRead,
    /// A read and a write by a direct client: two requests.
    Direct,
    /// Over HTTP in one request, which reads the value of before.
    One,
    /// Over HTTP: begin, get, put, commit.
    Four,
    /// PostgreSQL, serializable: begin and select in one round, update and commit in another.
    PostgresTwo,
    /// PostgreSQL, serializable, a round for each statement.
    PostgresFour,
}

/// Where the data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// One replica, in memory (`/dev/shm`).
    Memory,
    /// One replica, on the disk.
    Disk,
    /// Three replicas, in memory.
    Three,
}

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RungAt {
    /// How it is sent.
    pub rung: Rung,
    /// Where the data are.
    pub stage: Stage,
}

impl Rung {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Call => "call of crates/rpc",
            Rung::DirectRead => "direct: read",
            Rung::Direct => "direct: read, write, commit",
            Rung::One => "HTTP, one request",
            Rung::Four => "HTTP, begin, get, put, commit",
            Rung::PostgresTwo => "PostgreSQL, two rounds",
            Rung::PostgresFour => "PostgreSQL, four rounds",
        }
    }

    /// Whether PostgreSQL does it.
    pub fn is_postgres(self) -> bool {
        matches!(self, Rung::PostgresTwo | Rung::PostgresFour)
    }
}

impl Stage {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Memory => "1 replica, memory",
            Stage::Disk => "1 replica, disk",
            Stage::Three => "3 replicas, memory",
        }
    }
}

/// All cases of a stage.
pub fn steps(stage: Stage) -> Vec<RungAt> {
    use Rung::{Call, Direct, DirectRead, Four, One, PostgresFour, PostgresTwo};
    let rungs: &[Rung] = match stage {
        Stage::Memory => &[
            Call,
            DirectRead,
            Direct,
            One,
            Four,
            PostgresTwo,
            PostgresFour,
        ],
        Stage::Disk => &[Direct, One, Four, PostgresTwo, PostgresFour],
        Stage::Three => &[DirectRead, Direct, One, Four],
    };
    rungs.iter().map(|&rung| RungAt { rung, stage }).collect()
}
