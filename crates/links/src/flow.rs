//! A stream on its way to the other cluster: read, picked, gathered, sent, acknowledged, committed.

use std::time::Duration;

use bytes::Bytes;
use dunlin_changes::{Asked, Merged, Told};
use dunlin_entry::{Entry, Origin, Version};
use dunlin_node::Sabotage;
use dunlin_node::http::LocalFuture;
use dunlin_proto::Token;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until};

use crate::answer::Trouble;
use crate::arrivals::sources;
use crate::batch::Builder;
use crate::kept::Kept;
use crate::pick::{Pick, pick};
use crate::place::cluster_id;
use crate::post::{Acknowledged, Outgoing, Sender};
use crate::progress::Progress;
use crate::report;
use crate::window::Window;

/// A batch is sent when it has so many entries or bytes, or after so long.
const BATCH_ENTRIES: usize = 512;
const BATCH_BYTES: usize = 256 << 10;
const BATCH_WAIT: Duration = Duration::from_millis(5);
/// Batches in flight, and bytes above which no further one is read.
const IN_FLIGHT: usize = 4;
const IN_FLIGHT_BYTES: u64 = 1 << 20;
/// How often it is checked which partitions are to be sent.
const LOOK: Duration = Duration::from_millis(200);
/// Partitions are read at other shards for so many rounds at most.
const ELSEWHERE_ROUNDS: u32 = 6;

/// A round: once all up to a record of this shard's log is acknowledged, this version is delivered.
struct Round {
    /// Up to which version all entries of each home were in the log then.
    homes: Vec<(String, Version)>,
    /// The last record of the log then.
    last: u64,
}

/// The limit of bytes a second.
struct Throttle {
    /// Nothing is read before then.
    until: Instant,
    bytes_per_s: Option<u64>,
}

/// A stream from the committed progress on.
pub(crate) struct Flow {
    sender: Sender,
    leads: Vec<u16>,
    merged: Merged,
    progress: Progress,
    kept: Kept,
    window: Window<Token>,
    in_flight: FuturesUnordered<LocalFuture<Result<Acknowledged, Trouble>>>,
    /// Bytes of keys and values of these.
    in_flight_bytes: u64,
    building: Builder,
    /// When its first entry was read, and the deadline to log it.
    read: Option<(Instant, Version)>,
    /// When the stream was read last, in milliseconds since 1970.
    read_ms: u64,
    /// Up to where all is acknowledged, with places in logs.
    reached: Option<Token>,
    is_dirty: bool,
    committed: Instant,
    round: Option<Round>,
    round_at: Instant,
    /// Since when some partitions are read at other shards: of those nothing is known to be delivered.
    elsewhere_since: Option<Instant>,
    throttle: Throttle,
    origin: Origin,
    theirs: u16,
}

impl Flow {
    pub fn new(sender: Sender, leads: Vec<u16>, progress: Progress, kept: Kept) -> Flow {
        let services = &sender.services;
        let mut from = progress.token(services.cluster_number(), sender.keyspace, &leads);
        let prefix = Bytes::from(sender.link.prefix.clone());
        from.prefix = prefix.clone();
        let subscription = Asked {
            keyspace: sender.keyspace,
            prefix,
            keys_only: false,
            only_here: false,
            who: format!("link {}", sender.link.name),
        };
        let merged = Merged::new(services, subscription, leads.clone(), Some(from), None);
        let limit = sender.link.limit_bytes_per_s;
        let now = Instant::now();
        Flow {
            origin: services.shard().origin(),
            leads,
            merged,
            progress,
            kept,
            window: Window::new(IN_FLIGHT),
            in_flight: FuturesUnordered::new(),
            in_flight_bytes: 0,
            building: Builder::default(),
            read: None,
            read_ms: services.now_ms(),
            reached: None,
            is_dirty: false,
            committed: now,
            round: None,
            round_at: now,
            elsewhere_since: None,
            throttle: Throttle {
                until: now,
                bytes_per_s: limit.map(|limit| (limit / sender.senders()).max(1)),
            },
            theirs: report::target_number(&sender.link),
            sender,
        }
    }

