//! What keeps a view's index at one shard: a subscription to what the shard has of the keyspace.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_changes::{Asked, Merged, Told};
use dunlin_entry::Entry;
use dunlin_node::{Scope, Services};
use dunlin_proto::Token;
use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout_at};

use crate::index::{Index, IndexError, Place};
use crate::view::View;

/// How often it is looked which partitions the shard holds.
const LOOK: Duration = Duration::from_millis(200);
/// What does not work is tried again after so long.
const RETRY: Duration = Duration::from_secs(1);
/// What is in memory goes to disk when so much of the log is behind it, or after so long.
const FLUSH_LOG_BYTES: u64 = 64 << 20;
const FLUSH_AFTER: Duration = Duration::from_secs(60);
/// Changes that are taken at once.
const TAKEN_AT_ONCE: usize = 1_000;
const TAKEN_BYTES: usize = 1 << 20;
/// How often it is said what is still needed of the log, and looked which deletes can be forgotten.
const CARE: Duration = Duration::from_secs(5);

/// Keeps a view's index, for as long as it is polled.
pub(crate) struct Builder {
    services: Rc<Services>,
    view: Rc<View>,
    /// Not while a job has it.
    index: Option<Index>,
    /// What is on disk.
    flushed: Option<Token>,
    flushed_at: Instant,
    /// Whether anything but the token has changed since.
    is_dirty: bool,
    cared_at: Option<Instant>,
}

/// Where a view's index is.
pub(crate) fn path_of(services: &Services, keyspace: u32, id: u32) -> PathBuf {
    services.directory().join(format!("view-{keyspace}-{id}"))
}

/// The partitions of a keyspace that the shard holds.
pub(crate) fn held(services: &Services, keyspace: u32) -> BTreeSet<u16> {
    let own = services.shard().address();
    let count = services.partition_count(keyspace).unwrap_or(0);
    let all = 0..count;
    all.filter(|partition| services.replicas(keyspace, *partition).contains(&own))
        .collect()
}

/// Follows what this shard has of partitions, from a token on.
pub(crate) fn follow_here(
    services: &Rc<Services>,
    keyspace: u32,
    partitions: Vec<u16>,
    from: Token,
    who: String,
) -> Merged {
    let asked = Asked {
        keyspace,
        prefix: Bytes::new(),
        keys_only: false,
        only_here: true,
        who,
    };
    Merged::new(services, asked, partitions, Some(from), None)
}

impl Builder {
    pub fn new(services: &Rc<Services>, view: &Rc<View>) -> Builder {
        Builder {
            services: services.clone(),
            view: view.clone(),
            index: None,
            flushed: None,
            flushed_at: Instant::now(),
            is_dirty: false,
            cared_at: None,
        }
    }

    pub async fn run(mut self) {
        loop {
            if let Err(error) = self.keep().await {
                tracing::warn!(view = self.view.label(), %error, "a view gets no further for now");
                self.view.unset(error.to_string());
                self.index = None;
                if matches!(error, IndexError::Damaged(_)) {
                    self.remove().await;
                }
            }
            sleep(RETRY).await;
        }
    }

    /// Removes what is damaged; it is made anew.
    async fn remove(&mut self) {
        let path = path_of(&self.services, self.view.keyspace, self.view.record.id);
        loop {
            let path = path.clone();
            let removed = self
                .view
                .runner
                .run_behind(move || Index::remove(&path))
                .await;
            match removed {
                Ok(Ok(())) => return,
                // Who reads it still has it open.
                failed => tracing::info!(?failed, "a damaged index cannot be removed yet"),
            }
            sleep(RETRY).await;
        }
    }

