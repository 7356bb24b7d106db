//! Changes in etcd, each a compare-and-swap: read, decide, write if nothing has changed, or again.
use super::Etcd;
use super::contents::{commit, read};
use super::session::Failure;
use crate::change::Step;
use crate::error::MetadataError;
use crate::objects::{CLUSTER, Objects, Put};
use crate::topology::Topology;
use etcd_client::Client;
use std::sync::{Mutex, PoisonError};

/// What was sent to a member that did not say whether it was written.
type Sent<T> = Mutex<Option<(Vec<Put>, T)>>;

impl Etcd {
    /// Makes a change and waits, while etcd answers at all, until readers here see it.
    pub async fn change<T>(
        &self,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        let sent: Sent<T> = Mutex::default();
        let (decide, sent) = (&decide, &sent);
        let steps = |mut client: Client| async move {
            loop {
                if let Some(done) = self.attempt(&mut client, decide, sent).await? {
                    return Ok(done);
                }
            }
        };
        let (_, (value, revision)) = (self.session.ask(steps).await)
            .map_err(|failure: Failure| failure.at(&self.session.address))?;
        self.seen(revision).await;
        Ok(value)
    }

    async fn attempt<T>(
        &self,
        client: &mut Client,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
        sent: &Sent<T>,
    ) -> Result<Option<(T, u64)>, Failure> {
        let known = self.view.known();
        let store = read(client).await?;
        let now = self.view.basis(&known, &store)?;
        let before = sent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut step = match (decide(&now, &store), before) {
            (Ok(step), _) => step,
            // It is refused because it is made: the member that was asked before has written it.
            (Err(_), Some((puts, value))) if holds(&store, &puts) => {
                return Ok(Some((value, store.newest())));
            }
            (Err(refused), _) => return Err(refused.into()),
        };
        if step.puts.is_empty() {
            return Ok(Some((step.value, store.newest())));
        }
        // A store that is lost and begins anew in between has none, or another one.
        step.guards.push(CLUSTER.to_owned());
        *sent.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((step.puts.clone(), step.value));
        let written = commit(client, &store, &step.guards, &step.puts).await?;
        let done = sent.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(written.and_then(|revision| done.map(|(_, value)| (value, revision))))
    }
}

/// Whether a store holds what was to be written.
fn holds(store: &Objects, puts: &[Put]) -> bool {
    puts.iter()
        .all(|(key, value)| store.get(key).map(|object| &object.value[..]) == value.as_deref())
}
