//! Copying what this shard takes over: stored records first, then, in rounds, what the old
//! replicas' logs have had since.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, Origin, Vector, Version};
use dunlin_metadata::{Change, Phase};
use dunlin_proto::{
    FillPage, FillRequest, Froms, Place, Request, Response, ShardAddress, TailAnswer, TailRequest,
};
use futures_util::future::join;
use tokio::time::{Instant, timeout};

use super::journal::{Journal, PartNote, SourceNote};
use super::plan::{self, Part};
use crate::limits::{CHUNK_BYTES, CLAIM_INTERVAL, MOVE_INTERVAL, PAGE_TIMEOUT};
use crate::replication::{address_of, copy_of};
use crate::sabotage::Sabotage;
use crate::shard::{Peer, Shard};

/// Entries of a log's tail that are applied at once: each may cost a look at the disk.
const TAIL_ENTRIES: usize = 128;
/// A log's tail is read for at least one part of the time in so many more.
const TAIL_PAUSES_MAX: u32 = 4;

/// What a shard takes over in one change.
#[derive(Default)]
pub(super) struct Fill {
    /// Number of the change.
    pub change: u64,
    /// All that was stored has been copied, and the logs were read to their ends.
    pub filled: bool,
    /// Everything acknowledged before the joint phase is here.
    pub caught_up: bool,
    /// Everything that those who leave have ever written is here.
    pub level: bool,
    /// Records copied.
    pub records: u64,
    /// Bytes of keys and values copied.
    pub bytes: u64,
    sources: BTreeMap<ShardAddress, Source>,
    /// Up to where anybody had the entries of each origin when all had come to the joint phase.
    marks: Option<Vector>,
    /// When the vector last claimed what was copied.
    claimed: Option<Instant>,
}

/// One old replica.
#[derive(Default)]
struct Source {
    /// Where its log goes on behind its stored records; `None` before it was asked.
    begin: Option<u64>,
    /// Its start for which `next` holds; 0 when it is to be asked.
    incarnation: u32,
    /// First record of its log not read yet.
    next: u64,
    /// Its vector when its log was last read to the end.
    end: Option<Vector>,
    parts: BTreeMap<Place, Progress>,
}

/// How far one partition has come.
struct Progress {
    froms: Froms,
    /// First key not copied yet; `None` when all are.
    next: Option<Bytes>,
}

impl Fill {
    pub fn parts(&self) -> u64 {
        self.sources.values().map(|s| s.parts.len() as u64).sum()
    }

    pub fn parts_done(&self) -> u64 {
        let done = |source: &Source| source.parts.values().filter(|p| p.next.is_none()).count();
        self.sources.values().map(|s| done(s) as u64).sum()
    }

    fn begin(change: u64, journal: Option<Journal>) -> Fill {
        let mut fill = Fill {
            change,
            ..Fill::default()
        };
        for note in journal.into_iter().flat_map(|j| j.sources) {
            let parts = note.parts.iter().map(|part| {
                let place = Place {
                    keyspace: part.keyspace,
                    partition: part.partition,
                };
                let progress = Progress {
                    froms: Froms(part.froms),
                    next: part.next.clone().map(Bytes::from),
                };
                (place, progress)
            });
            let source = Source {
                begin: Some(note.begin),
                next: note.begin,
                incarnation: note.incarnation,
                parts: parts.collect(),
                ..Source::default()
            };
            fill.sources.insert(note.address(), source);
        }
        fill
    }

    /// Makes the books say what is to be copied.
    fn plan(&mut self, parts: &[Part]) {
        let wanted = |address: &ShardAddress, place: &Place| {
            let mut of = parts.iter().filter(|p| p.source == *address);
            of.find(|p| p.place == *place)
        };
        for (address, source) in &mut self.sources {
            source.parts.retain(|place, progress| {
                wanted(address, place).is_some_and(|part| part.froms == progress.froms)
            });
        }
        self.sources.retain(|_, source| !source.parts.is_empty());
        for part in parts {
            let source = self.sources.entry(part.source).or_default();
            source.parts.entry(part.place).or_insert_with(|| {
                self.filled = false;
                self.caught_up = false;
                Progress {
                    froms: part.froms,
                    next: Some(Bytes::new()),
                }
            });
        }
    }

