//! Followers: who reads a keyspace's entries out of a shard's log, from a token on, after stored records
//! where the log does not tell all. Decision 41.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, EntryView, Kind, Position, Vector, Version};
use dunlin_log::{CursorError, Index};
use dunlin_proto::{Hint, Page, Place, Token, TokenError, Within};
use dunlin_store::Snapshot;
use tokio::time::Instant;

use super::apart::Apart;
use super::put_back::LogNow;
use super::settle::{Unsettled, settle};
use super::stored::{StoredPage, read_stored};
use super::tally::Begun;
use super::{
    Class, Here, Hits, Holder, Met, Past, Reader, Scope, Selection, Start, begin, go_on, is_news,
    is_news_entry,
};
use crate::env::LocalFuture;
use crate::limits::{SETTLE_AFTER, SETTLE_KEYS, STEP_BYTES};
use crate::quorum::Coordinator;
use crate::replication::{address_of, copy_of};
use crate::shard::{Shard, vector_of};

/// From where on a follower wants a keyspace's entries.
#[derive(Debug, Clone)]
pub enum From {
    /// From the beginning.
    Beginning,
    /// What comes from now on.
    Now,
    /// From there on.
    Token(Token),
}

/// Which entries.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Number of the keyspace.
    pub keyspace: u32,
    /// Which of its partitions.
    pub partitions: Vec<u16>,
    /// Keys that begin with this.
    pub prefix: Bytes,
    /// Who follows, for people.
    pub who: String,
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// Stored records of a partition, which may have come before.
    Records {
        /// Which.
        partition: u16,
        /// What what is not named means, on the first page.
        begins: Option<Scope>,
        /// Ascending by key. They carry no position.
        records: Vec<Entry>,
        /// They are the last.
        ends: bool,
    },
    /// Entries in the order of the log, each origin's in its own; copies among them.
    Entries(Vec<Entry>),
}

/// Why nothing comes.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The token cannot be used: begin anew.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// There is no such keyspace, or it is dropped.
    #[error("there is no such keyspace")]
    Unknown,
    /// Go on at another replica.
    #[error("partition {0} is not here")]
    Elsewhere(u16),
    /// Go on here in a moment, or at another replica.
    #[error("this replica is being filled")]
    Later,
    /// Go on at another replica.
    #[error("{0}")]
    Failed(String),
}

/// Those who follow a shard's log and are no replicas.
pub struct Followers {
    pub(super) shard: Rc<Shard>,
    coordinator: Rc<Coordinator>,
    count: Cell<u64>,
}

impl Followers {
    /// Of a shard.
    pub(crate) fn new(shard: Rc<Shard>, coordinator: Rc<Coordinator>) -> Rc<Followers> {
        Rc::new(Followers {
            shard,
            coordinator,
            count: Cell::new(0),
        })
    }

    /// Begins to follow.
    ///
    /// # Errors
    /// See [`FollowError`].
    pub async fn open(&self, from: From, wanted: Wanted) -> Result<Follow, FollowError> {
        self.count.set(self.count.get() + 1);
        let holder = Holder {
            class: Class::Follower,
            keyspace: Some(wanted.keyspace),
            name: format!("follower {}: {}", self.count.get(), wanted.who),
        };
        self.shard.held().count(true);
        let mut follow = Follow {
            coordinator: self.coordinator.clone(),
            settled_to: 0,
            waits: None,
            stands: None,
            settling: None,
            source: self.shard.reader(1),
            shard: self.shard.clone(),
            wanted,
            holder,
            vectors: BTreeMap::new(),
            starts: BTreeMap::new(),
            filling: VecDeque::new(),
            fill: None,
            seen: Vector::new(),
            changes: 0,
            begun: Begun::default(),
        };
        follow.begin(from).await?;
        Ok(follow)
    }
}

