//! Stored records that one shard lacks of another's, for when logs no longer reach back (decision 40).

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Bound;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Position, Rank, Vector, Version};
use dunlin_proto::{
    Delta, Item, Life, Page, PageCost, Place, Request, Response, ShardAddress, SnapshotRequest,
    VectorsAnswer,
};
use dunlin_rpc::CallError;
use dunlin_store::Record;
use tokio::time::Instant;

use super::Replication;
use super::catch_up::address_of;
use super::delta::{brought, leave_out};
use super::reconcile::{Verdict, Word, reconcile};
use crate::follow::{Class, Holder, Pace, Progress};
use crate::limits::{
    BACKFILL_BYTES_PER_S_MIN, BACKFILL_LOOKED_PER_SENT, CHUNK_BYTES, PAGE_BYTES, PAGE_ITEMS,
};
use crate::sabotage::Sabotage;
use crate::shard::{Begun, Mixing, Pages, Peer};

/// Records that are dropped at once, while writers wait.
const FORGET_RECORDS: usize = 128;

/// What a backfill goes by, as told at its beginning.
struct Terms {
    /// The peer's vector.
    covered: Vector,
    /// In which of its lives, and how it is to be taken.
    life: Life,
    /// The past of this shard is not certain.
    is_refill: bool,
    /// What is asked for.
    delta: Delta,
    /// Revision of the placement by which `places` are shared.
    revision: u64,
    places: Vec<Place>,
}

impl Terms {
    /// What asks for pages from a key on.
    fn page_of(&self, place: Place, start: Bytes) -> SnapshotRequest {
        SnapshotRequest {
            keyspace: place.keyspace,
            partition: place.partition,
            start,
            is_asker_whole: !self.is_refill,
            delta: self.delta.clone(),
        }
    }

