//! `dunlin get`: a value's bytes on standard output.

use std::ffi::OsString;

use clap::Args;
use serde_json::Map;

use crate::connect::Target;
use crate::failure::Failure;
use crate::output::Output;
use crate::{key, runtime};

const EXAMPLES: &str = "\
Examples:
  dunlin get dunlin                      the bytes as they were put (to a terminal, then a new line)
  dunlin get dunlin --json               with the version, for --if-version
  dunlin get dunlin --ack 1 --from 1     ask one replica only: fast, perhaps not the newest";

/// Arguments of `get`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Get {
    /// Key
    key: OsString,
    #[command(flatten)]
    target: Target,
    /// One JSON object with key, value, version, and expires_at_ms where it has one
    #[arg(long)]
    json: bool,
}

impl Get {
    /// Reads it; a key without a value is [`Failure::NotFound`].
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            let key = key::bytes(self.key);
            let value = self
                .target
                .keyspace()?
                .get(&key, self.target.quorum())
                .await?;
            let value = value.ok_or_else(|| {
                Failure::NotFound(format!("key {} has no value", key::shown(&key)))
            })?;
            let mut output = Output::new();
            if self.json {
                let mut object = Map::new();
                key::insert(&mut object, "key", &key);
                key::insert(&mut object, "value", &value.bytes);
                object.insert("version".to_owned(), value.version.into());
                if let Some(ms) = value.expires_at_ms {
                    object.insert("expires_at_ms".to_owned(), ms.into());
                }
                output.json(&object)?;
            } else {
                output.value(&value.bytes)?;
            }
            output.flush()
        })
    }
}
