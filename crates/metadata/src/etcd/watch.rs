//! Following etcd: a snapshot, then every change, and again from the start whenever it breaks.
use super::address::Address;
use super::cache::Cache;
use super::change::unsigned;
use super::record::{PREFIX, Records};
use super::session::{Failure, client, limited};
use crate::error::MetadataError;
use crate::topology::Topology;
use etcd_client::{Client, GetOptions, WatchOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Keeps the topology like etcd's.
pub(crate) struct Follower {
    pub address: Address,
    pub cache: Option<Cache>,
    pub topology: watch::Sender<Arc<Topology>>,
}

/// A connection to etcd and what has been read over it.
pub(crate) struct Position {
    client: Client,
    records: Records,
    revision: i64,
}

impl Follower {
    /// Follows for ever, first from `position` if there is one.
    pub async fn follow(self, mut position: Option<Position>) {
        let mut backoff = BACKOFF_MIN;
        let mut reported = false;
        loop {
            if position.is_none() {
                match self.snapshot().await {
                    Ok(read) => position = Some(read),
                    Err(failure) => self.report(&mut reported, failure),
                }
            }
            if let Some(read) = position.take() {
                let before = self.topology.borrow().revision;
                let failure = self.watch(read, &mut reported).await;
                if self.topology.borrow().revision > before {
                    backoff = BACKOFF_MIN;
                }
                self.report(&mut reported, failure);
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    /// Says once per outage why etcd is not followed.
    fn report(&self, reported: &mut bool, failure: Failure) {
        if !std::mem::replace(reported, true) {
            let error = failure.at(&self.address);
            tracing::warn!(%error, "going on with the last topology");
        }
    }

    /// Reads everything and publishes it. A store that is behind what has been seen is refused:
    /// it has lost changes that this node may have acted upon.
    pub async fn snapshot(&self) -> Result<Position, Failure> {
        let mut client = client(&self.address).await?;
        let get = client.get(PREFIX, Some(GetOptions::new().with_prefix()));
        let response = limited(async { Ok(get.await?) }).await?;
        let revision = response
            .header()
            .map_or(0, etcd_client::ResponseHeader::revision);
        let seen = self.topology.borrow().revision;
        if unsigned(revision) < seen {
            let known = match &self.cache {
                Some(cache) => format!("; to accept that, remove {}", cache.path().display()),
                None => String::new(),
            };
            return Err(MetadataError::Damaged {
                place: self.address.to_string(),
                detail: format!("it is at revision {revision}, after {seen} was seen{known}"),
            }
            .into());
        }
        let position = Position {
            client,
            records: Records::of(response.kvs())?,
            revision,
        };
        self.publish(&position).await;
        Ok(position)
    }

    async fn publish(&self, position: &Position) {
        let topology = Arc::new(position.records.topology(unsigned(position.revision)));
        if let Some(cache) = &self.cache
            && **self.topology.borrow() != *topology
        {
            cache.save(topology.clone()).await;
        }
        self.topology.send_if_modified(|current| {
            let changed = **current != *topology;
            *current = topology;
            changed
        });
    }

    /// Follows from a position until it breaks, and says why.
    async fn watch(&self, position: Position, reported: &mut bool) -> Failure {
        match self.try_watch(position, reported).await {
            Ok(()) => Failure::Etcd("the watch ended".to_owned()),
            Err(failure) => failure,
        }
    }

    async fn try_watch(&self, mut position: Position, reported: &mut bool) -> Result<(), Failure> {
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(position.revision + 1);
        let mut client = position.client.clone();
        let watching = client.watch(PREFIX, Some(options));
        let mut stream = limited(async { Ok(watching.await?) }).await?;
        if std::mem::take(reported) {
            tracing::info!(endpoint = %self.address, "metadata store is back");
        }
        while let Some(response) = stream.message().await? {
            if response.canceled() {
                return Err(Failure::Etcd(response.cancel_reason().to_owned()));
            }
            for event in response.events() {
                if let Some(pair) = event.kv() {
                    position.records.apply(event.event_type(), pair);
                    position.revision = position.revision.max(pair.mod_revision());
                }
            }
            if !response.events().is_empty() {
                self.publish(&position).await;
            }
        }
        Ok(())
    }
}