    async fn keep(&mut self) -> Result<(), IndexError> {
        if self.index.is_none() {
            self.open().await?;
        }
        loop {
            let held = self.held();
            let token = self.prepare(&held).await?;
            if held.is_empty() {
                sleep(LOOK).await;
                continue;
            }
            let partitions = held.iter().copied().collect();
            let who = format!("view {}", self.view.record.name);
            let mut merged =
                follow_here(&self.services, self.view.keyspace, partitions, token, who);
            let mut look = Instant::now() + LOOK;
            loop {
                if Instant::now() >= look {
                    look = Instant::now() + LOOK;
                    if self.held() != held {
                        break;
                    }
                    if let Some(why) = self.view.damage() {
                        return Err(IndexError::Damaged(why));
                    }
                    self.care(&merged).await?;
                }
                match timeout_at(look, merged.next()).await {
                    Ok(told) => self.take_all(&mut merged, told).await?,
                    Err(_) => continue,
                }
            }
        }
    }

    async fn open(&mut self) -> Result<(), IndexError> {
        let view = &self.view;
        let path = path_of(&self.services, view.keyspace, view.record.id);
        let place = Place::of(&self.services, view, path);
        let index = view
            .runner
            .run_behind(move || Index::open(&place))
            .await??;
        self.flushed = index.token().cloned();
        self.view.set(&index);
        self.index = Some(index);
        Ok(())
    }

    fn held(&self) -> BTreeSet<u16> {
        held(&self.services, self.view.keyspace)
    }

    /// Removes what is not held here any more, and what was begun and is begun again; where it goes on.
    async fn prepare(&mut self, held: &BTreeSet<u16>) -> Result<Token, IndexError> {
        let (services, keyspace) = (&self.services, self.view.keyspace);
        let (cluster, held) = (services.cluster_number(), held.clone());
        let end = services.log_last();
        let prepare = move |index: &mut Index| {
            let kept: Vec<u16> = held.iter().copied().collect();
            let token = index
                .token()
                .filter(|token| token.check(cluster, keyspace).is_ok());
            let token = match token {
                Some(token) => token.clone().narrow(&kept),
                None => Token::new(cluster, keyspace, None, []),
            };
            let is_named = |partition: &u16| token.vector(*partition).is_some();
            let mut building: BTreeSet<u16> =
                index.building().intersection(&held).copied().collect();
            building.extend(held.iter().filter(|partition| !is_named(partition)));
            let is_begun = |partition: &u16| token.within(*partition).is_some();
            // What a crash left of one that was being forgotten goes, too.
            let is_empty = |p: &u16| token.vector(*p).is_some_and(|vector| vector.is_empty());
            let removed = index.partitions()?.into_iter().filter(|partition| {
                !is_named(partition)
                    || building.contains(partition) && is_empty(partition) && !is_begun(partition)
            });
            let removed: Vec<u16> = removed.collect();
            // First it is noted that they are not there: a crash in between would leave holes.
            index.note(&token, building.clone())?;
            for partition in removed {
                while index.remove_some(partition)? {}
            }
            Ok((token, building, held))
        };
        let (token, building, held) = self.on_index(prepare).await?;
        self.view.subscribe(&held, &building, end);
        Ok(token)
    }

    /// Takes an event, and all changes that are there behind it already: an engine is given many at once.
    async fn take_all(&mut self, merged: &mut Merged, first: Told) -> Result<(), IndexError> {
        let (mut entries, mut next) = (Vec::new(), Some(first));
        let (mut token, mut bytes) = (None, 0);
        while let Some(event) = next.take() {
            match event {
                Told::Entries(changes) => {
                    bytes += changes
                        .iter()
                        .map(|change| change.value.len())
                        .sum::<usize>();
                    entries.extend(changes.iter().map(|change| Entry::clone(change)));
                    token = merged.token();
                }
                Told::Beat => token = merged.token().or(token),
                other => {
                    if let Some(token) = token {
                        self.apply(entries, token).await?;
                    }
                    return self.take(merged, other).await;
                }
            }
            if entries.len() < TAKEN_AT_ONCE && bytes < TAKEN_BYTES {
                next = merged.next().now_or_never();
            }
        }
        match token {
            Some(token) => self.apply(entries, token).await,
            None => Ok(()),
        }
    }

