//! Following etcd: a snapshot, then every change, and again from the start whenever it breaks.
use super::cache::Cache;
use super::contents::{PREFIX, look, read, take};
use super::session::{ANSWER_TIMEOUT, Failure, Session, limited};
use crate::accept::{Refusal, Verdict};
use crate::objects::Objects;
use crate::view::View;
use etcd_client::{Client, WatchOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(2);
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// Keeps the topology like etcd's.
pub(crate) struct Follower {
    pub session: Arc<Session>,
    pub cache: Option<Cache>,
    pub view: Arc<View>,
}

/// A connection to etcd and what has been read over it.
pub(crate) struct Position {
    member: usize,
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
        let reading = |mut client: Client| async move {
            let store = read(&mut client).await?;
            Ok((client, store))
        };
        let (member, (client, store)) = self.session.ask(reading).await?;
        let position = Position {
            member,
            client,
            store,
        };
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
        let member = position.member;
        let failure = match self.try_watch(position).await {
            Ok(()) => Failure::Etcd("the watch ended".to_owned()),
            Err(failure) => failure,
        };
        if let Failure::Etcd(detail) = &failure {
            self.session.miss(member, detail);
        }
        failure
    }

    async fn try_watch(&self, mut position: Position) -> Result<(), Failure> {
        let next = i64::try_from(position.store.revision + 1).unwrap_or(i64::MAX);
        let options = WatchOptions::new().with_prefix().with_start_revision(next);
        let watching = position.client.watch(PREFIX, Some(options));
        let mut stream = limited(ANSWER_TIMEOUT, async { Ok(watching.await?) }).await?;
        loop {
            let response = tokio::select! {
                response = stream.message() => response?,
                () = self.session.overdue.notified() => {
                    return Err(Failure::Etcd("it does not tell of changes".to_owned()));
                }
            };
            let Some(response) = response else {
                return Ok(());
            };
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
    }
}

/// Asks the members now and then, so that one that is away is told of before it is needed.
pub(crate) async fn probe(session: Arc<Session>) {
    let members = session.address.members().len();
    if members == 1 {
        return;
    }
    loop {
        for member in 0..members {
            session.probe(member, look).await;
        }
        sleep(PROBE_INTERVAL).await;
    }
}