/// One follower.
pub struct Follow {
    shard: Rc<Shard>,
    wanted: Wanted,
    holder: Holder,
    source: Reader,
    /// What has been delivered of each partition.
    vectors: BTreeMap<u16, Vector>,
    /// From which record on each is read in the log.
    starts: BTreeMap<u16, Index>,
    /// What is given as stored records first.
    filling: VecDeque<Filling>,
    fill: Option<Fill>,
    /// What the log names up to the cursor.
    seen: Vector,
    /// The coverage that this was begun with.
    changes: u64,
    begun: Begun,
    coordinator: Rc<Coordinator>,
    /// Up to which record of the log all that it wants was settled by reads.
    settled_to: Index,
    /// For what it waits to be held by enough, and since when.
    waits: Option<(Waits, Instant)>,
    /// The partition for which it gets no further, and since when.
    stands: Option<(u16, Instant)>,
    settling: Option<(Waits, Index, LocalFuture<bool>)>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// A record of the log, the next.
    Log(Index),
    /// The page of stored records read last.
    Page,
}

/// A partition that is given as stored records first.
struct Filling {
    partition: u16,
    scope: Scope,
    /// All of this has been given when its records have.
    vector: Vector,
    /// Where it goes on; `None` before its first page.
    next: Option<Bytes>,
}

/// The view that stored records are read from.
struct Fill {
    snapshot: Snapshot,
    /// The page that is being read.
    reading: Option<Apart<Option<Page>>>,
    /// The page that was read last, where not all of it may be shown yet.
    page: Option<StoredPage>,
    /// All of it has been settled by reads.
    is_settled: bool,
}

impl Follow {
    /// Where this goes on, at any replica.
    pub fn token(&self) -> Token {
        let hint = self.filling.is_empty().then(|| Hint {
            shard: self.shard.address(),
            incarnation: self.shard.origin().incarnation(),
            index: self.source.position() - 1,
        });
        let vectors = self.vectors.iter().map(|(p, v)| (*p, v.clone()));
        let mut token = Token::new(
            self.shard.cluster_number(),
            self.wanted.keyspace,
            hint,
            vectors,
        );
        for filling in &self.filling {
            let within = filling.next.clone().map(|next| Within {
                is_complete: filling.scope == Scope::Complete,
                vector: filling.vector.clone(),
                next,
            });
            token.set_within(filling.partition, within);
        }
        token
    }

    /// Whether all that is named of a partition is in this shard's log.
    pub fn has(&self, partition: u16, vector: &Vector) -> bool {
        let placement = self.shard.placement();
        let placed = placement.keyspace(self.wanted.keyspace);
        let writes = |origin| placed.is_none_or(|k| k.may_write(address_of(origin), partition));
        let known = self.shard.known();
        let mut named = vector.iter();
        named.all(|(origin, version)| known.get(origin) >= version || !writes(origin))
    }

    /// The last record of the log there is, for [`Follow::is_past`].
    pub fn log_end(&self) -> Index {
        self.shard.log_last()
    }

    /// Deletes of the keyspace up to this version may be forgotten: nothing older of their keys comes again.
    pub fn forgotten(&self) -> Version {
        self.shard.forgotten_by_all(self.wanted.keyspace)
    }

    /// Whether the log has been given up to this record.
    pub fn is_past(&self, end: Index) -> bool {
        self.filling.is_empty() && self.source.position() > end
    }

    /// The partition for which it gets no further, and since when: what comes next is not known to be held by
    /// enough.
    pub fn stands(&self) -> Option<(u16, Instant)> {
        self.stands
    }

    /// How it was gone on with.
    pub fn begun(&self) -> Begun {
        self.begun
    }

    /// Whether all that the log has had has been delivered.
    pub fn is_current(&self) -> bool {
        self.filling.is_empty()
            && self.source.position() > self.shard.log_last()
            && self.changes == self.shard.coverage().changes()
            && self.check().is_ok()
    }

    /// Waits for what comes next. Dropped while it waits, nothing is lost.
    ///
    /// # Errors
    /// See [`FollowError`]; [`Follow::token`] is where to go on.
    pub async fn next(&mut self) -> Result<Next, FollowError> {
        loop {
            self.check()?;
            if self.changes != self.shard.coverage().changes() {
                let token = self.token();
                self.begin(From::Token(token)).await?;
            }
            self.hold();
            if !self.filling.is_empty() {
                match self.page().await? {
                    Some(next) => return Ok(next),
                    None => continue,
                }
            }
            if let Some(entries) = self.read().await? {
                return Ok(Next::Entries(entries));
            }
        }
    }