    /// Until other partitions are to be sent, or it does not go on.
    pub async fn run(&mut self) -> Result<(), Trouble> {
        // Without entries: an error shows before there is anything to send.
        self.read = Some(self.now());
        self.flush(None);
        let mut look = Instant::now();
        loop {
            if Instant::now() >= look {
                look = Instant::now() + LOOK;
                if self.sender.leads() != self.leads || self.is_stale() {
                    return self.commit().await;
                }
                self.look().await?;
            }
            let is_throttled = Instant::now() < self.throttle.until;
            let has_room = self.window.has_room() && self.in_flight_bytes < IN_FLIGHT_BYTES;
            let may_read = has_room && !is_throttled;
            if may_read {
                self.check_pause()?;
            }
            let flush_at = self.read.map(|(read, _)| read + BATCH_WAIT);
            tokio::select! {
                biased;
                Some(answer) = self.in_flight.next() => self.acknowledge(answer?),
                () = sleep_until(flush_at.unwrap_or(look)), if flush_at.is_some() => {
                    let token = self.merged.token();
                    self.flush(token);
                }
                () = sleep_until(look) => {}
                () = sleep_until(self.throttle.until), if is_throttled => {}
                event = self.merged.next(), if may_read => self.take(event)?,
            }
        }
    }

    /// Whether partitions are read at other shards for long: this shard could not be read when the stream began. A new
    /// stream reads it.
    fn is_stale(&mut self) -> bool {
        let own = self.sender.services.shard().address();
        let is_here = |token: &Token| token.hint(own, &self.leads).is_some();
        if self.reached.as_ref().is_none_or(is_here) {
            self.elsewhere_since = None;
            return false;
        }
        let since = *self.elsewhere_since.get_or_insert_with(Instant::now);
        since.elapsed() >= self.sender.times.round * ELSEWHERE_ROUNDS
    }

    fn now(&self) -> (Instant, Version) {
        let sender = &self.sender;
        let until_ms = sender.services.now_ms() + sender.times.life_ms();
        (Instant::now(), Version::new(until_ms, 0))
    }

    /// Entries wait in this process while the stream is not read: after a long pause they may be old.
    fn check_pause(&mut self) -> Result<(), Trouble> {
        let now_ms = self.sender.services.now_ms();
        let before_ms = std::mem::replace(&mut self.read_ms, now_ms);
        if now_ms.saturating_sub(before_ms) > self.sender.times.life_ms() {
            let line =
                "the stream was not read for a minute: it starts again at the committed progress";
            return Err(Trouble::waiting(line));
        }
        Ok(())
    }

    /// Takes an event of the stream.
    fn take(&mut self, event: Told) -> Result<(), Trouble> {
        match event {
            Told::Beat | Told::Moved { .. } => {}
            Told::Entries(changes) => {
                for change in &changes {
                    self.push(change, false);
                }
            }
            Told::Records {
                partition,
                records,
                ends,
                ..
            } => {
                self.sender.gauge.load(partition, ends);
                for record in &records {
                    self.push(record, true);
                }
            }
            Told::PutBack => {
                return Err(Trouble::waiting(
                    "the log of a node here was put back to an earlier state: it goes on when that node has caught up",
                ));
            }
            Told::Done | Told::Dropped => {
                return Err(Trouble::waiting("the keyspace here is dropped"));
            }
        }
        let token = self.merged.token();
        if self.building.count == 0 {
            if let Some(reached) = token.and_then(|token| self.window.pass(token)) {
                self.reach(reached);
            }
        } else if self.building.count >= BATCH_ENTRIES || self.building.len() >= BATCH_BYTES {
            self.flush(token);
        }
        Ok(())
    }

    fn push(&mut self, entry: &Entry, is_stored: bool) {
        let sent = self.progress.vector(entry.partition);
        let again = self.sender.services.sabotage() == Sabotage::LinkSnapshotAgain;
        if pick(entry, self.theirs, sent.filter(|_| is_stored && !again)) != Pick::Send {
            self.sender.gauge.count(|counts| counts.filtered += 1);
            return;
        }
        let is_full = self.building.len() + entry.encoded_len() > BATCH_BYTES
            || self.building.count >= BATCH_ENTRIES;
        if is_full && self.building.count > 0 {
            // In the middle of what the stream gave at once: there is no token of it.
            self.flush(None);
        }
        if self.read.is_none() {
            self.read = Some(self.now());
        }
        if !is_stored && entry.stamp.origin.cluster() == self.origin.cluster() {
            let logged_ms = entry.position().sequence.millis();
            self.building.logged_ms.push(logged_ms);
        }
        self.building.push(entry);
    }

    /// Sends the gathered entries. `token` is where the stream goes on after them.
    fn flush(&mut self, token: Option<Token>) {
        let Some((read, deadline)) = self.read.take() else {
            return;
        };
        let entries = std::mem::take(&mut self.building);
        if let Some(limit) = self.throttle.bytes_per_s {
            let cost = Duration::from_secs_f64(entries.payload_bytes as f64 / limit as f64);
            self.throttle.until = self.throttle.until.max(read) + cost;
        }
        self.in_flight_bytes += entries.payload_bytes;
        if let Some(token) = &token
            && self.sender.services.sabotage() == Sabotage::LinkTokenAhead
        {
            self.is_dirty = true;
            self.reach(token.clone());
        }
        let outgoing = Outgoing {
            number: self.window.push(token),
            entries,
            read,
            deadline,
            is_repair: false,
        };
        let sender = self.sender.clone();
        self.in_flight.push(Box::pin(sender.post(outgoing)));
    }

