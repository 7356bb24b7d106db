//! All sources of a stream, as one: items as they come, and one token of all that was told.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::{Entry, Vector, Version};
use dunlin_node::{Sabotage, Scope, Services};
use dunlin_proto::api::StreamStatus;
use dunlin_proto::{ShardAddress, Token};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::assign::{assign, set_apart};
use crate::change::{Change, bytes_of};
use crate::cut::cut;
use crate::gauge::{Gauge, Streams};
use crate::held::Holder;
use crate::item::{Item, Open, What};
use crate::plug::AtShard;
use crate::reading::{Asked, beginning};
use crate::source::{AVOID, Broken, Source};

/// How often it is checked whether majorities can be reached.
const LOOK: Duration = Duration::from_secs(1);
/// How often partitions that nobody serves are tried again.
const RETRY: Duration = Duration::from_millis(200);

/// What there is to tell.
#[derive(Debug)]
pub enum Told {
    /// Nothing: the stream has got further, or stands still.
    Beat,
    /// Stored records of a partition.
    Records {
        /// Which.
        partition: u16,
        /// What what is not named means, at the beginning; the token of before it tells of.
        begins: Option<(Scope, Box<Token>)>,
        /// Ascending by key.
        records: Vec<Entry>,
        /// They are the last.
        ends: bool,
    },
    /// Entries, each origin's in its order.
    Entries(Vec<Rc<Change>>),
    /// These come from another replica from now on.
    Moved {
        /// Which.
        partitions: Vec<u16>,
        /// Where from.
        to: ShardAddress,
    },
    /// All that was to be told has been.
    Done,
    /// The keyspace is dropped; nothing more comes.
    Dropped,
    /// A log was put back to before the token: the stream must begin anew. Nothing more comes.
    PutBack,
}

impl Told {
    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Told::Records { records, .. } => records.iter().map(bytes_of).sum(),
            Told::Entries(changes) => changes.iter().map(|change| bytes_of(change)).sum(),
            _ => 0,
        }
    }
}

type Turn = (u64, Option<Source>, Result<Item, Broken>);

/// A source that is being read.
struct Reader {
    at: ShardAddress,
    partitions: Vec<u16>,
    /// What it said last, and was told.
    latest: Option<Rc<Token>>,
    /// Deletes up to this stamp may be forgotten there.
    forgotten: Version,
}

/// A stream of a keyspace.
pub struct Merged {
    services: Rc<Services>,
    asked: Asked,
    /// None as long as what was before the beginning is not wanted, and no beginning known.
    token: Option<Token>,
    targets: Option<BTreeMap<u16, Vector>>,
    partitions: Vec<u16>,
    readers: BTreeMap<u64, Reader>,
    turns: FuturesUnordered<Pin<Box<dyn Future<Output = Turn>>>>,
    count: u64,
    /// Partitions that nobody serves.
    unserved: Vec<u16>,
    retry: Instant,
    avoid: BTreeMap<ShardAddress, Instant>,
    /// Who served each partition last.
    served: BTreeMap<u16, ShardAddress>,
    moved: Vec<(Vec<u16>, ShardAddress)>,
    is_put_back: bool,
    /// Since when no majority of any partition's replicas can be reached from here.
    isolated: Option<Instant>,
    look_at: Instant,
    /// Whose log or store had what was told last.
    teller: ShardAddress,
    streams: Rc<Streams>,
    gauge: Rc<Gauge>,
}

