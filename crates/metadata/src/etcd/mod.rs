//! Metadata of a cluster of processes, in etcd.
mod access;
mod address;
mod cache;
mod change;
mod contents;
pub(crate) mod restore;
mod session;
mod watch;

use crate::error::MetadataError;
use crate::topology::Topology;
use crate::view::View;
pub use access::{EtcdPlace, EtcdUser};
use address::Address;
use cache::Cache;
use session::{ANSWER_TIMEOUT, Failure, Session};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use watch::Follower;

/// A cluster's metadata in etcd, followed by a background task.
pub(crate) struct Etcd {
    session: Arc<Session>,
    pub view: Arc<View>,
    follower: AbortHandle,
    prober: AbortHandle,
}

/// A change that the watch has not brought after so long is looked for at another member.
const OVERDUE: Duration = Duration::from_millis(500);

impl Drop for Etcd {
    fn drop(&mut self) {
        self.follower.abort();
        self.prober.abort();
    }
}

impl Etcd {
    /// Reads the topology, or takes the cached one while etcd does not answer or is refused, and
    /// follows it. `cluster` is what the data directory belongs to.
    pub async fn open(
        place: EtcdPlace,
        cache: Option<PathBuf>,
        cluster: Option<String>,
    ) -> Result<Self, MetadataError> {
        let address = Address::parse(place)?;
        session::check(&address)?;
        let cache = cache.map(Cache::new);
        let cached = cache
            .as_ref()
            .and_then(|cache| cache.load(cluster.as_deref()));
        let is_cached = cached.is_some();
        let known = cached.unwrap_or_default();
        let view = Arc::new(View::new(address.to_string(), cluster, known));
        let session = Arc::new(Session::new(address, Some(view.clone())));
        let follower = Follower {
            session: session.clone(),
            cache,
            view: view.clone(),
        };
        let position = match follower.snapshot().await {
            Ok((position, Ok(()))) => Some(position),
            Ok((position, Err(_))) if is_cached => Some(position),
            Ok((_, Err(refusal))) => return Err(view.refusal(refusal)),
            Err(Failure::Etcd(detail)) if is_cached => {
                view.miss(&detail);
                None
            }
            Err(failure) => return Err(failure.at(&session.address)),
        };
        let follower = tokio::spawn(follower.follow(position)).abort_handle();
        let prober = tokio::spawn(watch::probe(session.clone())).abort_handle();
        Ok(Self {
            session,
            view,
            follower,
            prober,
        })
    }

    /// Waits until the topology is at `revision`, but not for ever: a change has been made whether
    /// it is seen here yet or not.
    async fn seen(&self, revision: u64) {
        let mut topology = self.view.topology();
        let has_arrived = |topology: &Arc<Topology>| topology.revision >= revision;
        if timeout(OVERDUE, topology.wait_for(has_arrived))
            .await
            .is_ok()
        {
            return;
        }
        self.session.overdue.notify_one();
        let arrived = topology.wait_for(has_arrived);
        if timeout(ANSWER_TIMEOUT, arrived).await.is_err() {
            tracing::warn!(revision, "a change was made that is not seen here yet");
        }
    }
}
