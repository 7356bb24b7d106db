//! What an old replica's log has had since its stored records were copied, or began to be.

use bytes::Bytes;
use dunlin_entry::{Entry, Vector};
use dunlin_proto::{
    Froms, Place, Request, Response, ShardAddress, TailAnswer, TailPin, TailRequest,
};
use tokio::time::{Instant, timeout};

use super::Moves;
use super::books::{Fill, Source};
use crate::limits::{PAGE_TIMEOUT, TAIL_PAGES};
use crate::sabotage::Sabotage;
use crate::shard::Peer;

/// Entries of a log's tail that are applied at once: each may cost a look at the disk.
const TAIL_ENTRIES: usize = 128;
/// A log's tail is read for at least one part of the time in so many more.
const TAIL_PAUSES_MAX: u32 = 4;

/// One answer about a log's tail.
struct Answered {
    entries: Vec<Bytes>,
    incarnation: u32,
    next: u64,
    end: Option<Vector>,
    synced: u64,
}

impl Moves {
    /// Asks an old replica where its log goes on behind what it has stored, once.
    pub(super) async fn begin_source(&self, peer: &Peer) -> Result<(), String> {
        let begun = {
            let fill = self.fill.borrow();
            let source = fill.sources.get(&peer.address);
            source.is_none_or(|source| source.begin.is_some())
        };
        if begun {
            return Ok(());
        }
        let answer = self.ask_tail(peer, 0, 0, 0, Vec::new()).await?;
        let journal = {
            let mut fill = self.fill.borrow_mut();
            if let Some(source) = fill.sources.get_mut(&peer.address) {
                source.begin = Some(answer.next);
                source.next = answer.next;
                source.incarnation = answer.incarnation;
                source.synced = Some(answer.synced);
            }
            fill.journal()
        };
        self.write_journal(journal).await
    }

    /// Whether the tails are to be read before more is copied.
    pub(super) fn are_tails_due(&self) -> bool {
        let interval = self.shard.config().copy_steps.tail_interval;
        let read = self.tails_read.get();
        read.is_none_or(|read| read.elapsed() >= interval)
    }

    /// Reads on in the logs of all that copying has begun of, while no page of any is asked for or waits
    /// to be stored, and notes from where they are still needed (decision 35).
    pub(super) async fn read_tails_beside(&self) -> Result<(), String> {
        let sources: Vec<ShardAddress> = {
            let fill = self.fill.borrow();
            let beside = fill.sources.iter().filter(|(_, s)| s.goes_beside());
            beside.map(|(address, _)| *address).collect()
        };
        for address in sources {
            if let Some(peer) = self.shard.peer(address)
                && peer.caller.is_connected()
                && let Err(error) = self.read_tail(&peer, TAIL_PAGES).await
            {
                // It must not hold up what comes from others.
                tracing::debug!(error, from = peer.label, "reading a log's tail interrupted");
            }
        }
        self.keep_places().await?;
        self.tails_read.set(Some(Instant::now()));
        Ok(())
    }

    /// Brings to disk what was applied of the sources' logs, and notes that it is not needed any more.
    pub(super) async fn keep_places(&self) -> Result<(), String> {
        self.shard.sync_log_to(self.shard.log_last()).await?;
        let journal = {
            let mut fill = self.fill.borrow_mut();
            let begins = |fill: &Fill| fill.sources.values().map(|s| s.begin).collect::<Vec<_>>();
            let before = begins(&fill);
            fill.sources.values_mut().for_each(Source::keep);
            (begins(&fill) != before).then(|| fill.journal())
        };
        match journal {
            Some(journal) => self.write_journal(journal).await,
            None => Ok(()),
        }
    }

