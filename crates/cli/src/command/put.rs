//! `dunlin put`: a value from an argument, a file or standard input.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use dunlin_client::{Condition, Expires, WriteOptions};
use serde_json::json;

use crate::connect::Target;
use crate::failure::Failure;
use crate::output::Output;
use crate::{key, runtime};

const EXAMPLES: &str = "\
Prints the version of the value that was stored.

Examples:
  dunlin put dunlin 'a small wader'
  dunlin put photo --file photo.jpg
  gzip -c notes | dunlin put notes.gz
  dunlin put session abc --expires-in 3600

Conditions belong to transactional keyspaces (dunlin keyspace create NAME --mode transactional):
  dunlin put --keyspace NAME lock me --if-absent
  dunlin put --keyspace NAME counter 8 --if-version \"$(dunlin get --keyspace NAME counter --json | jq -r .version)\"";

/// When a write is to be done at all.
#[derive(Debug, Clone, Args)]
pub struct When {
    /// Only if the key has this version; fails otherwise
    #[arg(long, value_name = "VERSION")]
    if_version: Option<String>,
    /// Only if the key has no value; fails otherwise
    #[arg(long, conflicts_with = "if_version")]
    if_absent: bool,
}

impl When {
    /// The same for the client.
    pub fn condition(self) -> Condition {
        match (self.if_version, self.if_absent) {
            (Some(version), _) => Condition::Version(version),
            (None, true) => Condition::Absent,
            (None, false) => Condition::None,
        }
    }
}

/// Arguments of `put`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Put {
    /// Key
    key: OsString,
    /// Value; without it and --file it is read from standard input
    value: Option<OsString>,
    /// File that holds the value; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    file: Option<PathBuf>,
    /// Seconds after which the value is gone
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
    /// One JSON object with the version
    #[arg(long)]
    json: bool,
}

impl Put {
    /// Stores it.
    pub fn run(self) -> Result<(), Failure> {
        let value = match (self.value, self.file) {
            (Some(value), _) => key::bytes(value),
            (None, Some(file)) if file.as_os_str() != "-" => std::fs::read(&file)
                .map(Bytes::from)
                .map_err(|error| Failure::file(&file, &error))?,
            (None, _) => {
                let mut value = Vec::new();
                std::io::stdin()
                    .lock()
                    .read_to_end(&mut value)
                    .map_err(|error| Failure::Failed(format!("standard input: {error}")))?;
                Bytes::from(value)
            }
        };
        let options = WriteOptions {
            quorum: self.target.quorum(),
            expires: self.expires_in.map(Expires::InS),
            condition: self.when.condition(),
        };
        runtime::block_on(async move {
            let version = self
                .target
                .keyspace()?
                .put(&key::bytes(self.key), value, &options)
                .await?;
            let mut output = Output::new();
            if self.json {
                output.json(&json!({ "version": version }))?;
            } else {
                output.line(&version)?;
            }
            output.flush()
        })
    }
}
