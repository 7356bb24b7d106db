//! `dunlin scan`: a range in key order, printed as it arrives.

use std::ffi::OsString;

use clap::Args;
use dunlin_client::{Entry, Range};
use serde_json::Map;

use crate::connect::Target;
use crate::failure::Failure;
use crate::output::Output;
use crate::{key, runtime};

const EXAMPLES: &str = "\
Prints a line for each key: the key, a tab, the value, as they are; --json for bytes that may
contain tabs, line ends, or no text.

Examples:
  dunlin scan                                all keys
  dunlin scan --prefix user: --limit 10
  dunlin scan --start a --end b --json       a <= key < b";

/// Arguments of `scan`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Scan {
    /// First key wanted
    #[arg(long, value_name = "KEY", default_value = "")]
    start: OsString,
    /// First key no longer wanted
    #[arg(long, value_name = "KEY")]
    end: Option<OsString>,
    /// Only keys that begin so
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<OsString>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    target: Target,
    /// One JSON object a line: key, value, version, and expires_at_ms where it has one; key_base64 and value_base64 for what
    /// is not UTF-8. import --format dunlin takes it
    #[arg(long)]
    json: bool,
}

impl Scan {
    /// Prints the range.
    pub fn run(self) -> Result<(), Failure> {
        let range = Range {
            start: key::bytes(self.start),
            end: self.end.map(key::bytes),
            prefix: self.prefix.map(key::bytes),
            limit: self.limit,
        };
        runtime::block_on(async move {
            let mut scan = self
                .target
                .keyspace()?
                .scan(&range, self.target.quorum())
                .await?;
            let mut output = Output::new();
            while let Some(entry) = scan.next().await? {
                if self.json {
                    output.json(&object(&entry))?;
                } else {
                    for part in [&entry.key[..], b"\t", &entry.value, b"\n"] {
                        output.bytes(part)?;
                    }
                }
            }
            output.flush()
        })
    }
}

fn object(entry: &Entry) -> Map<String, serde_json::Value> {
    let mut object = Map::new();
    key::insert(&mut object, "key", &entry.key);
    key::insert(&mut object, "value", &entry.value);
    object.insert("version".to_owned(), entry.version.clone().into());
    if let Some(ms) = entry.expires_at_ms {
        object.insert("expires_at_ms".to_owned(), ms.into());
    }
    object
}
