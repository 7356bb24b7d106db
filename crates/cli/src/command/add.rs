//! `dunlin add`: a number is added to the value of a key.

use std::ffi::OsString;

use clap::Args;
use dunlin_client::Quorum;
use serde_json::json;

use crate::connect::Server;
use crate::failure::Failure;
use crate::output::Output;
use crate::{key, runtime};

const EXAMPLES: &str = "\
Prints the sum. It is added once, however often the request has to be sent; no value counts as 0.

Examples, in a transactional keyspace (dunlin keyspace create NAME --mode transactional):
  dunlin add --keyspace NAME hits 1
  dunlin add --keyspace NAME stock -3
  dunlin add --keyspace NAME hits 1 --json       with the version";

/// Arguments of `add`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AddNumber {
    /// Key, whose value is a decimal number of 64 bits
    key: OsString,
    /// Number to add
    #[arg(allow_negative_numbers = true)]
    number: i64,
    #[command(flatten)]
    server: Server,
    /// Keyspace, of mode transactional
    #[arg(long, short = 'k', env = "DUNLIN_KEYSPACE", value_name = "NAME")]
    keyspace: String,
    /// One JSON object with value and version
    #[arg(long)]
    json: bool,
}

impl AddNumber {
    /// Adds it.
    pub fn run(self) -> Result<(), Failure> {
        let key = key::bytes(self.key);
        runtime::block_on(async move {
            let client = self.server.client()?;
            let added = client.add(&self.keyspace, &key, self.number).await?;
            let value = match added.value {
                Some(value) => value.to_string(),
                // It was added by an attempt whose answer was lost: others may have added since.
                None => {
                    let keyspace = client.keyspace(&self.keyspace);
                    let value = keyspace.get(&key, Quorum::default()).await?;
                    let value = value.map(|value| value.bytes).unwrap_or_default();
                    String::from_utf8_lossy(&value).into_owned()
                }
            };
            let mut output = Output::new();
            if self.json {
                output.json(&json!({ "value": value, "version": added.version }))?;
            } else {
                output.line(&value)?;
            }
            output.flush()
        })
    }
}