    fn check(&self) -> Result<(), FollowError> {
        let placement = self.shard.placement();
        let keyspace = placement.keyspace(self.wanted.keyspace);
        let keyspace = keyspace.filter(|k| !self.shard.is_dropped(k.keyspace.id));
        let keyspace = keyspace.ok_or(FollowError::Unknown)?;
        let replicas = keyspace.keyspace.settings.replicas;
        for partition in &self.wanted.partitions {
            let held = keyspace.replicas(*partition, replicas);
            if !held.contains(&self.shard.address()) {
                return Err(FollowError::Elsewhere(*partition));
            }
        }
        if self.shard.answers() && !self.shard.is_superseded() {
            Ok(())
        } else {
            Err(FollowError::Later)
        }
    }

    /// Decides where each partition is gone on with.
    async fn begin(&mut self, from: From) -> Result<(), FollowError> {
        self.check()?;
        let mut within = BTreeMap::new();
        let (vectors, at) = match &from {
            From::Token(token) => {
                for partition in &self.wanted.partitions {
                    let place = token.within(*partition).cloned();
                    within.extend(place.map(|place| (*partition, place)));
                }
                token.check(self.shard.cluster_number(), self.wanted.keyspace)?;
                if is_put_back(&self.shard, token) {
                    return Err(TokenError::PutBack(self.shard.address()).into());
                }
                let vectors = token.vectors().map(|(p, v)| (p, v.clone()));
                let hint = token.hint(self.shard.address(), &self.wanted.partitions);
                (
                    vectors.collect(),
                    hint.and_then(|h| still_at(&self.shard, h)),
                )
            }
            _ => (BTreeMap::new(), None),
        };
        self.vectors = vectors;
        let (snapshot, vector) = loop {
            let changes = self.shard.coverage().changes();
            // Stored records show all that the vector says before they are read.
            let vector = self.shard.vector();
            if !self.shard.all_applied().await {
                return Err(FollowError::Failed("the own log failed".into()));
            }
            let snapshot = self.shard.snapshot();
            let synced = self.shard.sync_log_to(snapshot.applied()).await;
            synced.map_err(FollowError::Failed)?;
            // What came in beside the log meanwhile is neither in these records nor behind them.
            if changes == self.shard.coverage().changes() {
                break (snapshot, vector);
            }
        };
        self.check()?;
        self.decide(&from, at, &within, snapshot, vector)?;
        // A token names only records that are on disk.
        let last = self.source.position() - 1;
        let synced = self.shard.sync_log_to(last).await;
        synced.map_err(FollowError::Failed)
    }

    /// The last record that is passed over or may be given: from now on all that the vector names, on disk or not.
    fn last(&self, from: &From) -> Index {
        match from {
            From::Now => self.shard.log_last(),
            _ => self.shard.log_progress().synced,
        }
    }

