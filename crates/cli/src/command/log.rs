//! `dunlin log`: what is in logs on disk, Dunlin's and RocksDB's, and what to do about damage.

mod check;
mod compressed;
mod content;
mod dump;
mod find;
mod repair;
mod report;
mod row;
mod settings;
mod source;
mod stat;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::output::Output;
use crate::units::Size;

const CHECK: &str = "\
PATH is a node's data directory, the log directory of one of its shards, a RocksDB directory, or a
single log file of either.

A torn tail is what a crash leaves: a start cuts it off by itself, nothing acknowledged is lost
under sync = always. Damage is bytes that had been synced and have changed since: a start refuses
it, and this ends with exit code 1. Of a single file, damage is what whole records follow.

Examples:
  dunlin log check data/n1
  dunlin log check /var/lib/other/rocksdb
  dunlin log check 000123.log --json";

const REPAIR: &str = "\
DIR is a node's data directory or the log directory of one of its shards. Stop the node first.

`log repair` cuts the log before the damage that `log check` names; the node then gets what it lost
from the other replicas. The cut bytes are kept beside the log as FILE.damaged-OFFSET.

Example:
  dunlin log repair data/n1";

const DUMP: &str = "\
FILE is a segment of Dunlin's, or a log or manifest of RocksDB or LevelDB.

One line a record: offset, type, bytes of payload, pieces it is in, and what it holds: entries of
Dunlin, write batches of RocksDB with each operation and the lengths of its key and value, or the
first bytes. A compressed batch of Dunlin's is followed by the records in it. `--physical` also
lists the pieces, and what is between them. Damage and the end are always listed.

Examples:
  dunlin log dump data/n1/shard-0/log/00000000000000000001.log
  dunlin log dump 000123.log --limit 20
  dunlin log dump 000123.log --json | jq -r '.batch.ops[]?.key'";

const STAT: &str = "\
PATH is a log file, a log directory, a node's data directory, or a RocksDB directory.

Columns: used, bytes to the end of the log; payload, bytes of the records; headers, of their pieces;
tails, block ends too short for a header; padding, block ends left empty for the next record; own,
records that describe the log; split, share of the records and compressed batches in more than one
piece; written, bytes of the log for each byte of payload, before Dunlin compressed it. Below: the
settings that segments of Dunlin's were begun with, and what compression saved.

Examples:
  dunlin log stat data/n1
  dunlin log stat 000123.log --block-size 16KiB --json";

/// Verbs of `log`.
#[derive(Debug, Subcommand)]
pub enum Log {
    /// Tell what is in a log and whether it is whole
    #[command(after_help = CHECK)]
    Check(Paths),
    /// List the records of log files
    #[command(after_help = DUMP)]
    Dump(dump::Dump),
    /// Count records, padding, fragments and write amplification
    #[command(after_help = STAT)]
    Stat(Paths),
    /// Cut a log before its first damage
    #[command(after_help = REPAIR)]
    Repair(Directory),
}

/// Arguments of `repair`.
#[derive(Debug, Args)]
pub struct Directory {
    /// Directory of a node's data or of one log
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// One JSON object for each log
    #[arg(long)]
    json: bool,
}

/// Arguments of `check` and `stat`.
#[derive(Debug, Args)]
pub struct Paths {
    /// Log files, or directories that hold logs
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

/// How to read a log that does not say it itself.
#[derive(Debug, Args)]
pub struct Reading {
    /// Block size of a log that is not Dunlin's: 4KiB to 1MiB
    #[arg(long, value_name = "SIZE", default_value = "32KiB")]
    block_size: Size,
    /// Number of a log file that is not named by it, where records carry it
    #[arg(long, value_name = "N")]
    number: Option<u64>,
}

impl Log {
    /// Does it. `check` fails when a start would refuse a log.
    pub fn run(self) -> Result<(), Failure> {
        let mut output = Output::new();
        let done = match &self {
            Log::Check(arguments) => check::run(arguments, &mut output),
            Log::Dump(arguments) => dump::run(arguments, &mut output),
            Log::Stat(arguments) => stat::run(arguments, &mut output),
            Log::Repair(arguments) => repair::run(arguments, &mut output),
        };
        output.flush()?;
        done
    }
}
