//! Following etcd: a snapshot, then every change, and again from the start whenever it breaks.
use super::address::Address;
use super::cache::Cache;
use super::contents::{PREFIX, read, take};
use super::session::{Failure, client, limited};
use crate::accept::{Refusal, Verdict};
use crate::objects::Objects;
use crate::view::View;
use etcd_client::{Client, WatchOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Keeps the topology like etcd's.
pub(crate) struct Follower {
    pub address: Address,
    pub cache: Option<Cache>,
    pub view: Arc<View>,
}

/// A connection to etcd and what has been read over it.
pub(crate) struct Position {
    client: Client,
    store: Objects,
}

impl Follower {
    /// Follows for ever, first from `position` if there is one.
    pub async fn follow(self, mut position: Option<Position>) {
        let mut backoff = BACKOFF_MIN;
        loop {
            if position.is_none() {
                match self.snapshot().await {
                    Ok((read, _)) => position = Some(read),
                    Err(failure) => self.report(failure),
                }
            }
            if let Some(read) = position.take() {
                let before = self.view.known().order();
                let failure = self.watch(read).await;
                if self.view.known().order() > before {
                    backoff = BACKOFF_MIN;
                }
                self.report(failure);
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    /// Tells why etcd is not followed.
    fn report(&self, failure: Failure) {
        match failure {
            Failure::Etcd(detail) => self.view.miss(&detail),
            Failure::Decided(error) => tracing::warn!(%error, "going on with the last topology"),
        }
    }

    /// Reads everything and publishes it, unless the store is refused: it is followed even then,
    /// for it may be put back.
    pub async fn snapshot(&self) -> Result<(Position, Result<(), Refusal>), Failure> {
        let mut client = client(&self.address).await?;
        let store = limited(read(&mut client)).await?;
        let position = Position { client, store };
        let judged = self.judge(&position.store).await;
        Ok((position, judged))
    }

    async fn judge(&self, store: &Objects) -> Result<(), Refusal> {
        match self.view.judge(store) {
            Verdict::Accept(topology, problems) => {
                if let Some(cache) = &self.cache
                    && *self.view.known() != topology
                {
                    cache.save(&topology).await;
                }
                self.view.publish(topology, problems);
                Ok(())
            }
            Verdict::Refuse(refusal) => {
                self.view.refuse(&refusal);
                Err(refusal)
            }
        }
    }

    /// Follows from a position until it breaks, and says why.
    async fn watch(&self, position: Position) -> Failure {
        match self.try_watch(position).await {
            Ok(()) => Failure::Etcd("the watch ended".to_owned()),
            Err(failure) => failure,
        }
    }

    async fn try_watch(&self, mut position: Position) -> Result<(), Failure> {
        let next = i64::try_from(position.store.revision + 1).unwrap_or(i64::MAX);
        let options = WatchOptions::new().with_prefix().with_start_revision(next);
        let watching = position.client.watch(PREFIX, Some(options));
        let mut stream = limited(async { Ok(watching.await?) }).await?;
        while let Some(response) = stream.message().await? {
            if response.canceled() {
                return Err(Failure::Etcd(response.cancel_reason().to_owned()));
            }
            for event in response.events() {
                if let Some(pair) = event.kv() {
                    take(&mut position.store, event.event_type(), pair);
                }
            }
            if !response.events().is_empty() {
                // A refusal has been told; what follows may end it.
                drop(self.judge(&position.store).await);
            }
        }
        Ok(())
    }
}