    fn decide(
        &mut self,
        from: &From,
        at: Option<Index>,
        within: &BTreeMap<u16, Within>,
        snapshot: Snapshot,
        vector: Vector,
    ) -> Result<(), FollowError> {
        let before = |s: &dunlin_log::SegmentInfo| Some((s.first_index, vector_of(&s.preamble)?));
        let segments: Vec<_> = self.shard.segments().iter().filter_map(before).collect();
        let strays = self.shard.stray_copies();
        let last = self.last(from);
        let placement = self.shard.placement();
        let placed = placement.keyspace(self.wanted.keyspace);
        let now = self.shard.vector();
        let changes = self.shard.coverage().changes();
        let (mut starts, mut filling) = (BTreeMap::new(), VecDeque::new());
        let mut begun = Begun::default();
        for partition in &self.wanted.partitions {
            let place = Place {
                keyspace: self.wanted.keyspace,
                partition: *partition,
            };
            let writes =
                |origin| placed.is_none_or(|k| k.may_write(address_of(origin), *partition));
            let here = Here {
                serves: self.shard.coverage().of(place),
                first: self.shard.log_first(),
                last,
                segments: &segments,
                vector: &now,
                strays: &strays,
                forgotten: self.shard.forgotten(self.wanted.keyspace),
                writes: &writes,
            };
            let seen = self.vectors.entry(*partition).or_default();
            let past = match from {
                From::Now => Past::Now,
                _ => Past::Seen(seen, at),
            };
            if let Some(place) = within.get(partition)
                && let Some((start, scope, vector)) = go_on(place, seen, &vector, &here)
            {
                filling.push_back(Filling {
                    partition: *partition,
                    scope,
                    vector,
                    next: Some(place.next.clone()),
                });
                starts.insert(*partition, start);
                continue;
            }
            let start = match begin(past, &here) {
                Start::Log(index) if at == Some(index - 1) => {
                    begun.log_again += 1;
                    index
                }
                Start::Log(index) => {
                    begun.log += 1;
                    index
                }
                Start::Backfill(scope) => {
                    match scope {
                        Scope::Delta => begun.delta += 1,
                        Scope::Complete => begun.complete += 1,
                    }
                    filling.push_back(Filling {
                        partition: *partition,
                        scope,
                        vector: vector.clone(),
                        next: None,
                    });
                    snapshot.applied() + 1
                }
                Start::Elsewhere => return Err(FollowError::Elsewhere(*partition)),
                Start::Later => return Err(FollowError::Later),
            };
            starts.insert(*partition, start);
        }
        let start = starts.values().min().copied().unwrap_or(last + 1);
        self.begun.add(begun);
        self.changes = changes;
        self.starts = starts;
        self.filling = filling;
        let segment = segments.iter().rev().find(|(first, _)| *first <= start);
        self.seen = segment
            .map(|(_, before)| before.clone())
            .unwrap_or_default();
        self.source.seek(start);
        self.fill = (!self.filling.is_empty()).then_some(Fill {
            snapshot,
            reading: None,
            page: None,
            is_settled: false,
        });
        if matches!(from, From::Now) {
            let partitions = self.vectors.values_mut();
            partitions.for_each(|seen| seen.merge(&now));
        }
        Ok(())
    }

    /// Keeps what is still to be read of the log.
    fn hold(&self) {
        let position = self.source.position().max(self.shard.log_first());
        self.shard
            .pins()
            .hold(self.holder.clone(), position, Instant::now());
    }

    /// The next page of stored records.
    async fn page(&mut self) -> Result<Option<Next>, FollowError> {
        let gone = || FollowError::Failed("the partition cannot be read".into());
        let Some(filling) = self.filling.front() else {
            return Ok(None);
        };
        let (partition, scope) = (filling.partition, filling.scope);
        let start = filling.next.clone();
        let begins = start.is_none();
        let keyspace = self.wanted.keyspace;
        let fill = self.fill.as_mut().ok_or_else(gone)?;
        let page = match fill.page.take() {
            Some(page) => page,
            None => {
                let start = start.unwrap_or_else(|| self.wanted.prefix.clone());
                let read = || read_stored(&self.shard, &fill.snapshot, keyspace, partition, start);
                let reading = fill.reading.get_or_insert_with(|| Apart::begin(read()));
                let read = reading.end().await;
                fill.reading = None;
                let page = read.flatten().ok_or_else(gone)?;
                // What is dropped once it is not held here any more is dropped out of views, too.
                if self.changes != self.shard.coverage().changes() {
                    return Ok(None);
                }
                self.check()?;
                let prefix = &self.wanted.prefix;
                let seen = self.vectors.get(&partition);
                let seen = seen.filter(|_| scope == Scope::Delta);
                let records = page.items.into_iter();
                let records = records
                    .filter(|item| item.key.starts_with(prefix))
                    .map(|item| copy_of(item, keyspace, partition))
                    .filter(|record| seen.is_none_or(|seen| is_news_entry(record, seen)));
                StoredPage {
                    records: records.collect(),
                    next: page.next.filter(|next| next.starts_with(prefix)),
                }
            }
        };
        let changes = self.shard.held().changes();
        if !self.fill.as_ref().is_some_and(|fill| fill.is_settled) {
            let unsettled = self.unsettled(&page.records);
            if !unsettled.is_empty() {
                self.fill.as_mut().ok_or_else(gone)?.page = Some(page);
                if self
                    .wait_for(Waits::Page, changes, unsettled, 0)
                    .await
                    .is_some()
                {
                    self.fill.as_mut().ok_or_else(gone)?.is_settled = true;
                }
                return Ok(None);
            }
        }
        self.stands = None;
        let StoredPage { records, next } = page;
        if begins && scope == Scope::Complete {
            // Who has begun to forget what it had must be given all, here or elsewhere.
            self.vectors.insert(partition, Vector::new());
        }
        self.fill.as_mut().ok_or_else(gone)?.is_settled = false;
        let ends = next.is_none();
        let filling = self.filling.front_mut().ok_or_else(gone)?;
        filling.next = next;
        if ends {
            let vector = std::mem::take(&mut filling.vector);
            let seen = self.vectors.entry(partition).or_default();
            match scope {
                Scope::Delta => seen.merge(&vector),
                // What was delivered beyond that is forgotten, and comes again.
                Scope::Complete => *seen = vector,
            }
            self.filling.pop_front();
            if self.filling.is_empty() {
                self.fill = None;
            }
        }
        Ok(Some(Next::Records {
            partition,
            begins: begins.then_some(scope),
            records,
            ends,
        }))
    }

