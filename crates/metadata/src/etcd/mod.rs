//! Metadata of a cluster of processes, in etcd.
mod address;
mod cache;
mod change;
mod members;
mod record;
mod session;
mod watch;

use crate::error::MetadataError;
use crate::topology::Topology;
use address::Address;
use cache::Cache;
use session::{ANSWER_TIMEOUT, Failure, limited};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use watch::Follower;

/// A cluster's metadata in etcd, followed by a background task.
pub(crate) struct Etcd {
    address: Address,
    topology: tokio::sync::watch::Receiver<Arc<Topology>>,
    follower: AbortHandle,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl Etcd {
    /// Reads the topology, or takes the cached one while etcd does not answer, and follows it.
    pub async fn open(endpoints: &str, cache: Option<PathBuf>) -> Result<Self, MetadataError> {
        let address = Address::parse(endpoints)?;
        let cache = cache.map(Cache::new);
        let cached = cache.as_ref().and_then(Cache::load);
        let is_cached = cached.is_some();
        let (sender, topology) = tokio::sync::watch::channel(Arc::new(cached.unwrap_or_default()));
        let follower = Follower {
            address: address.clone(),
            cache,
            topology: sender,
        };
        let position = match limited(follower.snapshot()).await {
            Ok(position) => Some(position),
            Err(Failure::Etcd(detail)) if is_cached => {
                tracing::warn!(endpoint = %address, detail, "starting with the cached topology");
                None
            }
            Err(failure) => return Err(failure.at(&address)),
        };
        let follower = tokio::spawn(follower.follow(position)).abort_handle();
        Ok(Self {
            address,
            topology,
            follower,
        })
    }

    pub fn topology(&self) -> tokio::sync::watch::Receiver<Arc<Topology>> {
        self.topology.clone()
    }

    /// Waits until the topology is at `revision`, but not for ever: a change has been made whether
    /// it is seen here yet or not.
    async fn seen(&self, revision: u64) {
        let mut topology = self.topology.clone();
        let arrived = topology.wait_for(|topology| topology.revision >= revision);
        if timeout(ANSWER_TIMEOUT, arrived).await.is_err() {
            tracing::warn!(revision, "a change was made that is not seen here yet");
        }
    }
}
