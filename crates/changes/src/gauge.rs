//! How far each stream is, for people.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::time::Duration;

use dunlin_log::Index;
use dunlin_node::{Rate, Services};
use dunlin_proto::ShardAddress;
use dunlin_proto::api::StreamStatus;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::held::{HELD_MAX, Total};
use crate::item::{Item, What};

/// A stream that is further behind is catching up, in milliseconds.
const BEHIND_MS: u64 = 1_000;
/// For how long it counts which replicas can be reached.
const MINORITY_FOR: Duration = Duration::from_millis(900);
/// A stream whose client has taken nothing for so long is not read.
const UNREAD_AFTER: Duration = Duration::from_secs(1);

/// When this was determined, and the partitions of which no majority of replicas could be reached.
type Minorities = (Instant, Rc<BTreeSet<u16>>);

/// The streams that a shard serves.
#[derive(Default)]
pub(crate) struct Streams {
    all: RefCell<Vec<Weak<Gauge>>>,
    /// The last record of each shard's log, as it said last.
    ends: RefCell<BTreeMap<ShardAddress, Index>>,
    /// What they hold for clients.
    pub held: Rc<Total>,
    /// The same, of each keyspace.
    minorities: RefCell<BTreeMap<u32, Minorities>>,
}

/// How far one stream is.
pub(crate) struct Gauge {
    keyspace: u32,
    who: String,
    begun: Instant,
    cursor: RefCell<Option<String>>,
    /// Of each source its shard, and up to which record of its log it was read; `None` in a snapshot.
    sources: RefCell<BTreeMap<u64, (ShardAddress, Option<Index>)>>,
    changes: Cell<u64>,
    rate: Rate,
    /// When the newest change that was told was written, in milliseconds since 1970.
    newest_ms: Cell<u64>,
    /// When it last had been told all there was.
    current_ms: Cell<u64>,
    /// When its client last wanted more; `None` while he does.
    left: Cell<Option<Instant>>,
    /// What it holds for its client.
    pub held_bytes: Rc<Cell<usize>>,
    /// Ends its connection.
    abort: RefCell<Rc<Notify>>,
    /// Since when no majority of a partition's replicas can be reached.
    minority_since: Cell<Option<Instant>>,
}

/// Somebody waits for what comes next.
pub(crate) struct Wanting(Rc<Gauge>);

impl Drop for Wanting {
    fn drop(&mut self) {
        self.0.left.set(Some(Instant::now()));
    }
}

impl Streams {
    /// A stream has begun.
    pub fn begin(&self, keyspace: u32, who: &str) -> Rc<Gauge> {
        let gauge = Rc::new(Gauge::new(keyspace, who));
        let mut all = self.all.borrow_mut();
        all.retain(|gauge| gauge.strong_count() > 0);
        all.push(Rc::downgrade(&gauge));
        gauge
    }

    /// A shard has said where its log ends.
    pub fn ends(&self, shard: ShardAddress, last: Index) {
        self.ends.borrow_mut().insert(shard, last);
    }

    /// The last record of a shard's log.
    pub fn end_of(&self, services: &Services, shard: ShardAddress) -> Index {
        if shard == services.shard().address() {
            return services.log_last();
        }
        self.ends.borrow().get(&shard).copied().unwrap_or(0)
    }

    /// The partitions of a keyspace of whose replicas no majority can be reached, determined once a second for all streams.
    pub fn minorities(&self, services: &Services, keyspace: u32) -> Rc<BTreeSet<u16>> {
        let now = Instant::now();
        let mut all = self.minorities.borrow_mut();
        if let Some((at, known)) = all.get(&keyspace)
            && now.duration_since(*at) < MINORITY_FOR
        {
            return known.clone();
        }
        let count = services.partition_count(keyspace).unwrap_or(0);
        let found = (0..count).filter(|p| services.lacks_majority(keyspace, *p));
        let found: Rc<BTreeSet<u16>> = Rc::new(found.collect());
        all.insert(keyspace, (now, found.clone()));
        found
    }

    /// Ends streams whose clients do not read, while too much is held for them; those first that have not for longest.
    pub fn bound(&self) {
        let mut over = self.held.bytes().saturating_sub(HELD_MAX);
        if over == 0 {
            return;
        }
        let live = self.all.borrow();
        let live = live.iter().filter_map(Weak::upgrade);
        let holding = live.filter(|gauge| gauge.held_bytes.get() > 0);
        let idle = holding.filter_map(|gauge| Some((gauge.unread_for()?, gauge)));
        let mut idle: Vec<_> = idle.collect();
        idle.sort_by_key(|(unread, _)| std::cmp::Reverse(*unread));
        for (_, gauge) in idle {
            if over == 0 {
                break;
            }
            let held_bytes = gauge.held_bytes.get();
            tracing::info!(
                who = gauge.who,
                held_bytes,
                "a stream ends: its client does not read, and too much is held for such clients"
            );
            gauge.abort.borrow().notify_one();
            over = over.saturating_sub(held_bytes);
        }
    }

