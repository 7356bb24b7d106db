//! Who this data directory belongs to: `node.json`, so that it is not opened as
//! another node's, or with another number of shards.

use std::path::PathBuf;

use dunlin_metadata::Topology;
use serde::{Deserialize, Serialize};

use super::StartError;
use crate::config::NodeConfig;

/// Contents of `node.json`, and where it is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    name: String,
    shards: u16,
    id: u16,
    incarnation: u32,
    #[serde(skip)]
    path: PathBuf,
}

#[allow(
    clippy::disallowed_methods,
    reason = "start-up of a real node; the simulation opens shards directly"
)]
impl Identity {
    /// Reads the identity of the data directory, which is made if missing.
    pub fn load(config: &NodeConfig) -> Result<Identity, StartError> {
        let data_error = |path: &PathBuf| {
            let path = path.clone();
            move |error| StartError::Data { path, error }
        };
        std::fs::create_dir_all(&config.data).map_err(data_error(&config.data))?;
        let path = config.data.join("node.json");
        let identity = match std::fs::read(&path) {
            Ok(bytes) => {
                let mut found: Identity = serde_json::from_slice(&bytes).map_err(|error| {
                    StartError::Config(format!("{} is damaged: {error}", path.display()))
                })?;
                found.path = path;
                found
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Identity {
                name: config.name.clone(),
                shards: config.shards,
                id: 0,
                incarnation: 0,
                path,
            },
            Err(error) => return Err(data_error(&path)(error)),
        };
        if identity.name != config.name {
            return Err(StartError::Config(format!(
                "{} holds the data of node {}, not of {}: use another --data or --name",
                config.data.display(),
                identity.name,
                config.name
            )));
        }
        if identity.shards != config.shards {
            return Err(StartError::Config(format!(
                "{} was made with {} shards, not {}: keep --shards {}",
                config.data.display(),
                identity.shards,
                config.shards,
                identity.shards
            )));
        }
        Ok(identity)
    }

    /// Refuses data that the cluster cannot take back, before it learns of this start: it must have
    /// the node's name under the number that the data was written with. Where that name is unknown
    /// and the number was given out, the name will get another.
    pub fn check(&self, topology: &Topology) -> Result<(), StartError> {
        let named = topology.nodes.iter().find(|node| node.name == self.name);
        let is_foreign = match named {
            Some(node) => node.id != self.id,
            None => topology.nodes.iter().any(|node| node.id >= self.id),
        };
        match self.id != 0 && is_foreign {
            true => Err(self.foreign()),
            false => Ok(()),
        }
    }

    fn foreign(&self) -> StartError {
        let directory = self.path.parent().unwrap_or(&self.path);
        StartError::Config(format!(
            "the data in {} is of a node {} with number {}, which this cluster does not have (any \
             more): it was removed, or belongs to another cluster; clear the directory to join anew",
            directory.display(),
            self.name,
            self.id
        ))
    }

    /// The least incarnation this start may have.
    pub fn next_incarnation(&self) -> u32 {
        self.incarnation + 1
    }

    /// Writes down what the metadata store gave, before it is used.
    pub fn remember(&mut self, id: u16, incarnation: u32) -> Result<(), StartError> {
        if self.id != 0 && self.id != id {
            return Err(self.foreign());
        }
        self.id = id;
        self.incarnation = incarnation;
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| StartError::Config(error.to_string()))?;
        let next = self.path.with_extension("json.new");
        let write = || {
            let mut file = std::fs::File::create(&next)?;
            std::io::Write::write_all(&mut file, &json)?;
            file.sync_all()?;
            std::fs::rename(&next, &self.path)
        };
        write().map_err(|error| StartError::Data {
            path: self.path.clone(),
            error,
        })
    }
}