impl Merged {
    /// Of these partitions, from a token on: one that names nothing begins at the beginning, none with what
    /// comes from now on. With `targets` it is done when all of these have been told.
    pub fn new(
        services: &Rc<Services>,
        asked: Asked,
        partitions: Vec<u16>,
        from: Option<Token>,
        targets: Option<BTreeMap<u16, Vector>>,
    ) -> Merged {
        let token = from.map(|token| token.narrow(&partitions));
        let streams = AtShard::of(services).map_or_else(Rc::default, |own| own.streams.clone());
        let gauge = streams.begin(asked.keyspace, &asked.who);
        Merged {
            services: services.clone(),
            asked,
            token,
            targets,
            unserved: partitions.clone(),
            partitions,
            readers: BTreeMap::new(),
            turns: FuturesUnordered::new(),
            count: 0,
            retry: Instant::now(),
            avoid: BTreeMap::new(),
            served: BTreeMap::new(),
            moved: Vec::new(),
            is_put_back: false,
            isolated: None,
            look_at: Instant::now(),
            teller: services.shard().address(),
            streams,
            gauge,
        }
    }

    /// Whose log or store had what [`Merged::next`] gave last.
    pub fn teller(&self) -> ShardAddress {
        self.teller
    }

    /// It goes by a cursor.
    pub(crate) fn set_cursor(&self, name: &str) {
        self.gauge.set_cursor(name);
    }

    /// Ends its connection, where it holds much for a client that does not read.
    pub(crate) fn set_abort(&self, abort: Rc<Notify>) {
        self.gauge.set_abort(abort);
    }

    /// The holder of changes until the client has taken them.
    pub(crate) fn holder(&self) -> Holder {
        Holder {
            total: self.streams.held.clone(),
            own: self.gauge.held_bytes.clone(),
        }
    }

    /// Its progress, as status has it.
    pub fn status(&self) -> StreamStatus {
        self.gauge.status(&self.services, &self.streams)
    }

    /// A token that begins a keyspace at its beginning.
    pub fn beginning(services: &Services, keyspace: u32) -> Token {
        beginning(services.cluster_number(), keyspace)
    }

    /// Where all goes on that was told; `None` as long as a partition has not begun.
    pub fn token(&self) -> Option<Token> {
        let mut token = match &self.token {
            Some(token) => token.clone(),
            None => beginning(self.services.cluster_number(), self.asked.keyspace),
        };
        let latest = self.readers.values().filter_map(|r| r.latest.as_ref());
        latest.for_each(|latest| token.advance(latest));
        token.prefix = self.asked.prefix.clone();
        (self.token.is_some() || token.names(&self.partitions)).then_some(token)
    }

    /// Deletes up to this stamp may be forgotten by who serves: nothing older of their keys comes again. None where
    /// not all is served.
    pub fn forgotten(&self) -> Option<Version> {
        let readers = self.readers.values().map(|reader| reader.forgotten);
        let least = readers.min().filter(|least| *least > Version(0));
        least.filter(|_| self.unserved.is_empty())
    }