    /// All of them, who is furthest behind first.
    pub fn status(&self, services: &Services) -> Vec<StreamStatus> {
        let all = self.all.borrow();
        let live = all.iter().filter_map(Weak::upgrade);
        let mut told: Vec<_> = live.map(|gauge| gauge.status(services, self)).collect();
        told.sort_by_key(|stream| std::cmp::Reverse(stream.behind_ms));
        told
    }
}

impl Gauge {
    pub fn new(keyspace: u32, who: &str) -> Gauge {
        Gauge {
            keyspace,
            who: who.to_owned(),
            begun: Instant::now(),
            cursor: RefCell::default(),
            sources: RefCell::default(),
            changes: Cell::new(0),
            rate: Rate::default(),
            newest_ms: Cell::new(0),
            current_ms: Cell::new(0),
            left: Cell::new(None),
            held_bytes: Rc::default(),
            abort: RefCell::default(),
            minority_since: Cell::new(None),
        }
    }

    /// At this time no majority of a partition's replicas could be reached; none where all could.
    pub fn set_minority(&self, now: Option<Instant>) {
        let since = self.minority_since.get();
        self.minority_since.set(now.map(|now| since.unwrap_or(now)));
    }

    /// What ends its connection.
    pub fn set_abort(&self, abort: Rc<Notify>) {
        *self.abort.borrow_mut() = abort;
    }

    /// For how long its client has taken nothing, where it does not read.
    fn unread_for(&self) -> Option<Duration> {
        let unread = self.left.get().map(|left| left.elapsed());
        unread.filter(|unread| *unread > UNREAD_AFTER)
    }

    /// It goes by a cursor.
    pub fn set_cursor(&self, name: &str) {
        *self.cursor.borrow_mut() = Some(name.to_owned());
    }

    /// Its client wants more.
    pub fn wanting(self: &Rc<Self>) -> Wanting {
        self.left.set(None);
        Wanting(self.clone())
    }

    /// A source has given an item, of which all is told.
    pub fn told(
        &self,
        services: &Services,
        streams: &Streams,
        number: u64,
        at: ShardAddress,
        item: &Item,
    ) {
        streams.ends(at, item.end);
        // It is of all its partitions, or there is none.
        let index = item.token.hint(at, &[]).map(|hint| hint.index);
        self.sources.borrow_mut().insert(number, (at, index));
        if let What::Entries(changes) = &item.what {
            let written = changes.iter().map(|change| change.stamp.version.millis());
            let newest_ms = written.fold(self.newest_ms.get(), u64::max);
            self.newest_ms.set(newest_ms);
        }
        let changes = self.changes.get() + item.changes() as u64;
        self.changes.set(changes);
        self.rate.add(item.bytes());
        self.rate.tick(Instant::now());
        if self.entries_behind(services, streams) == Some(0) {
            self.current_ms.set(services.now_ms());
        }
    }

    /// A source is lost.
    pub fn lost(&self, number: u64) {
        self.sources.borrow_mut().remove(&number);
    }

    /// Records of logs that are still to be read; `None` where stored records come first.
    fn entries_behind(&self, services: &Services, streams: &Streams) -> Option<u64> {
        let sources = self.sources.borrow();
        let mut all = 0;
        for (at, index) in sources.values() {
            all += streams.end_of(services, *at).saturating_sub((*index)?);
        }
        Some(all)
    }

    pub fn status(&self, services: &Services, streams: &Streams) -> StreamStatus {
        let entries_behind = self.entries_behind(services, streams);
        let is_unread = self.unread_for().is_some();
        self.rate.tick(Instant::now());
        let last_ms = self.newest_ms.get().max(self.current_ms.get());
        let behind_ms = match entries_behind {
            Some(0) => 0,
            _ if last_ms == 0 => self.begun.elapsed().as_millis() as u64,
            _ => services.now_ms().saturating_sub(last_ms),
        };
        // Writes elsewhere since then are not known here.
        let since = self.minority_since.get();
        let minority_ms = since.map_or(0, |since| since.elapsed().as_millis() as u64);
        let behind_ms = behind_ms.max(minority_ms);
        let state = match entries_behind {
            _ if is_unread => "not_read",
            _ if minority_ms > BEHIND_MS => "no_majority",
            None => "snapshot",
            Some(_) if behind_ms > BEHIND_MS => "catching_up",
            Some(_) => "streaming",
        };
        StreamStatus {
            at: services.label_of(services.shard().address()),
            keyspace: services.keyspace_name(self.keyspace),
            who: self.who.clone(),
            cursor: self.cursor.borrow().clone(),
            state: state.to_owned(),
            entries_behind,
            bytes_behind: entries_behind.map(|entries| self.bytes_behind(services, entries)),
            behind_ms,
            changes: self.changes.get(),
            bytes_per_s: self.rate.bytes_per_s(),
            connected_ms: self.begun.elapsed().as_millis() as u64,
        }
    }

    /// Bytes of so many records, as if all logs had records of the size that this shard's has.
    fn bytes_behind(&self, services: &Services, entries: u64) -> u64 {
        let sources = self.sources.borrow();
        let own = services.shard().address();
        match sources.values().next() {
            Some((at, Some(index))) if sources.len() == 1 && *at == own => {
                services.log_bytes_behind(*index)
            }
            _ => services.log_record_bytes().saturating_mul(entries),
        }
    }
}