    /// Stored records that followers may not have yet.
    fn unsettled(&self, records: &[Entry]) -> Vec<Unsettled> {
        let hidden = records.iter().filter(|entry| {
            let Position { origin, sequence } = entry.position();
            let (keyspace, partition) = (entry.keyspace, entry.partition);
            !self
                .shard
                .is_held_by_enough(keyspace, partition, entry.from, (origin, sequence))
        });
        let unsettled = hidden.map(|entry| Unsettled {
            partition: entry.partition,
            from: entry.from,
            key: entry.key.clone(),
            rank: entry.rank(),
        });
        unsettled.collect()
    }

    /// An entry of the log that may not be shown yet.
    fn unsettled_entry(&self, view: &EntryView<'_>) -> Option<Unsettled> {
        let position = view.position();
        let at = (position.origin, position.sequence);
        let (partition, from) = (view.partition(), view.from());
        let is_shown = self
            .shard
            .is_held_by_enough(view.keyspace(), partition, from, at);
        (!is_shown).then(|| Unsettled {
            partition,
            from,
            key: Bytes::copy_from_slice(view.key()),
            rank: view.rank(),
        })
    }

    /// Waits until more is known of who has what than there was after so many changes, or, where nothing came
    /// for long, until a majority has all that is `hidden`, which ends with `last`: then up to where that is so.
    /// Dropped while it waits, it goes on from there.
    async fn wait_for(
        &mut self,
        what: Waits,
        changes: u64,
        hidden: Vec<Unsettled>,
        last: Index,
    ) -> Option<Index> {
        let partition = hidden.first().map(|first| first.partition);
        if self.stands.map(|(partition, _)| partition) != partition {
            self.stands = partition.map(|partition| (partition, Instant::now()));
        }
        let since = match &self.waits {
            Some((waits, since)) if *waits == what => *since,
            _ => {
                let now = Instant::now();
                self.waits = Some((what, now));
                now
            }
        };
        if let Some((read, last, reading)) = &mut self.settling
            && *read == what
        {
            let last = *last;
            let is_settled = reading.await;
            self.settling = None;
            self.waits = None;
            return is_settled.then_some(last);
        }
        let shard = self.shard.clone();
        tokio::select! {
            biased;
            () = shard.held().changed_since(changes) => {}
            () = tokio::time::sleep_until(since + SETTLE_AFTER) => {
                let keyspace = self.wanted.keyspace;
                let reading = settle(&self.shard, &self.coordinator, keyspace, hidden);
                self.settling = Some((what, last, reading));
            }
        }
        None
    }

