//! What an old replica's log has had since its stored records were copied.

use bytes::Bytes;
use dunlin_entry::{Entry, Vector};
use dunlin_proto::{Froms, Place, Request, Response, TailAnswer, TailRequest};
use tokio::time::{Instant, timeout};

use super::Moves;
use crate::limits::PAGE_TIMEOUT;
use crate::sabotage::Sabotage;
use crate::shard::Peer;

/// Entries of a log's tail that are applied at once: each may cost a look at the disk.
const TAIL_ENTRIES: usize = 128;
/// A log's tail is read for at least one part of the time in so many more.
const TAIL_PAUSES_MAX: u32 = 4;

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
        let (_, incarnation, next, _) = self.ask_tail(peer, 0, 0, Vec::new()).await?;
        let journal = {
            let mut fill = self.fill.borrow_mut();
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
    pub(super) async fn read_tail(&self, peer: &Peer) -> Result<(), String> {
        loop {
            let asked = {
                let fill = self.fill.borrow();
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
            if self.shard.env.sabotage != Sabotage::SkipTail {
                self.apply_tail(entries).await?;
            }
            let mut fill = self.fill.borrow_mut();
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
            self.shard.copies_applied(decoded).await?;
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
                let mut fill = self.fill.borrow_mut();
                fill.sources.remove(&peer.address);
                fill.filled = false;
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