    /// The page that is the answer, if what was said at the beginning holds for it.
    fn checked(
        &self,
        peer: &Peer,
        answer: Result<Option<Response>, CallError>,
    ) -> Result<Page, String> {
        let page = match answer {
            Ok(Some(Response::Page(page))) => page,
            Ok(_) => return Err("an answer out of turn".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        if !peer.shares.get() {
            return Err("it has left".to_owned());
        }
        if page.life != Some(self.life) {
            return Err("it has started anew, or doubts its past".to_owned());
        }
        Ok(page)
    }
}

/// A backfill that was interrupted: what comes next.
#[derive(Clone)]
pub(super) struct Left {
    terms: Rc<Terms>,
    /// Partitions that are done.
    done: usize,
    /// First key of the next that is not here yet.
    start: Bytes,
}

impl Replication {
    /// Copies of every partition held by both what this shard lacks of the peer's, then notes how far
    /// the peer's own entries are covered by that.
    pub(crate) async fn backfill_from(self: &Rc<Self>, peer: &Rc<Peer>) -> Result<(), String> {
        if peer.backfill.borrow().is_some() {
            return Err("a backfill from it is under way".to_owned());
        }
        // Others that ask meanwhile find it.
        let waits = Rc::new(Progress::new(0, 0));
        peer.backfill.replace(Some(waits));
        let result = self.backfill(peer).await;
        peer.backfill.replace(None);
        result
    }

    async fn backfill(self: &Rc<Self>, peer: &Rc<Peer>) -> Result<(), String> {
        let begun = self.shard.backfill_begins();
        self.shard.open_gap().await?;
        let given = self.copy_all(peer, begun).await;
        self.shard.close_gap(given.as_ref().ok()).await;
        given.map(drop)
    }

    /// Copies, and claims; answers the peer's vector.
    async fn copy_all(self: &Rc<Self>, peer: &Rc<Peer>, begun: Begun) -> Result<Vector, String> {
        // The vector comes first: whatever the peer holds at this moment the pages will show.
        let answer = self.exchange(peer).await.ok_or("no answer")?;
        let left = match self.interrupted(peer, &answer) {
            Some(left) => left,
            None => self.begin_backfill(peer, answer),
        };
        let terms = left.terms.clone();
        let done = left.done as u64;
        let progress = Rc::new(Progress::new(terms.places.len() as u64, done));
        peer.backfill.replace(Some(progress.clone()));
        let is_compared = terms.life.is_whole;
        let mixing = (terms.is_refill && !is_compared).then(|| Mixing::begin(&self.shard));
        let fetched = self.fetch(peer, left, &progress, mixing.as_ref()).await;
        let records = progress.records.get();
        // What it gave is compared with what the others hold, also where it gave no more than a part.
        drop(mixing);
        fetched?;
        let brought = brought(&terms.covered, &terms.delta.have);
        let claims: Vec<_> = brought
            .iter()
            .filter(|(origin, _)| address_of(*origin) == peer.address)
            .collect();
        self.shard.log_claim(&claims, false);
        peer.pulled.borrow_mut().merge(&brought);
        // One whose own past is not certain may hold more of it later.
        if is_compared {
            peer.copied.replace(Some((terms.revision, brought)));
        }
        if terms.is_refill {
            self.shard.refill_given(peer.address, begun, is_compared);
            self.shard.end_refill_if_whole();
        }
        tracing::info!(
            from = peer.label,
            records,
            looked_bytes = progress.looked_bytes.get(),
            "backfill complete"
        );
        Ok(terms.covered.clone())
    }

    /// What is left of a backfill that was interrupted, if it can be gone on with: the peer's word of its
    /// beginning still holds, and so does what was asked for.
    fn interrupted(&self, peer: &Peer, answer: &VectorsAnswer) -> Option<Left> {
        let left = self.backfills.borrow_mut().remove(&peer.address)?;
        let is_same = left.terms.life == answer.answerer.life
            && left.terms.revision == self.shard.placement().revision
            && !self.shard.is_refilling();
        is_same.then_some(left)
    }

    fn begin_backfill(&self, peer: &Peer, answer: VectorsAnswer) -> Left {
        let covered = answer.vector;
        let is_refill = self.shard.is_refilling();
        let life = answer.answerer.life;
        let placement = self.shard.placement();
        let have = match is_refill {
            true if self.shard.env().sabotage == Sabotage::CompareNewer => self.shard.vector(),
            // What it has is compared with all there is.
            true => Vector::new(),
            false => {
                let from_itself =
                    |origin, version| self.comes_from_itself(peer.address, origin, version);
                let have = self.shard.vector();
                leave_out(&covered, &have, from_itself)
            }
        };
        let mut places = Vec::new();
        for keyspace in placement.keyspaces() {
            for partition in 0..keyspace.partition_count() {
                if keyspace.share(partition, self.shard.address(), peer.address) {
                    places.push(Place {
                        keyspace: keyspace.keyspace.id,
                        partition,
                    });
                }
            }
        }
        let ShardAddress { node, shard } = peer.address;
        let own = self.shard.origin();
        let keep = covered.get(own.of_shard(node, shard, life.incarnation));
        count(&self.shard.counters().backfills, 1);
        if is_refill {
            tracing::info!(from = peer.label, "backfilling what it holds")
        } else {
            tracing::info!(
                from = peer.label,
                "its log no longer reaches back far enough: backfilling"
            )
        }
        Left {
            terms: Rc::new(Terms {
                covered,
                life,
                is_refill,
                delta: Delta {
                    asker: self.shard.address(),
                    have,
                    keep,
                },
                revision: placement.revision,
                places,
            }),
            done: 0,
            start: Bytes::new(),
        }
    }

    /// Whether what an origin has stamped up to a version comes from its own shard, so that no other need
    /// be asked for it: that one has it, and is asked as long as it answers.
    pub(super) fn comes_from_itself(
        &self,
        asked: ShardAddress,
        origin: Origin,
        version: Version,
    ) -> bool {
        let writer = address_of(origin);
        // While members change, what it wrote when it held other partitions is not looked for there.
        let is_at_rest = self.shard.placement().change.is_none();
        writer != asked
            && writer != self.shard.address()
            && is_at_rest
            && !self.shard.is_refilling()
            && self.shard.peer(writer).is_some_and(|peer| {
                let can_ask = peer.shares.get() && peer.caller.is_connected();
                // What it stamped in the life in which it answers it has, heard of here or not. Of an
                // earlier one it may have lost the end.
                let is_living = peer.answered.get() == Some(origin.incarnation());
                can_ask && !peer.is_failing.get() && (is_living || peer.has(origin, version))
            })
    }

    /// Fetches all that is left; what is still left after an interruption is kept.
    async fn fetch(
        &self,
        peer: &Rc<Peer>,
        mut left: Left,
        progress: &Progress,
        mixing: Option<&Mixing>,
    ) -> Result<(), String> {
        let latency_us_max = self.shard.config().move_latency_us_p99;
        let mut pace = Pace::at_least(BACKFILL_BYTES_PER_S_MIN, latency_us_max);
        while let Some(place) = left.terms.places.get(left.done).copied() {
            let fetched = self
                .fetch_partition(peer, place, &mut left, &mut pace, progress, mixing)
                .await;
            if let Err(error) = fetched {
                if !left.terms.is_refill {
                    self.backfills.borrow_mut().insert(peer.address, left);
                }
                return Err(error);
            }
            left.done += 1;
            left.start = Bytes::new();
            progress.parts_done.set(left.done as u64);
        }
        Ok(())
    }

    async fn fetch_partition(
        &self,
        peer: &Peer,
        place: Place,
        left: &mut Left,
        pace: &mut Pace,
        progress: &Progress,
        mixing: Option<&Mixing>,
    ) -> Result<(), String> {
        let terms = left.terms.clone();
        let mut start = left.start.clone();
        let ask = |start| Request::Snapshot(terms.page_of(place, start));
        let mut pages = Pages::new(peer, start.clone(), ask);
        let mut chunk = Chunk::default();
        loop {
            let begun = Instant::now();
            let answer = pages.next().await;
            let mut page = match terms.checked(peer, answer) {
                Ok(page) => page,
                Err(error) => {
                    if !terms.is_refill {
                        // What has come need not come again.
                        self.store_chunk(chunk).await?;
                        left.start = start;
                    }
                    return Err(error);
                }
            };
            let cost = page.cost.take();
            let bytes = |items: &[Item]| {
                let bytes = items.iter().map(|item| item.key.len() + item.value.len());
                bytes.sum::<usize>()
            };
            let (records, sent) = (page.items.len() as u64, bytes(&page.items));
            let looked = cost.map_or(sent, |cost| cost.read_bytes as usize);
            progress.came(records, sent as u64, looked as u64);
            count(&self.shard.counters().backfilled, records);
            count(&self.shard.counters().backfilled_bytes, sent as u64);
            count(&self.shard.counters().backfill_looked_bytes, looked as u64);
            if let Some(mixing) = mixing
                && records > 0
            {
                mixing.meets()?;
            }
            if terms.is_refill {
                self.compare(peer, &terms, place, &start, &mut page).await?;
            }
            let placement = self.shard.placement();
            let meant = page.items.into_iter().filter(|item| {
                placement
                    .keyspace(place.keyspace)
                    .is_some_and(|k| k.holds(self.shard.address(), place.partition, item.from))
            });
            for item in meant {
                chunk.bytes += item.key.len() + item.value.len();
                let copy = copy_of(item, place.keyspace, place.partition);
                chunk.entries.push(copy);
            }
            chunk.looked += looked;
            if chunk.bytes >= CHUNK_BYTES || page.next.is_none() {
                self.store_chunk(std::mem::take(&mut chunk)).await?;
                left.start = page.next.clone().unwrap_or_default();
            }
            let latency_us = self.shard.latency().p99_us();
            let latency_us = latency_us.max(cost.map_or(0, |cost| cost.latency_us_p99));
            let due = sent + looked / BACKFILL_LOOKED_PER_SENT;
            let pause = pace.pause(due, begun.elapsed(), latency_us);
            tokio::time::sleep(pause).await;
            match page.next {
                Some(next) => start = next,
                None => return Ok(()),
            }
        }
    }

    async fn store_chunk(&self, chunk: Chunk) -> Result<(), String> {
        // Where most of what there is came, little of it may be here, and files can be taken over.
        if chunk.bytes >= chunk.looked / 2 {
            self.shard.ingest(chunk.entries).await
        } else {
            self.shard.copies_applied(chunk.entries).await
        }
    }

    /// Takes out of a page what is held here already, and drops what is held here but not there
    /// because it was deleted and the delete forgotten.
    async fn compare(
        &self,
        peer: &Peer,
        terms: &Terms,
        place: Place,
        start: &Bytes,
        page: &mut Page,
    ) -> Result<(), String> {
        let Place {
            keyspace,
            partition,
        } = place;
        let mut theirs: HashMap<Bytes, Rank> = page
            .items
            .iter()
            .map(|item| (item.key.clone(), item.rank()))
            .collect();
        let mut next = Some(start.clone());
        while let Some(from) = next.take() {
            let end = page.next.clone();
            let read = self.shard.read_page(move |store| {
                let end = match &end {
                    Some(end) => Bound::Excluded(&end[..]),
                    None => Bound::Unbounded,
                };
                let start = Bound::Included(&from[..]);
                store.scan_page(
                    keyspace, partition, start, end, PAGE_ITEMS, PAGE_BYTES, None,
                )
            });
            let Some(ours) = read.await else {
                // It stays so, however often it is tried.
                self.shard.pause_copies();
                return Err("what is here cannot be read".to_owned());
            };
            let mut forgotten = Vec::new();
            for item in ours.items {
                let their_rank = theirs.get(&item.key).copied();
                let word = self.word_of(peer, terms, place, &item);
                match reconcile(Some(item.rank()), their_rank, word) {
                    Verdict::Take => {}
                    Verdict::Keep => drop(theirs.remove(&item.key)),
                    Verdict::Forget => forgotten.push((item.key, item.stamp)),
                }
            }
            if !forgotten.is_empty() {
                let dropped = self.shard.store_behind(move |store| {
                    let mut dropped = 0;
                    for some in forgotten.chunks(FORGET_RECORDS) {
                        dropped += store.forget(keyspace, partition, some)?;
                    }
                    Ok(dropped)
                });
                let dropped = dropped.await?;
                tracing::info!(
                    by = peer.label,
                    records = dropped,
                    "dropped what was deleted since"
                );
                self.shard.refill_forgot(dropped);
            }
            next = ours.next;
        }
        page.items.retain(|item| theirs.contains_key(&item.key));
        Ok(())
    }

    /// What it says of a record here that the peer holds nothing for its key.
    fn word_of(&self, peer: &Peer, terms: &Terms, place: Place, ours: &Item) -> Word {
        let placement = self.shard.placement();
        let Position { origin, sequence } = ours.position();
        Word {
            is_whole: terms.life.is_whole,
            has_seen: terms.covered.get(origin) >= sequence,
            is_meant: placement
                .keyspace(place.keyspace)
                .is_some_and(|k| k.is_kept_by(peer.address, place.partition, ours.from)),
        }
    }

    /// One page of a partition; `None` when it cannot be read, or is not to be shown.
    pub(crate) async fn serve_backfill(self: Rc<Self>, request: SnapshotRequest) -> Option<Page> {
        if request.is_asker_whole && !self.shard.answers() {
            // What is here may have been deleted everywhere else, and must not spread.
            return None;
        }
        let place = Place {
            keyspace: request.keyspace,
            partition: request.partition,
        };
        let turn = self.shard.turn(Class::Backfill).await;
        let delta = request.delta;
        self.pin_for(&delta);
        let wants = move |record: &Record<'_>| {
            delta.wants(record.position(), record.is_expiry, record.replaces)
        };
        let read = self.shard.wanted_page(place, request.start, wants);
        let (mut page, read_bytes) = read.await?;
        turn.end(read_bytes);
        page.life = Some(self.shard.life());
        page.cost = Some(PageCost {
            latency_us_p99: self.shard.latency().p99_us(),
            read_bytes: read_bytes as u64,
        });
        Some(page)
    }

    /// Keeps of the log what the asker goes on with once it has all it asks for.
    fn pin_for(&self, delta: &Delta) {
        let Some(position) = self.find_in_log(self.shard.origin(), delta.keep) else {
            return;
        };
        let holder = Holder {
            class: Class::Backfill,
            keyspace: None,
            name: self.shard.label_of(delta.asker),
        };
        self.shard.pins().hold(holder, position, Instant::now());
    }
}

/// Records of a partition that are to be put on disk.
#[derive(Default)]
struct Chunk {
    entries: Vec<Entry>,
    bytes: usize,
    /// Bytes that were looked at for them.
    looked: usize,
}

fn count(counter: &Cell<u64>, more: u64) {
    counter.set(counter.get() + more);
}

/// A stored record as an entry with its true stamp.
pub(crate) fn copy_of(item: Item, keyspace: u32, partition: u16) -> Entry {
    Entry {
        kind: if item.tombstone {
            Kind::Delete
        } else {
            Kind::Put
        },
        copy: true,
        from: item.from,
        partition,
        keyspace,
        stamp: item.stamp,
        logged: item.logged,
        expiry_ms: item.expiry_ms,
        is_expiry: item.is_expiry,
        replaces: item.replaces,
        key: item.key,
        value: item.value,
    }
}

#[cfg(test)]
#[path = "backfill_tests.rs"]
mod tests;
