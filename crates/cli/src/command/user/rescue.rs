//! `dunlin user rescue`: back in without a password, for whoever may write to the metadata store.

use std::path::PathBuf;

use clap::Args;
use dunlin_metadata::{AccessChange, By, Metadata, MetadataError};

use super::new_password;
use crate::failure::Failure;
use crate::login::secret;
use crate::units::now_ms;

pub const EXAMPLES: &str = "\
Gives NAME, who is made if need be, the role admin on '*' and a new password, and takes its tokens
away. It asks no node: whoever may write to the metadata store owns the cluster. Nodes that follow
etcd go by it at once; one with its own store (`dunlin up`, --metadata embedded) must be stopped.

Examples:
  dunlin user rescue ann --metadata etcd://10.0.0.9:2379
  dunlin user rescue ann --data ./data";

/// Who did it, as people read it later.
const BY: &str = "rescue";

/// Arguments of `user rescue`.
#[derive(Debug, Args)]
pub struct Rescue {
    /// Name
    name: String,
    /// The store: etcd://HOST:PORT[,HOST:PORT..]
    #[arg(
        long,
        env = "DUNLIN_METADATA",
        value_name = "URL",
        required_unless_present = "data"
    )]
    metadata: Option<String>,
    /// Data directory of a stopped `dunlin up`, or of a node with `--metadata embedded`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// File with the new password; `-` is standard input [default: asked for]
    #[arg(long, value_name = "FILE")]
    new_password_file: Option<PathBuf>,
}

impl Rescue {
    /// Does it.
    pub async fn run(self) -> Result<(), Failure> {
        let failed = |error: MetadataError| Failure::Failed(error.to_string());
        let store = match (&self.data, &self.metadata) {
            (Some(data), _) => {
                let path = data.join("metadata.json");
                if !path.exists() {
                    return Err(Failure::Usage(format!(
                        "there is no {}: a cluster that keeps its metadata in etcd needs --metadata",
                        path.display()
                    )));
                }
                Metadata::embedded(path).map_err(failed)?
            }
            (None, Some(address)) => Metadata::etcd(address, None, None).await.map_err(failed)?,
            (None, None) => {
                return Err(Failure::Usage(
                    "--metadata or --data says where the metadata is".to_owned(),
                ));
            }
        };
        let password = match &self.new_password_file {
            Some(file) => secret(file)?,
            None => new_password(&self.name)?,
        };
        dunlin_node::check_password(&password).map_err(Failure::Usage)?;
        let password = dunlin_node::password_hash(password.as_bytes());
        let password = password
            .ok_or_else(|| Failure::Failed("no memory to hash a password with".to_owned()))?;
        let now_ms = now_ms();
        let change = AccessChange::Rescue {
            name: self.name,
            password,
        };
        store
            .change_access(&change, By::Store(BY), now_ms)
            .await
            .map_err(failed)?;
        Ok(())
    }
}
