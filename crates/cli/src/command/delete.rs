//! `dunlin delete`: a key's value goes; a key without one is no failure.

use std::ffi::OsString;

use clap::Args;
use dunlin_client::WriteOptions;

use crate::command::put::When;
use crate::connect::Target;
use crate::failure::Failure;
use crate::{key, runtime};

const EXAMPLES: &str = "\
Examples:
  dunlin delete dunlin
  dunlin delete --keyspace NAME lock --if-version VERSION    in a transactional keyspace";

/// Arguments of `delete`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Delete {
    /// Key
    key: OsString,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

impl Delete {
    /// Deletes it.
    pub fn run(self) -> Result<(), Failure> {
        let options = WriteOptions {
            quorum: self.target.quorum(),
            expires: None,
            condition: self.when.condition(),
        };
        runtime::block_on(async move {
            Ok(self
                .target
                .keyspace()?
                .delete(&key::bytes(self.key), &options)
                .await?)
        })
    }
}