    /// What the log has next, once it is on disk and may be shown; `None` where the coverage has changed
    /// meanwhile, or what is known of who has it.
    async fn read(&mut self) -> Result<Option<Vec<Entry>>, FollowError> {
        let failed = |error: CursorError| FollowError::Failed(error.to_string());
        let position = self.source.position();
        let records = self.source.next(STEP_BYTES).await.map_err(failed)?;
        if self.changes != self.shard.coverage().changes() {
            self.source.seek(position);
            return Ok(None);
        }
        let changes = self.shard.held().changes();
        let starts = &self.starts;
        let now = Cell::new(position);
        let keyspace = self.wanted.keyspace;
        let selection = Selection {
            prefix: self.wanted.prefix.clone(),
            ..Selection::all(|of, partition, _| {
                let start = starts.get(&partition).filter(|_| of == keyspace);
                start.is_some_and(|start| *start <= now.get())
            })
        };
        let mut hits = Hits::default();
        let vectors = &self.vectors;
        // Where what it has seen lies before it has been read from further back: given again, what was
        // deleted since would be there for who stops here and goes on elsewhere.
        let is_due = |view: &EntryView<'_>| {
            let seen = vectors.get(&view.partition());
            seen.is_none_or(|seen| is_news(view, seen))
        };
        let hidden = |index: Index, record: &Bytes| {
            now.set(index);
            match selection.look(record) {
                Met::Wanted(view) if index > self.settled_to && is_due(&view) => {
                    self.unsettled_entry(&view)
                }
                _ => None,
            }
        };
        // Nothing goes by what may not be shown yet: a token tells how far each origin was.
        let mut hidden = records.iter().filter_map(|(index, record)| {
            let unsettled = hidden(*index, record)?;
            Some((*index, unsettled))
        });
        let first = hidden.next();
        let behind = match &first {
            Some((index, _)) => *index,
            None => records.last().map_or(position, |(index, _)| index + 1),
        };
        if behind == position && first.is_some() {
            let all: Vec<_> = first.into_iter().chain(hidden).take(SETTLE_KEYS).collect();
            let last = all.last().map_or(position, |(index, _)| *index);
            let unsettled = all.into_iter().map(|(_, unsettled)| unsettled).collect();
            self.source.seek(position);
            if let Some(last) = self
                .wait_for(Waits::Log(position), changes, unsettled, last)
                .await
            {
                self.settled_to = last;
            }
            return Ok(None);
        }
        drop(hidden);
        self.stands = None;
        for (index, record) in records.iter().take_while(|(index, _)| *index < behind) {
            now.set(*index);
            hits.read(record);
            if let Met::Wanted(view) = selection.look(record)
                && is_due(&view)
            {
                hits.keep(record);
            }
            named_by(record, &mut self.seen);
        }
        self.source.seek(behind);
        if self.shard.log_last() < behind {
            self.seen.merge(&self.shard.vector());
        }
        for (partition, seen) in &mut self.vectors {
            let start = self.starts.get(partition);
            if start.is_some_and(|start| *start <= behind) {
                seen.merge(&self.seen);
            }
        }
        let entries = hits.into_entries().into_iter().map(Entry::decode);
        let entries: Result<Vec<Entry>, _> = entries.collect();
        let entries = entries.map_err(|error| FollowError::Failed(error.to_string()))?;
        Ok(Some(entries))
    }
}

fn log_now(shard: &Shard) -> LogNow {
    LogNow {
        incarnation: shard.origin().incarnation(),
        since: shard.coverage().since,
        opened_at: shard.opened_at(),
        last: shard.log_last(),
    }
}

/// Whether the shard's log ends before records that were on disk when the token was given: its directory was put back.
pub(super) fn is_put_back(shard: &Shard, token: &Token) -> bool {
    let log = log_now(shard);
    let mut hints = token.hints_of(shard.address());
    hints.any(|hint| log.was_put_back(hint))
}

/// Up to where a shard's log was read by who has the hint, if it is still that log.
pub(super) fn still_at(shard: &Shard, hint: Hint) -> Option<Index> {
    (hint.shard == shard.address() && log_now(shard).is_kept(hint)).then_some(hint.index)
}

/// Adds what a record of a log says of its origin, or of all.
fn named_by(record: &Bytes, seen: &mut Vector) {
    let Ok(view) = EntryView::new(record) else {
        return;
    };
    match view.kind() {
        Kind::Vector => {
            if let Ok(named) = Vector::decode(view.value()) {
                seen.merge(&named);
            }
        }
        _ if view.copy() => {}
        _ => {
            let position = view.position();
            seen.advance(position.origin, position.sequence);
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.shard.held().count(false);
        self.shard.pins().end_of(&self.holder);
    }
}