    /// Takes anything but changes.
    async fn take(&mut self, merged: &Merged, told: Told) -> Result<(), IndexError> {
        let Some(token) = merged.token() else {
            return Ok(());
        };
        match told {
            Told::Records {
                partition,
                begins,
                records,
                ends,
            } => {
                if let Some((scope, before)) = begins {
                    self.begin(partition, scope, *before).await?;
                }
                if ends {
                    self.view.filled(partition);
                }
                self.apply(records, token).await
            }
            Told::PutBack => Err(IndexError::Damaged("the log was put back".to_owned())),
            // The keyspace is gone: whoever looks after views ends this one.
            Told::Done | Told::Dropped => {
                sleep(LOOK).await;
                Ok(())
            }
            Told::Moved { .. } | Told::Beat | Told::Entries(_) => Ok(()),
        }
    }

    /// Stored records of a partition begin.
    async fn begin(
        &mut self,
        partition: u16,
        scope: Scope,
        token: Token,
    ) -> Result<(), IndexError> {
        self.view.begin(partition, self.services.log_last());
        self.on_index(move |index| {
            let mut building = index.building().clone();
            building.insert(partition);
            index.note(&token, building)?;
            if scope == Scope::Complete {
                while index.remove_some(partition)? {}
            }
            Ok(())
        })
        .await
    }

    async fn apply(&mut self, entries: Vec<Entry>, token: Token) -> Result<(), IndexError> {
        self.is_dirty |= !entries.is_empty();
        let building = self.view.still_building(&self.services, &token);
        self.on_index(move |index| {
            if !(entries.is_empty() && index.token() == Some(&token)) {
                index.apply(&entries, &token)?
            }
            if *index.building() == building {
                Ok(())
            } else {
                index.note(&token, building)
            }
        })
        .await
    }

    /// Flushes what is due, keeps what is needed of the log, and forgets deletes that can be.
    async fn care(&mut self, merged: &Merged) -> Result<(), IndexError> {
        let (care, flush_after) = if self.services.has_background() {
            (CARE, FLUSH_AFTER)
        } else {
            // A simulated life is short.
            (CARE / 10, FLUSH_AFTER / 60)
        };
        if self.cared_at.is_some_and(|at| at.elapsed() < care) {
            return Ok(());
        }
        self.cared_at = Some(Instant::now());
        let own = self.services.shard().address();
        let held: Vec<u16> = self.held().into_iter().collect();
        let hint = self
            .flushed
            .as_ref()
            .and_then(|token| token.hint(own, &held));
        let behind = hint.map_or(u64::MAX, |hint| self.services.log_bytes_behind(hint.index));
        let now = self.index.as_ref().and_then(Index::token).cloned();
        let is_old = self.is_dirty && self.flushed_at.elapsed() >= flush_after;
        let is_due = behind >= FLUSH_LOG_BYTES || is_old;
        if is_due && now != self.flushed {
            self.on_index(|index| index.flush()).await?;
            self.flushed = now;
            self.flushed_at = Instant::now();
            self.is_dirty = false;
        }
        if let Some(flushed) = &self.flushed {
            self.services.followers().keep(&self.view.label(), flushed);
        }
        // What is older than this does not come any more: the log has been read to its end.
        let is_current = self.view.bytes_behind(&self.services) == Some(0);
        if let Some(forgotten) = merged.forgotten().filter(|_| is_current) {
            while self
                .on_index(move |index| index.forget_some(forgotten))
                .await?
            {}
        }
        Ok(())
    }

    /// Runs a job with the index, on the thread of views.
    async fn on_index<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Index) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let closed = || IndexError::Io("it is not open".to_owned());
        let mut index = self.index.take().ok_or_else(closed)?;
        let run = self.view.runner.run_behind(move || {
            let result = job(&mut index);
            (index, result)
        });
        let (index, result) = run.await?;
        self.view.set(&index);
        self.index = Some(index);
        result
    }
}