    /// Applies what an old replica's log has had since of what is copied of it, up to its end or for so
    /// many pages.
    pub(super) async fn read_tail(&self, peer: &Peer, pages: usize) -> Result<(), String> {
        for _ in 0..pages {
            let asked = {
                let fill = self.fill.borrow();
                fill.sources.get(&peer.address).map(|source| {
                    let begun = source.parts.iter().filter(|(_, part)| part.is_begun());
                    let wants = begun.map(|(place, part)| (*place, part.froms)).collect();
                    (source.incarnation, source.next, source.begin, wants)
                })
            };
            let Some((known, index, begin, wants)) = asked else {
                return Ok(());
            };
            let keep = begin.unwrap_or(index);
            let answer = self
                .ask_tail(peer, known.max(1), index, keep, wants)
                .await?;
            if self.shard.env().sabotage != Sabotage::SkipTail {
                let due = self.due_of_tail(peer, answer.entries)?;
                self.apply_tail(due).await?;
            }
            let mut fill = self.fill.borrow_mut();
            let Some(source) = fill.sources.get_mut(&peer.address) else {
                return Ok(());
            };
            let (incarnation, next) = (answer.incarnation, answer.next);
            if incarnation != known {
                let begin = source.begin.unwrap_or(next);
                if is_another_log(begin, next, source.incarnation, incarnation) {
                    tracing::warn!(
                        from = peer.label,
                        "its log is not the one there was when the copy began: copying again"
                    );
                    self.begin_again(&mut fill, peer);
                    return Err("its log was lost".to_owned());
                }
                // What its log had not synced when it ended may have been replaced since.
                source.incarnation = incarnation;
                source.next = begin;
                source.synced = Some(answer.synced);
                continue;
            }
            source.next = next;
            source.synced = Some(answer.synced);
            if answer.end.is_some() {
                source.end = answer.end;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Forgets what was copied from a source, so that it is copied again.
    fn begin_again(&self, fill: &mut Fill, peer: &Peer) {
        fill.sources.remove(&peer.address);
        fill.filled = false;
        fill.caught_up = false;
        let again = &self.shard.counters().copied_again;
        again.set(again.get() + 1);
    }

    /// What of a tail is not going to come with a page that is still to be asked for.
    fn due_of_tail(&self, peer: &Peer, entries: Vec<Bytes>) -> Result<Vec<Entry>, String> {
        let fill = self.fill.borrow();
        let source = fill.sources.get(&peer.address);
        let is_due = |entry: &Entry| {
            let place = Place {
                keyspace: entry.keyspace,
                partition: entry.partition,
            };
            let part = source.and_then(|source| source.parts.get(&place));
            part.is_some_and(|part| part.is_copied(&entry.key, self.shard.env().sabotage))
        };
        let decoded = entries.into_iter().map(Entry::decode);
        let due = decoded.filter(|entry| entry.as_ref().map_or(true, is_due));
        due.collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    }

    async fn apply_tail(&self, entries: Vec<Entry>) -> Result<(), String> {
        for few in entries.chunks(TAIL_ENTRIES) {
            let begun = Instant::now();
            let bytes = few.iter().map(|e| e.key.len() + e.value.len()).sum();
            self.shard.copies_applied(few.to_vec()).await?;
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
        keep: u64,
        wants: Vec<(Place, Froms)>,
    ) -> Result<Answered, String> {
        let asker = self.shard.address();
        let request = TailRequest {
            incarnation,
            index,
            wants,
            pin: TailPin { asker, keep },
        };
        match peer.call_aside(Request::Tail(request), PAGE_TIMEOUT).await {
            Ok(Response::Tail(TailAnswer::Entries {
                entries,
                incarnation,
                next,
                end,
                synced,
            })) => Ok(Answered {
                entries,
                incarnation,
                next,
                end,
                synced,
            }),
            Ok(Response::Tail(TailAnswer::TooOld)) => {
                tracing::warn!(
                    from = peer.label,
                    "its log no longer reaches back to where the copy began: copying again"
                );
                self.begin_again(&mut self.fill.borrow_mut(), peer);
                Err("its log no longer reaches back".to_owned())
            }
            Ok(_) => Err(format!("{} cannot be copied from now", peer.label)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Whether a source whose present start, `now`, found its log to end before `first`, the first record
/// it wrote itself, may have lost the log in which `begin` was synced: its disk is another one, or an
/// older copy. What it logs now below `begin` would never be asked for. That tells of its next start
/// after `known` alone: of more, an earlier one may have lost the log, and the new one be as long by now.
fn is_another_log(begin: u64, first: u64, known: u32, now: u32) -> bool {
    begin > first || now > known.saturating_add(1)
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
