//! Changes in etcd, each a compare-and-swap: read, decide, write if nothing has changed, or again.
use super::Etcd;
use super::contents::{commit, read};
use super::session::{Failure, client, limited};
use crate::change::Step;
use crate::error::MetadataError;
use crate::objects::{CLUSTER, Objects};
use crate::topology::Topology;
use etcd_client::Client;

impl Etcd {
    /// Makes a change and waits, while etcd answers at all, until readers here see it.
    pub async fn change<T>(
        &self,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        let steps = async {
            let mut client = client(&self.address).await?;
            loop {
                if let Some(done) = self.attempt(&mut client, &decide).await? {
                    return Ok(done);
                }
            }
        };
        let (value, revision) = limited(steps)
            .await
            .map_err(|failure: Failure| failure.at(&self.address))?;
        self.seen(revision).await;
        Ok(value)
    }

    async fn attempt<T>(
        &self,
        client: &mut Client,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
    ) -> Result<Option<(T, u64)>, Failure> {
        let known = self.view.known();
        let store = read(client).await?;
        let now = self.view.basis(&known, &store)?;
        let mut step = decide(&now, &store)?;
        if step.puts.is_empty() {
            return Ok(Some((step.value, store.newest())));
        }
        // A store that is lost and begins anew in between has none, or another one.
        step.guards.push(CLUSTER.to_owned());
        let written = commit(client, &store, &step.guards, &step.puts).await?;
        Ok(written.map(|revision| (step.value, revision)))
    }
}