    fn journal(&self) -> Journal {
        let sources = self.sources.iter().filter_map(|(address, source)| {
            let parts = source.parts.iter().map(|(place, progress)| PartNote {
                keyspace: place.keyspace,
                partition: place.partition,
                froms: progress.froms.0,
                next: progress.next.as_ref().map(|key| key.to_vec()),
            });
            Some(SourceNote {
                node: address.node,
                shard: address.shard,
                begin: source.begin?,
                incarnation: source.incarnation,
                parts: parts.collect(),
            })
        });
        Journal {
            change: self.change,
            sources: sources.collect(),
        }
    }
}

impl Shard {
    /// Does this shard's part in changes of the members for as long as it runs.
    pub(crate) async fn move_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(MOVE_INTERVAL).await;
            if let Err(error) = self.sweep_due().await {
                tracing::warn!(error, "dropping what others hold failed; trying again");
                continue;
            }
            let Some(change) = self.placement().change.clone() else {
                continue;
            };
            if let Err(error) = self.fill_round(&change).await {
                tracing::debug!(error, change = change.id, "copying interrupted");
            }
        }
    }

    async fn fill_round(self: &Rc<Self>, change: &Change) -> Result<(), String> {
        self.open_books(change).await?;
        match change.phase {
            Phase::Copy | Phase::Joint => {}
            Phase::Switch => {
                let level = self.is_level_with_leavers(change).await && self.all_applied().await;
                self.moves.fill.borrow_mut().level = level;
                return Ok(());
            }
            Phase::Settle => return Ok(()),
        }
        for (address, place) in self.unfinished_parts() {
            if let Some(peer) = self.peer(address)
                && peer.caller.is_connected()
            {
                self.fill_part(change.id, &peer, place).await?;
            }
        }
        if !self.unfinished_parts().is_empty() {
            return Ok(());
        }
        let marks = match change.phase {
            Phase::Joint => self.joint_marks(change).await,
            _ => None,
        };
        let sources: Vec<ShardAddress> = self.moves.fill.borrow().sources.keys().copied().collect();
        for address in &sources {
            let peer = self.peer(*address).ok_or("an old replica is gone")?;
            self.read_tail(&peer).await?;
        }
        if !sources.is_empty() {
            self.sync_log_to(self.log.last()).await?;
        }
        self.claim(change).await;
        let is_level = self.is_level_with_dead(change).await;
        let is_whole = marks
            .as_ref()
            .is_some_and(|marks| self.is_level_with_writers(marks));
        // Vectors name what is logged; reads see what is in the store.
        if !self.all_applied().await {
            return Err("the own log failed".to_owned());
        }
        if self.moves.fill.borrow().change != change.id || self.is_refilling() || !is_level {
            return Ok(());
        }
        let is_caught_up = is_whole && marks.is_some_and(|marks| self.have_sources_all(&marks));
        let is_new = |fill: &Fill| !fill.filled || is_caught_up && !fill.caught_up;
        if is_new(&self.moves.fill.borrow()) {
            self.keep_vector().await?;
        }
        let mut fill = self.moves.fill.borrow_mut();
        if fill.change == change.id && !self.is_refilling() {
            fill.filled = true;
            fill.caught_up = is_caught_up;
        }
        Ok(())
    }

    /// Whether the logs of all that are inherited were read as far as `marks`.
    fn have_sources_all(&self, marks: &Vector) -> bool {
        let placement = self.placement();
        let fill = self.moves.fill.borrow();
        fill.sources.iter().all(|(address, source)| {
            // Of what is written by shards that it shares nothing with, it has nothing.
            let due = marks.iter().filter(|(origin, _)| {
                let writer = address_of(*origin);
                writer == *address || placement.share(*address, writer)
            });
            let due: Vector = due.collect();
            source.end.as_ref().is_some_and(|end| end.covers(&due))
        })
    }

    /// Brings to disk what the vector says in memory: it rises over entries meant for others, too,
    /// and a restart would find it where the last one meant for this shard was logged. By the new
    /// placement those in between may be meant for it, so they would come now, with nothing of the
    /// deletes that all others have seen and forgotten since.
    async fn keep_vector(&self) -> Result<(), String> {
        let all: Vec<_> = self.vector().iter().collect();
        self.log_claim(&all, true);
        self.sync_log_to(self.log.last()).await
    }

    /// Begins the books of a change, or goes on with those of the journal.
    async fn open_books(&self, change: &Change) -> Result<(), String> {
        let parts = plan::parts(&self.placement(), self.address);
        if self.moves.fill.borrow().change != change.id {
            let journal = Journal::load(&*self.env.disk, &self.dir());
            let journal = journal.filter(|journal| journal.change == change.id);
            if !parts.is_empty() {
                tracing::info!(
                    change = change.id,
                    parts = parts.len(),
                    "taking over partitions"
                );
            }
            *self.moves.fill.borrow_mut() = Fill::begin(change.id, journal);
            self.moves.pace.borrow_mut().begin();
        }
        self.moves.fill.borrow_mut().plan(&parts);
        Ok(())
    }

    fn unfinished_parts(&self) -> Vec<(ShardAddress, Place)> {
        let parts = plan::parts(&self.placement(), self.address);
        let fill = self.moves.fill.borrow();
        let is_unfinished = |part: &&Part| {
            let source = fill.sources.get(&part.source);
            let progress = source.and_then(|source| source.parts.get(&part.place));
            progress.is_some_and(|progress| progress.next.is_some())
        };
        parts
            .iter()
            .filter(is_unfinished)
            .map(|part| (part.source, part.place))
            .collect()
    }

    /// Copies the stored records of one partition from one old replica.
    async fn fill_part(
        self: &Rc<Self>,
        change: u64,
        peer: &Rc<Peer>,
        place: Place,
    ) -> Result<(), String> {
        self.begin_source(peer).await?;
        let Some((froms, Some(start))) = self.progress(peer.address, place) else {
            return Ok(());
        };
        let ask = |start| {
            self.page_of(
                peer,
                FillRequest {
                    place,
                    froms,
                    start,
                },
            )
        };
        let mut page = Some(ask(start).await?);
        let mut chunk: Vec<Entry> = Vec::new();
        let mut chunk_bytes = 0;
        let mut begun = Instant::now();
        while let Some(FillPage {
            page: got,
            latency_us_p99,
            read_bytes,
        }) = page.take()
        {
            let now = self.placement().change.as_ref().map(|change| change.id);
            if now != Some(change) {
                return Err("the change was given up".to_owned());
            }
            for item in got.items {
                chunk_bytes += item.key.len() + item.value.len();
                chunk.push(copy_of(item, place.keyspace, place.partition));
            }
            let ready = match chunk_bytes >= CHUNK_BYTES || got.next.is_none() {
                true => Some((std::mem::take(&mut chunk), std::mem::take(&mut chunk_bytes))),
                false => None,
            };
            let store = self.take_chunk(peer.address, place, ready, got.next.clone());
            let (stored, asked) = match got.next {
                Some(next) => {
                    let (stored, asked) = join(store, ask(next)).await;
                    (stored, Some(asked))
                }
                None => (store.await, None),
            };
            stored?;
            page = asked.transpose()?;
            self.keep_pace(read_bytes as usize, begun, latency_us_p99)
                .await;
            begun = Instant::now();
        }
        Ok(())
    }

    async fn page_of(&self, peer: &Peer, request: FillRequest) -> Result<FillPage, String> {
        match peer.caller.call(Request::Fill(request), PAGE_TIMEOUT).await {
            Ok(Response::Filled(page)) => Ok(page),
            Ok(_) => Err("an answer out of turn".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Puts a chunk of records on disk and notes that all before `next` are there.
    async fn take_chunk(
        &self,
        source: ShardAddress,
        place: Place,
        chunk: Option<(Vec<Entry>, usize)>,
        next: Option<Bytes>,
    ) -> Result<(), String> {
        let Some((entries, bytes)) = chunk else {
            return Ok(());
        };
        let records = entries.len() as u64;
        self.take_records(entries).await?;
        self.counters.moved.set(self.counters.moved.get() + records);
        self.moves.rate.add(bytes);
        let journal = {
            let mut fill = self.moves.fill.borrow_mut();
            fill.records += records;
            fill.bytes += bytes as u64;
            let from = fill.sources.get_mut(&source);
            if let Some(progress) = from.and_then(|source| source.parts.get_mut(&place)) {
                progress.next = next;
            }
            fill.journal()
        };
        self.write_journal(&journal)
    }

    fn write_journal(&self, journal: &Journal) -> Result<(), String> {
        journal
            .store(&*self.env.disk, &self.dir())
            .map_err(|error| format!("the journal of a copy cannot be written: {error}"))
    }

    fn progress(&self, source: ShardAddress, place: Place) -> Option<(Froms, Option<Bytes>)> {
        let fill = self.moves.fill.borrow();
        let progress = fill.sources.get(&source)?.parts.get(&place)?;
        Some((progress.froms, progress.next.clone()))
    }

    /// Asks an old replica where its log goes on behind what it has stored, once.
    async fn begin_source(&self, peer: &Peer) -> Result<(), String> {
        let begun = {
            let fill = self.moves.fill.borrow();
            let source = fill.sources.get(&peer.address);
            source.is_none_or(|source| source.begin.is_some())
        };
        if begun {
            return Ok(());
        }
        let (_, incarnation, next, _) = self.ask_tail(peer, 0, 0, Vec::new()).await?;
        let journal = {
            let mut fill = self.moves.fill.borrow_mut();
            if let Some(source) = fill.sources.get_mut(&peer.address) {
                source.begin = Some(next);
                source.next = next;
                source.incarnation = incarnation;
            }
            fill.journal()
        };
        self.write_journal(&journal)
    }

    /// Applies what an old replica's log has had since, up to its end.
    async fn read_tail(&self, peer: &Peer) -> Result<(), String> {
        loop {
            let asked = {
                let fill = self.moves.fill.borrow();
                fill.sources.get(&peer.address).map(|source| {
                    let wants = source.parts.iter().map(|(place, p)| (*place, p.froms));
                    (source.incarnation, source.next, wants.collect())
                })
            };
            let Some((known, index, wants)) = asked else {
                return Ok(());
            };
            let (entries, incarnation, next, end) =
                self.ask_tail(peer, known.max(1), index, wants).await?;
            if self.env.sabotage != Sabotage::SkipTail {
                self.apply_tail(entries).await?;
            }
            let mut fill = self.moves.fill.borrow_mut();
            let Some(source) = fill.sources.get_mut(&peer.address) else {
                return Ok(());
            };
            if incarnation != known {
                let begin = source.begin.unwrap_or(next);
                if is_another_log(begin, next, source.incarnation, incarnation) {
                    fill.sources.remove(&peer.address);
                    fill.filled = false;
                    fill.caught_up = false;
                    tracing::warn!(
                        from = peer.label,
                        "its log is not the one there was when the copy began: copying again"
                    );
                    return Err("its log was lost".to_owned());
                }
                // What its log had not synced when it ended may have been replaced since.
                source.incarnation = incarnation;
                source.next = begin;
                continue;
            }
            source.next = next;
            if end.is_some() {
                source.end = end;
                return Ok(());
            }
        }
    }

    async fn apply_tail(&self, entries: Vec<Bytes>) -> Result<(), String> {
        for few in entries.chunks(TAIL_ENTRIES) {
            let begun = Instant::now();
            let bytes = few.iter().map(Bytes::len).sum();
            let decoded: Result<Vec<Entry>, _> = few.iter().cloned().map(Entry::decode).collect();
            let decoded = decoded.map_err(|error| error.to_string())?;
            self.copies_applied(decoded).await?;
            // However slow a copy is, it must come nearer to the end of a log that grows.
            let pauses_max = begun.elapsed() * TAIL_PAUSES_MAX;
            drop(timeout(pauses_max, self.keep_pace(bytes, begun, 0)).await);
        }
        Ok(())
    }

    async fn ask_tail(
        &self,
        peer: &Peer,
        incarnation: u32,
        index: u64,
        wants: Vec<(Place, Froms)>,
    ) -> Result<(Vec<Bytes>, u32, u64, Option<Vector>), String> {
        let request = TailRequest {
            incarnation,
            index,
            wants,
        };
        match peer.caller.call(Request::Tail(request), PAGE_TIMEOUT).await {
            Ok(Response::Tail(TailAnswer::Entries {
                entries,
                incarnation,
                next,
                end,
            })) => Ok((entries, incarnation, next, end)),
            Ok(Response::Tail(TailAnswer::TooOld)) => {
                tracing::warn!(
                    from = peer.label,
                    "its log no longer reaches back to where the copy began: copying again"
                );
                let mut fill = self.moves.fill.borrow_mut();
                fill.sources.remove(&peer.address);
                fill.filled = false;
                Err("its log no longer reaches back".to_owned())
            }
            Ok(_) => Err(format!("{} cannot be copied from now", peer.label)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Up to where anybody had the entries of each origin once all had come to the joint phase, as
    /// far as anybody still has them; `None` before.
    async fn joint_marks(&self, change: &Change) -> Option<Vector> {
        let states = self.move_states().await;
        let is_joint = |shard| {
            let state = states.get(shard);
            state.is_some_and(|s| s.change == change.id && s.phase >= Some(Phase::Joint))
        };
        let mut fill = self.moves.fill.borrow_mut();
        if !self.living().iter().all(is_joint) {
            return fill.marks.clone();
        }
        let told = states.iter().map(|(shard, state)| (*shard, state.marks()));
        let held = self.placement().vouched_for(told);
        let marks = match fill.marks.take() {
            Some(marks) => still_held(&marks, &held),
            None => held,
        };
        fill.marks = Some(marks.clone());
        Some(marks)
    }

    /// Whether this shard has all that the living who leave have ever written: once all go by the
    /// new replicas, no write enters through them any more.
    async fn is_level_with_leavers(&self, change: &Change) -> bool {
        let placement = self.placement();
        let states = self.move_states().await;
        let mine = self.vector();
        let has_switched = |shard| {
            let state = states.get(shard);
            state.is_some_and(|s| s.change == change.id && s.phase >= Some(Phase::Switch))
        };
        let told = states.iter().map(|(shard, state)| (*shard, state.marks()));
        let held = placement.vouched_for(told);
        self.living().iter().all(has_switched)
            && held.iter().all(|(origin, version)| {
                let leaves =
                    !change.to.contains(&origin.node()) && !change.dead.contains(&origin.node());
                let concerns = leaves && placement.share(self.address, address_of(origin));
                !concerns || mine.get(origin) >= version
            })
    }

    /// Whether one that stays has everything that was written before the joint phase: a write that
    /// asked for the first few replicas alone counts on them, and they may be others now. Who
    /// joins has it from those it inherits.
    fn is_level_with_writers(&self, marks: &Vector) -> bool {
        let placement = self.placement();
        let mine = self.vector.borrow();
        !placement.is_member(self.address.node)
            || marks.iter().all(|(origin, version)| {
                let writer = address_of(origin);
                let concerns = placement.is_member(writer.node)
                    && (writer == self.address || placement.share(self.address, writer));
                !concerns || mine.get(origin) >= version
            })
    }

    /// Whether this shard has what the others have of those that are gone for good.
    async fn is_level_with_dead(&self, change: &Change) -> bool {
        if change.dead.is_empty() {
            return true;
        }
        // What is known of the others' vectors may be older than the last entry they took from who is
        // gone: those who know that it is must say what they have.
        let states = self.move_states().await;
        let placement = self.placement();
        let concerns = |origin: Origin| {
            change.dead.contains(&origin.node())
                && placement.share(self.address, address_of(origin))
        };
        // What was pulled of that very shard came without the vector rising.
        let has_all_of = |shard: ShardAddress, theirs: &Vector| {
            let peer = self.peer(shard);
            theirs.iter().all(|(origin, version)| {
                let pulled = |peer: &Rc<Peer>| peer.pulled.borrow().get(&origin).copied();
                let pulled = peer.as_ref().and_then(pulled).unwrap_or_default();
                !concerns(origin) || self.vector.borrow().get(origin).max(pulled) >= version
            })
        };
        let told = |shard: ShardAddress| {
            states.get(&shard).is_some_and(|state| {
                state.change == change.id && has_all_of(shard, &state.of_dead().collect())
            })
        };
        let peers = self.peers.borrow();
        let living = self.living();
        let mut sharing = living
            .iter()
            .filter(|shard| **shard != self.address && placement.share(self.address, **shard));
        // Shards of a version that says nothing of the dead are known by their vectors alone.
        let mut known = peers.values().filter(|peer| peer.shares.get());
        sharing.all(|shard| told(*shard))
            && known.all(|peer| peer.heard.get() && has_all_of(peer.address, &peer.vector.borrow()))
    }

    /// A shard that held nothing before claims in its vector what it has inherited, so that the
    /// streams of the others begin there and not at the beginning of their logs.
    async fn claim(&self, change: &Change) {
        let placement = self.placement();
        let is_recent = |at: Instant| at.elapsed() < CLAIM_INTERVAL;
        let is_needless = {
            let fill = self.moves.fill.borrow();
            fill.claimed.is_some_and(is_recent) && fill.filled
        };
        if change.phase > Phase::Joint || placement.is_member(self.address.node) || is_needless {
            return;
        }
        let told = match change.phase {
            Phase::Copy => self.move_states().await,
            // By now others may have from here what an earlier start wrote in this phase.
            _ => BTreeMap::new(),
        };
        let told = told.values().flat_map(|state| state.marks());
        let past = own_past(told, self.origin, &self.vector());
        let mut fill = self.moves.fill.borrow_mut();
        fill.claimed = Some(Instant::now());
        let origins: Vec<Origin> = {
            let ends = fill
                .sources
                .values()
                .filter_map(|source| source.end.as_ref());
            let all: Vector = ends.flat_map(Vector::iter).collect();
            all.iter().map(|(origin, _)| origin).collect()
        };
        let have = self.vector();
        let inherited = origins.into_iter().filter_map(|origin| {
            let writer = address_of(origin);
            if writer.is_beside(self.address) {
                return None;
            }
            let ends = fill.sources.iter().map(|(address, source)| {
                let end = source.end.as_ref();
                (*address, end.map_or(Version(0), |end| end.get(origin)))
            });
            let knows =
                |source| placement.is_outside(writer) || placement.may_share(source, writer);
            let version = inherited_of(writer, ends, knows)?;
            (version > have.get(origin)).then_some((origin, version))
        });
        let claims: Vec<_> = inherited.chain(past).collect();
        drop(fill);
        if !claims.is_empty() {
            self.log_claim(&claims, false);
        }
    }
}

/// What others have that earlier starts of `now`'s shard wrote, and it has not. One that is to become a
/// member again inherits it: what is left of it is in the stores of those who stayed, and what was
/// deleted since, and the delete forgotten, only in logs, from where it would come back.
fn own_past(
    told: impl Iterator<Item = (Origin, Version)>,
    now: Origin,
    have: &Vector,
) -> Vec<(Origin, Version)> {
    let is_own = |origin: Origin| origin != now && address_of(origin) == address_of(now);
    let told: Vector = told.filter(|(origin, _)| is_own(*origin)).collect();
    let is_news = |(origin, version): &(Origin, Version)| *version > have.get(*origin);
    told.iter().filter(is_news).collect()
}

/// Up to where what `writer` wrote is inherited with what was copied from all these sources: as far as
/// each of those names it that `knows` of it. One that shares nothing with the writer has nothing of
/// it, so it limits nothing. Of one that is to become a member again, or is none any more, each source
/// can tell: what the writer's log still has of that time may have been deleted since.
fn inherited_of(
    writer: ShardAddress,
    ends: impl Iterator<Item = (ShardAddress, Version)>,
    knows: impl Fn(ShardAddress) -> bool,
) -> Option<Version> {
    let told = ends.filter(|(source, _)| *source == writer || knows(*source));
    told.map(|(_, end)| end).min()
}

/// Whether a source whose present start, `now`, found its log to end before `first`, the first record
/// it wrote itself, may have lost the log in which `begin` was synced: its disk is another one, or an
/// older copy. What it logs now below `begin` would never be asked for. That tells of its next start
/// after `known` alone: of more, an earlier one may have lost the log, and the new one be as long by now.
fn is_another_log(begin: u64, first: u64, known: u32, now: u32) -> bool {
    begin > first || now > known.saturating_add(1)
}

/// What is left of `marks` when nobody living holds more than `held`: what a node alone had, and
/// lost with its disk or took along for good, cannot be waited for.
fn still_held(marks: &Vector, held: &Vector) -> Vector {
    let left = |(origin, version): (Origin, Version)| (origin, version.min(held.get(origin)));
    marks.iter().map(left).collect()
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