    /// The next event. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Told {
        self.next_at_most(usize::MAX).await
    }

    /// The same of at most so many changes: with fewer than there were at hand this is at its end, and nothing may be
    /// read of it any more. Dropped while it waits, nothing is lost.
    pub async fn next_at_most(&mut self, changes_max: usize) -> Told {
        let _wanting = self.gauge.wanting();
        loop {
            if self.services.is_gone(self.asked.keyspace) {
                return Told::Dropped;
            }
            if self.is_put_back {
                return Told::PutBack;
            }
            if Instant::now() >= self.look_at {
                self.look();
                if self.isolated.is_some() {
                    return Told::Beat;
                }
            }
            self.serve();
            if let Some((partitions, to)) = self.moved.pop() {
                return Told::Moved { partitions, to };
            }
            if self.is_done() {
                return Told::Done;
            }
            let turn = tokio::select! {
                biased;
                Some(turn) = self.turns.next() => turn,
                () = sleep_until(self.retry), if !self.unserved.is_empty() => continue,
                // There is always one of the two, unless nothing is wanted.
                else => return Told::Done,
            };
            if let Some(told) = self.take(turn, changes_max) {
                return told;
            }
        }
    }

    /// Since when no majority of any partition's replicas can be reached from here: another node may reach one.
    pub fn isolated_since(&self) -> Option<Instant> {
        self.isolated
    }

    /// Checks whether a majority of each partition can be reached.
    fn look(&mut self) {
        let now = Instant::now();
        self.look_at = now + LOOK;
        let minorities = self.streams.minorities(&self.services, self.asked.keyspace);
        let (mut any, mut all) = (false, true);
        for partition in &self.partitions {
            let is_one = minorities.contains(partition);
            any |= is_one;
            all &= is_one;
        }
        self.isolated = all.then(|| self.isolated.unwrap_or(now));
        self.gauge.set_minority(any.then_some(now));
    }

    fn is_done(&self) -> bool {
        self.targets.is_some() && self.unserved.is_empty() && self.turns.is_empty()
    }

    /// Opens sources for partitions that have none.
    fn serve(&mut self) {
        let now = Instant::now();
        if self.unserved.is_empty() || now < self.retry {
            return;
        }
        self.retry = now + RETRY;
        self.avoid.retain(|_, until| *until > now);
        let (services, keyspace) = (&self.services, self.asked.keyspace);
        let own = services.shard().address();
        let is_wanted = |shard| shard == own || !self.asked.only_here;
        let can_serve = |shard| services.is_reachable(shard) && !self.avoid.contains_key(&shard);
        let assigned = assign(
            &self.unserved,
            own,
            |partition| services.replicas(keyspace, partition),
            |shard| is_wanted(shard) && can_serve(shard),
        );
        for (at, partitions) in assigned {
            self.unserved.retain(|p| !partitions.contains(p));
            let token = self.token.clone();
            self.open(at, partitions, token);
        }
    }

    fn open(&mut self, at: ShardAddress, partitions: Vec<u16>, from: Option<Token>) {
        self.count += 1;
        let number = self.count;
        let mut from = from.map(|token| token.narrow(&partitions));
        if self.services.sabotage() == Sabotage::SkipAtSwitch && !self.served.is_empty() {
            from = None;
        }
        let until = self.targets.as_ref().map(|targets| {
            let of = |p: &u16| Some((*p, targets.get(p)?.clone()));
            partitions.iter().filter_map(of).collect()
        });
        let open = Open {
            keyspace: self.asked.keyspace,
            partitions: partitions.clone(),
            keys_only: self.asked.keys_only,
            prefix: self.asked.prefix.clone(),
            from,
            until,
            is_tail: false,
            who: self.asked.who.clone(),
        };
        let latest = match self.token {
            Some(_) => None,
            // One that begins with what comes from now on, and has begun.
            None => open.from.clone().map(Rc::new),
        };
        let changed = |p: &&u16| self.served.get(p).is_some_and(|before| *before != at);
        let moved: Vec<u16> = partitions.iter().filter(changed).copied().collect();
        if !moved.is_empty() {
            self.moved.push((moved, at));
        }
        self.served.extend(partitions.iter().map(|p| (*p, at)));
        let reader = Reader {
            at,
            partitions,
            latest,
            forgotten: Version(0),
        };
        self.readers.insert(number, reader);
        let (services, holder) = (self.services.clone(), self.holder());
        self.turns.push(Box::pin(async move {
            match Source::open(&services, at, open, holder).await {
                Ok(source) => turn(number, source).await,
                Err(broken) => (number, None, Err(broken)),
            }
        }));
    }

    /// Takes what a source gave; `None` where there is nothing to tell of it.
    fn take(&mut self, (number, source, given): Turn, changes_max: usize) -> Option<Told> {
        let mut item = match (given, source) {
            (Ok(item), Some(source)) => {
                if !item.is_done && !matches!(item.what, What::Stands(_)) {
                    self.turns.push(Box::pin(turn(number, source)));
                }
                item
            }
            (Err(Broken::PutBack), _) => {
                self.is_put_back = true;
                return Some(Told::PutBack);
            }
            (Err(broken), _) => {
                self.give_up(number, &broken);
                return Some(Told::Beat);
            }
            (Ok(_), None) => return None,
        };
        if let What::Stands(partition) = item.what {
            self.set_apart(number, partition, &item.token);
            return Some(Told::Beat);
        }
        let reader = self.readers.get(&number)?;
        let latest = reader.latest.clone();
        let before = latest.or_else(|| {
            let token = self.token.clone()?;
            Some(Rc::new(token.narrow(&reader.partitions)))
        });
        let before = before.unwrap_or_else(|| {
            let cluster = self.services.cluster_number();
            Rc::new(beginning(cluster, self.asked.keyspace))
        });
        if item.changes() > changes_max {
            let ahead = item.token.clone();
            cut(&mut item, &before, changes_max);
            if self.services.sabotage() == Sabotage::TokenAhead {
                item.token = ahead;
            }
        }
        self.teller = reader.at;
        let (services, streams) = (&self.services, &self.streams);
        self.gauge.told(services, streams, number, reader.at, &item);
        let reader = self.readers.get_mut(&number)?;
        let mut told = match item.what {
            What::Beat | What::PutBack | What::Stands(_) => Told::Beat,
            What::Entries(entries) => Told::Entries(entries),
            What::Records {
                partition,
                begins,
                records,
                ends,
            } => {
                // Whoever forgets what he had stores with that that he has nothing.
                let begins = begins.map(|scope| {
                    let mut token = Token::clone(&before);
                    token.set_within(partition, None);
                    if scope == Scope::Complete
                        && self.services.sabotage() != Sabotage::NameForgotten
                    {
                        token.forget(partition);
                    }
                    reader.latest = Some(Rc::new(token.clone()));
                    (scope, Box::new(token))
                });
                Told::Records {
                    partition,
                    begins,
                    records,
                    ends,
                }
            }
        };
        if let Told::Records {
            begins: Some((_, token)),
            ..
        } = &mut told
        {
            // Of all partitions, as of before these records.
            if let Some(all) = self.token() {
                **token = all;
            }
        }
        if let Some(reader) = self.readers.get_mut(&number) {
            reader.latest = Some(item.token);
            reader.forgotten = item.forgotten;
        }
        // The token of one that began with what comes from now on is known when all have begun.
        if self.token.is_none() {
            self.token = self.token();
        }
        Some(told)
    }

    /// Goes on with a source's partitions as two: one of them gets no further and is not to hold the others.
    fn set_apart(&mut self, number: u64, stands: u16, token: &Token) {
        let Some(reader) = self.readers.remove(&number) else {
            return;
        };
        self.gauge.lost(number);
        if let Some(told) = &mut self.token {
            told.advance(token);
        }
        let (services, keyspace) = (self.services.clone(), self.asked.keyspace);
        let lacks = |partition| services.lacks_majority(keyspace, partition);
        let (apart, others) = set_apart(&reader.partitions, stands, lacks);
        for partitions in [apart, others] {
            if !partitions.is_empty() {
                self.open(reader.at, partitions, Some(token.clone()));
            }
        }
    }

    fn give_up(&mut self, number: u64, broken: &Broken) {
        let Some(reader) = self.readers.remove(&number) else {
            return;
        };
        self.gauge.lost(number);
        let now = Instant::now();
        tracing::debug!(at = %reader.at, %broken, who = self.asked.who, "a source of a stream is lost");
        self.avoid.insert(reader.at, now + AVOID);
        // As long as not all have begun there is no token: what comes from now on begins again.
        if let (Some(token), Some(latest)) = (&mut self.token, &reader.latest) {
            token.advance(latest);
        }
        self.unserved.extend(reader.partitions);
        self.retry = now;
    }
}

async fn turn(number: u64, mut source: Source) -> Turn {
    let given = source.next().await;
    (number, Some(source), given)
}
