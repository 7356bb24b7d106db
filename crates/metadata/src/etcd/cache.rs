//! The last topology seen, in a file: what a node starts with when etcd is lost.
use crate::file;
use crate::topology::Topology;
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
        match serde_json::from_slice::<Topology>(&content) {
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
        let content = serde_json::to_vec_pretty(topology);
        let saving = tokio::task::spawn_blocking(move || file::replace(&path, &content?));
        if let Err(error) = saving
            .await
            .unwrap_or_else(|stopped| Err(std::io::Error::other(stopped)))
        {
            tracing::warn!(path = %self.0.display(), %error, "metadata cache not saved");
        }
    }
}
