//! Who this data directory belongs to: `node.json`, so that it is not opened as
//! another node's, or with another number of shards.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use dunlin_log::disk::{Disk, RealDisk};
use dunlin_metadata::{Cluster, Directory, MetadataError, Topology};
use serde::{Deserialize, Serialize};

use super::StartError;
use crate::config::NodeConfig;
use crate::shard::is_full;
use crate::starts::Starts;

/// What a disk writes as a whole or not at all.
const SECTOR_BYTES: usize = 512;

/// Contents of `node.json`, and where it is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    name: String,
    shards: u16,
    id: u16,
    #[serde(flatten)]
    starts: Starts,
    /// The cluster's id; none while there is no data, or it is from a version without ids.
    cluster: Option<String>,
    /// Starts up to this one are known of elsewhere and not here: the next one is above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<u32>,
    #[serde(skip)]
    path: PathBuf,
}

/// The cluster that the node's data in `data` is of; none when it is of none yet, or not to be read,
/// which the start tells.
pub fn cluster_of(data: &Path) -> Option<String> {
    found(data)?.cluster
}

/// With how many shards the data in `data` were made; none while there are none, or not to be read,
/// which the start tells.
pub fn shards_of(data: &Path) -> Option<u16> {
    Some(found(data)?.shards)
}

fn found(data: &Path) -> Option<Identity> {
    let bytes = std::fs::read(data.join("node.json")).ok()?;
    serde_json::from_slice(&bytes).ok()
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
        let made = RealDisk.create_dir_all(&config.data);
        made.map_err(data_error(&config.data))?;
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
                starts: Starts::default(),
                cluster: None,
                left_out: None,
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
                "{} was made with {} shards, not {}: leave --shards out (each directory keeps its number), or give {}",
                config.data.display(),
                identity.shards,
                config.shards,
                identity.shards
            )));
        }
        Ok(identity)
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the directory has been in use.
    pub fn has_data(&self) -> bool {
        self.id != 0
    }

    /// Whether it knows of which cluster it is.
    pub fn has_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// The number of its cluster, as origins have it, once it knows of which it is.
    pub fn cluster_number(&self) -> Option<u16> {
        let id = u128::from_str_radix(self.cluster.as_deref()?, 16).ok()?;
        Some(dunlin_entry::cluster_number(id))
    }

    /// What it says of where it belongs.
    pub fn directory(&self) -> Directory<'_> {
        Directory {
            name: &self.name,
            id: self.id,
            cluster: self.cluster.as_deref(),
        }
    }

    /// The node's number, if a topology has this very node.
    pub fn number_in(&self, topology: &Topology) -> Option<u16> {
        let node = topology.node(self.id)?;
        let of = topology.cluster.as_ref().map(|cluster| &cluster.id);
        let is_ours = self.cluster.is_none() || self.cluster.as_ref() == of;
        (node.name == self.name && is_ours).then_some(node.id)
    }

    /// Data that the cluster cannot take back: it does not have its node under its number.
    pub fn foreign(&self) -> StartError {
        let directory = self.path.parent().unwrap_or(&self.path);
        StartError::Config(format!(
            "the data in {} is of a node {} with number {}, which this cluster does not have (any \
             more): it was removed, or belongs to another cluster; clear the directory to join anew",
            directory.display(),
            self.name,
            self.id
        ))
    }

    /// The last start that this directory knows of; 0 when it is new.
    pub fn known_incarnation(&self) -> u32 {
        self.starts.last()
    }

    /// The least incarnation a start may have, `ahead` of the last.
    pub fn next_incarnation(&self, ahead: u32) -> Result<u32, MetadataError> {
        let last = self.starts.last().max(self.left_out.unwrap_or(0));
        let next = last.checked_add(ahead);
        next.ok_or(MetadataError::Exhausted {
            what: "incarnation",
        })
    }

    /// Writes down who this start is, before it is used; answers as [`Starts::begin`] does.
    pub fn remember(
        &mut self,
        id: u16,
        incarnation: u32,
        counted: bool,
        cluster: Option<Cluster>,
    ) -> Result<u32, StartError> {
        if self.id != 0 && self.id != id {
            return Err(self.foreign());
        }
        self.id = id;
        let before = self.starts.begin(incarnation, counted);
        self.cluster = cluster.map(|cluster| cluster.id).or(self.cluster.take());
        self.left_out = None;
        self.save().map(|()| before)
    }

    /// Writes down which cluster it is of.
    pub fn remember_cluster(&mut self, cluster: Cluster) -> Result<(), StartError> {
        self.cluster = Some(cluster.id);
        self.save()
    }

    /// Takes note that all shards are open, with what they doubt on their disks.
    pub fn opened(&mut self) -> Result<(), StartError> {
        if self.starts.noted() {
            self.save()
        } else {
            Ok(())
        }
    }

    /// Notes that a start of this node with the number `newer` is known of elsewhere.
    pub fn leave_out(&mut self, newer: u32) -> Result<(), StartError> {
        self.left_out = Some(newer);
        self.save()
    }

    fn save(&self) -> Result<(), StartError> {
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| StartError::Config(error.to_string()))?;
        let next = self.path.with_extension("json.new");
        let write = || {
            let mut file = std::fs::File::create(&next)?;
            file.write_all(&json)?;
            file.sync_all()?;
            std::fs::rename(&next, &self.path)?;
            // An incarnation must not be given again after a power cut.
            RealDisk.sync_dir(self.path.parent().unwrap_or(std::path::Path::new(".")))
        };
        let written = match write() {
            Err(full) if is_full(&full) => self.overwrite(&next).map_err(|_| full),
            written => written,
        };
        written.map_err(|error| StartError::Data {
            path: self.path.clone(),
            error,
        })
    }

    /// On a full disk, in the room that the file has already: one sector, which is written as a
    /// whole or not at all.
    fn overwrite(&self, next: &Path) -> io::Result<()> {
        drop(std::fs::remove_file(next));
        let mut file = std::fs::File::options().write(true).open(&self.path)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let mut json = serde_json::to_vec(self)?;
        json.resize(json.len().max(length), b' ');
        if json.len() > SECTOR_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all(&json)?;
        file.sync_all()
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
