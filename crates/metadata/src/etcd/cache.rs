//! The last topology seen, in a file: what a node starts with when etcd is lost.
use crate::file;
use crate::topology::Topology;
use serde_json::Value;
use std::path::PathBuf;

/// A cache file. It is never more than a copy, so nothing that is wrong with it is an error.
#[derive(Debug, Clone)]
pub(crate) struct Cache(PathBuf);

impl Cache {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The topology last saved, if there is one that can be read and is not of another cluster than
    /// `cluster`.
    pub fn load(&self, cluster: Option<&str>) -> Option<Topology> {
        let content = match file::read(&self.0) {
            Ok(content) => content?,
            Err(error) => {
                tracing::warn!(path = %self.0.display(), %error, "metadata cache not read");
                return None;
            }
        };
        match read(&content) {
            Ok(topology) => {
                let of = topology.cluster.as_ref().map(|cluster| cluster.id.as_str());
                let is_own = of.is_none() || cluster.is_none() || of == cluster;
                if !is_own {
                    tracing::warn!(path = %self.0.display(), "metadata cache of another cluster");
                }
                is_own.then_some(topology)
            }
            Err(error) => {
                tracing::warn!(path = %self.0.display(), %error, "metadata cache is damaged");
                None
            }
        }
    }

    /// Saves a topology, on a thread of its own because it syncs.
    pub async fn save(&self, topology: &Topology) {
        let path = self.0.clone();
        let content = write(topology);
        let saving = tokio::task::spawn_blocking(move || file::replace(&path, &content?));
        if let Err(error) = saving
            .await
            .unwrap_or_else(|stopped| Err(std::io::Error::other(stopped)))
        {
            tracing::warn!(path = %self.0.display(), %error, "metadata cache not saved");
        }
    }
}

/// Name of the field that holds the checksum of all the others.
const CHECKSUM: &str = "crc32c";

fn write(topology: &Topology) -> serde_json::Result<Vec<u8>> {
    let mut value = serde_json::to_value(topology)?;
    let checksum = checksum(&value);
    if let Some(fields) = value.as_object_mut() {
        fields.insert(CHECKSUM.to_owned(), checksum.into());
    }
    serde_json::to_vec_pretty(&value)
}

/// A cache with another checksum is no topology: a flipped bit in a number would fence nodes or take data.
fn read(content: &[u8]) -> serde_json::Result<Topology> {
    let mut value: Value = serde_json::from_slice(content)?;
    let stored = value.as_object_mut().and_then(|f| f.remove(CHECKSUM));
    if stored.is_none_or(|stored| stored != checksum(&value)) {
        return Err(serde::de::Error::custom("its checksum is another"));
    }
    serde_json::from_value(value)
}

/// Of the fields in the order of their names, without spaces.
fn checksum(value: &Value) -> u32 {
    crc32c::crc32c(value.to_string().as_bytes())
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
