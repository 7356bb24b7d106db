//! Bounds of transactions: flags, the table `[transactions]`, and both made one.

use std::time::Duration;

use clap::Args;
use dunlin_ranges::Limits;
use serde::{Deserialize, Serialize};

use super::word;
use crate::failure::Failure;
use crate::units::{Delay, Size};

/// Bounds of transactions.
#[derive(Debug, Clone, Default, Args)]
pub struct TxnFlags {
    /// Keys that a transaction may name in one request, or write over several; above it the answer is 413
    /// [default: 4096]
    #[arg(
        id = "txn-keys",
        long = "txn-keys",
        env = "DUNLIN_TXN_KEYS",
        value_name = "N"
    )]
    pub keys: Option<usize>,
    /// Bytes of keys and values that a transaction may write; above it the answer is 413 [default: 4MiB]
    #[arg(
        id = "txn-bytes",
        long = "txn-bytes",
        env = "DUNLIN_TXN_BYTES",
        value_name = "SIZE"
    )]
    pub bytes: Option<Size>,
    /// Bytes of values that one request of a transaction may read; above it the answer is 413 [default: 64MiB]
    #[arg(
        id = "txn-read-bytes",
        long = "txn-read-bytes",
        env = "DUNLIN_TXN_READ_BYTES",
        value_name = "SIZE"
    )]
    pub read_bytes: Option<Size>,
    /// A transaction over several requests that is not used for so long is aborted [default: 30s]
    #[arg(
        id = "txn-idle",
        long = "txn-idle",
        env = "DUNLIN_TXN_IDLE",
        value_name = "DELAY"
    )]
    pub idle: Option<Delay>,
    /// The longest that a transaction over several requests lasts [default: 60s]
    #[arg(
        id = "txn-time",
        long = "txn-time",
        env = "DUNLIN_TXN_TIME",
        value_name = "DELAY"
    )]
    pub time: Option<Delay>,
    /// How long transactional keyspaces keep old versions, and what became of transactions; the same
    /// at all nodes [default: 10min]
    #[arg(
        id = "txn-retention",
        long = "txn-retention",
        env = "DUNLIN_TXN_RETENTION",
        value_name = "DELAY"
    )]
    pub retention: Option<Delay>,
}

/// The table `[transactions]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TxnTable {
    /// Keys of one.
    pub keys: Option<usize>,
    /// Bytes that one may write.
    pub bytes: Option<Size>,
    /// Bytes of values that one request may read.
    pub read_bytes: Option<Size>,
    /// How long one may be unused.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub idle: Option<Delay>,
    /// How long one may last.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub time: Option<Delay>,
    /// How long old versions are kept.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub retention: Option<Delay>,
}

impl TxnTable {
    /// As a file that leads to the same.
    pub fn of(limits: &Limits) -> TxnTable {
        let delay = |time: Duration| Some(Delay(time.as_millis() as u64));
        TxnTable {
            keys: Some(limits.keys),
            bytes: Some(Size(limits.bytes as u64)),
            read_bytes: Some(Size(limits.read_bytes as u64)),
            idle: delay(limits.idle),
            time: delay(limits.time),
            retention: delay(limits.retention),
        }
    }
}

/// Flags win over the file, the file over the defaults.
///
/// # Errors
/// When they cannot be kept.
pub fn limits(flags: TxnFlags, file: TxnTable) -> Result<Limits, Failure> {
    let defaults = Limits::default();
    let time = |flag: Option<Delay>, file: Option<Delay>, default: Duration| {
        let told = flag.or(file);
        told.map_or(default, |delay| Duration::from_millis(delay.0))
    };
    let bytes = flags.bytes.or(file.bytes);
    let read_bytes = flags.read_bytes.or(file.read_bytes);
    let limits = Limits {
        keys: flags.keys.or(file.keys).unwrap_or(defaults.keys),
        bytes: bytes.map_or(defaults.bytes, Size::as_usize),
        read_bytes: read_bytes.map_or(defaults.read_bytes, Size::as_usize),
        idle: time(flags.idle, file.idle, defaults.idle),
        time: time(flags.time, file.time, defaults.time),
        retention: time(flags.retention, file.retention, defaults.retention),
    };
    limits.check().map_err(Failure::Usage)?;
    Ok(limits)
}

#[cfg(test)]
#[path = "transactions_tests.rs"]
mod tests;