    fn acknowledge(&mut self, batch: Acknowledged) {
        self.in_flight_bytes -= batch.payload_bytes;
        let gauge = &self.sender.gauge;
        gauge.acknowledged(batch.payload_bytes);
        let now_ms = self.sender.services.now_ms();
        for logged_ms in &batch.logged_ms {
            gauge.latency(now_ms.saturating_sub(*logged_ms));
        }
        let taken = &batch.taken;
        gauge.count(|counts| {
            counts.sent += batch.count;
            counts.sent_bytes += batch.payload_bytes;
            counts.held += taken.held;
            counts.older += taken.older;
            counts.own += taken.own;
            counts.future += taken.future.len() as u64;
        });
        if let Some(first) = taken.future.first() {
            tracing::warn!(
                link = self.sender.link.name,
                key_base64 = first.key_base64,
                version = first.version,
                entries = taken.future.len(),
                "the target leaves out entries with future timestamps"
            );
        }
        // A commit is an entry of the log, too: without rounds and entries there is none.
        self.is_dirty |= batch.count > 0;
        if let Some(reached) = self.window.acknowledge(batch.number) {
            self.reach(reached);
        }
    }

    /// All up to a token is acknowledged.
    fn reach(&mut self, token: Token) {
        self.progress.advance(&token, self.sender.services.now_ms());
        let hint = token.hint(self.sender.services.shard().address(), &self.leads);
        let here = hint.filter(|hint| hint.incarnation == self.origin.incarnation());
        if let Some(round) = &self.round
            && here.is_some_and(|hint| hint.index >= round.last)
        {
            for (home, version) in &round.homes {
                for partition in &self.leads {
                    self.progress.deliver(*partition, home, *version);
                }
            }
            self.round = None;
            self.is_dirty = true;
        }
        self.reached = Some(token);
    }

    /// The periodic work.
    async fn look(&mut self) -> Result<(), Trouble> {
        let services = &self.sender.services;
        let now = Instant::now();
        if self.round.is_none() && now >= self.round_at {
            // First the versions, then the end of the log: all entries up to them are before it.
            if let Some(known) = services.known_before() {
                let homes = self.logged(known).await;
                let last = services.log_last();
                self.round = Some(Round { homes, last });
                self.round_at = now + self.sender.times.round;
                if let Some(reached) = self.reached.clone() {
                    self.reach(reached);
                }
            }
        }
        let is_waiting = !self.window.has_room();
        self.sender.gauge.follow(&self.merged.status(), is_waiting);
        let is_due = now.duration_since(self.committed) >= self.sender.times.commit;
        if is_due {
            self.commit().await?;
        }
        Ok(())
    }

    /// Up to which version all entries of each home are in this shard's log.
    async fn logged(&self, known: Version) -> Vec<(String, Version)> {
        let services = &self.sender.services;
        let link = &self.sender.link;
        let sources = sources(services, self.sender.keyspace).await;
        // This cluster's own do not depend on them.
        let sources = sources.unwrap_or_else(|failure| {
            tracing::debug!(%failure, "links from other clusters cannot be read now");
            Vec::new()
        });
        let bound_ms = services.clock_bound_ms();
        let own = cluster_id(services);
        let last_ms = self.sender.times.life_ms() + 2 * bound_ms;
        report::logged(&own, link, &sources, known, (bound_ms, last_ms))
    }

    /// Commits the progress, and keeps the part of the log that is still needed.
    async fn commit(&mut self) -> Result<(), Trouble> {
        if !self.is_dirty {
            return Ok(());
        }
        let sender = &self.sender;
        let services = &sender.services;
        let (cluster, now_ms) = (services.cluster_number(), services.now_ms());
        let record = self
            .progress
            .record(cluster, sender.keyspace, &self.leads, now_ms);
        let reached = self.reached.clone();
        self.committed = Instant::now();
        // Whether a failed commit was written is not known: the next stream begins with the record as it is.
        self.kept.commit(&record).await.map_err(|failure| {
            Trouble::waiting(format!("its progress cannot be kept: {failure}"))
        })?;
        self.is_dirty = false;
        if let Some(reached) = reached {
            let name = format!("link {}", sender.link.name);
            services.followers().keep(&name, &reached);
        }
        Ok(())
    }
}
