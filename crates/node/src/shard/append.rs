//! Into the log: own writes, batches from other origins, copies from repairs and backfills.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, EntryView, Kind, Version};
use dunlin_log::{AppendError, Index};
use dunlin_proto::{Batch, BatchAnswer, Conflict, Refusal};
use tokio::sync::oneshot;

use super::admit::Nonsense;
use super::{Shard, needs_sync};
use crate::limits::APPLY_QUEUE;
use crate::sabotage::Sabotage;

/// Something logged, or about to be said, that waits for its turn at the store.
pub(super) struct Applying {
    pub index: Index,
    /// Wait for the disk, not just for the operating system.
    pub sync: bool,
    pub entry: Option<Entry>,
    pub own: bool,
    pub batch: Option<Rc<BatchDone>>,
    /// The batch is complete with this one.
    pub last: bool,
}

/// Why copies are not logged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("{0}")]
    Nonsense(#[from] Nonsense),
    #[error("refused by the own log: {0:?}")]
    Refused(Refusal),
}

/// Takes what met something newer, and up to which stamp this shard's word does not count.
type BatchAnswered = Box<dyn FnOnce(Vec<Conflict>, Version)>;

/// Collects what a batch of entries met, and answers when the last is applied.
pub(crate) struct BatchDone {
    pub conflicts: RefCell<Vec<Conflict>>,
    done: Cell<Option<BatchAnswered>>,
}

impl BatchDone {
    pub fn new(done: impl FnOnce(Vec<Conflict>, Version) + 'static) -> Rc<BatchDone> {
        Rc::new(BatchDone {
            conflicts: RefCell::default(),
            done: Cell::new(Some(Box::new(done))),
        })
    }

    pub fn finish(&self, unsure: Version) {
        if let Some(done) = self.done.take() {
            done(self.conflicts.take(), unsure);
        }
    }
}

impl Shard {
    /// Puts a record into the log, beginning a new segment with the vector when one is due.
    pub(super) fn log_record(&self, record: Bytes, sync: bool) -> Result<Index, Refusal> {
        if self.log.should_rotate() {
            let preamble = Entry::of_vector(&self.vector.borrow()).encode();
            self.log.rotate(preamble).map_err(refusal)?;
        }
        self.log.append(record, sync).map_err(refusal)
    }

    pub(super) fn queue_apply(&self, applying: Applying) {
        self.applying.borrow_mut().push_back(applying);
        self.quiet.wake();
    }

    /// Whether an entry must be synced before it counts. One of a keyspace not known here yet is
    /// treated as the strictest.
    fn sync_of(&self, entry: &Entry) -> bool {
        let placement = self.placement.borrow();
        placement.keyspace(entry.keyspace).is_none_or(|keyspace| {
            self.note_width(keyspace, entry);
            needs_sync(keyspace)
        })
    }

    /// Logs what is new of a batch from another origin; answers when all of it is applied.
    pub(crate) fn append_batch(&self, batch: Batch, answer: impl FnOnce(BatchAnswer) + 'static) {
        self.held.told(batch.origin, batch.held);
        let have = self.vector.borrow().get(batch.origin);
        if batch.after > have && self.env.sabotage != Sabotage::IgnoreGaps {
            return answer(BatchAnswer::Gap(have));
        }
        if self.applying.borrow().len() > APPLY_QUEUE || self.backlog.refuses() {
            return answer(BatchAnswer::Refused);
        }
        if batch.up_to > have && !self.take_over(batch.up_to) {
            return answer(BatchAnswer::Refused);
        }
        let mut decoded = Vec::with_capacity(batch.entries.len());
        for bytes in batch.entries {
            let Ok(entry) = Entry::decode(bytes.clone()) else {
                tracing::error!(origin = ?batch.origin, "an entry from another shard does not decode");
                return answer(BatchAnswer::Refused);
            };
            if self.admit([&entry], Some(batch.origin)).is_err() {
                return answer(BatchAnswer::Refused);
            }
            let sequence = entry.position().sequence;
            // The greater of the two is the position's, but for what an origin logged with a wrong clock.
            if !self.take_over(entry.stamp.version.max(sequence)) {
                return answer(BatchAnswer::Refused);
            }
            if sequence > have {
                decoded.push((bytes, entry));
            } else {
                // Sent again because a write waits for it. It may have come by a pull, whose
                // answer says nothing of conflicts, or been left out of a backfill.
                let copy = Entry {
                    copy: true,
                    ..entry
                };
                decoded.push((copy.encode(), copy));
            }
        }
        // They are logged all the same: the drop may be taken back.
        let dropped = decoded.iter().filter(|(_, e)| self.is_dropped(e.keyspace));
        let uncounted = dropped
            .map(|(_, entry)| entry.position().sequence)
            .collect();
        let wants_held = self.held.is_wanted();
        let done = BatchDone::new(move |conflicts, unsure| {
            answer(BatchAnswer::Have {
                conflicts,
                uncounted,
                unsure,
                wants_held,
            })
        });
        if let Some((_, first)) = decoded.iter().find(|(_, entry)| !entry.copy) {
            self.refill_meets(batch.origin, first.position().sequence);
        }
        for (bytes, entry) in decoded {
            // A copy is in its place already.
            let sequence = (!entry.copy).then(|| entry.position().sequence);
            if let Err(refusal) = self.append_foreign(bytes, entry, Some(done.clone())) {
                tracing::debug!(?refusal, "batch refused");
                return; // dropping the answer refuses the batch; the sender starts again from what is here
            }
            if let Some(sequence) = sequence {
                self.vector.borrow_mut().advance(batch.origin, sequence);
            }
        }
        self.vector.borrow_mut().advance(batch.origin, batch.up_to);
        self.finish_after_queue(done);
    }

    /// Takes over the time of a stamp from elsewhere; false when it is further ahead than the bound,
    /// and what carries it is to be refused.
    pub(crate) fn take_over(&self, version: Version) -> bool {
        let within = self.clock.observe(version);
        if !within {
            let counter = &self.counters.refused_stamps;
            if counter.replace(counter.get() + 1) == 0 {
                tracing::error!(
                    stamp = %version,
                    ahead_ms = version.millis().saturating_sub(self.clock.now_ms()),
                    "refused: a stamp further ahead than --clock-bound; further ones are only counted"
                );
            }
        }
        within
    }

    /// Logs entries with their true stamps that do not advance the vector.
    pub(crate) fn append_copies(
        &self,
        entries: Vec<Entry>,
        done: impl FnOnce() + 'static,
    ) -> Result<(), CopyError> {
        self.admit(&entries, None)?;
        let newest = entries.iter().map(|entry| entry.stamp.version).max();
        if !newest.is_none_or(|newest| self.take_over(newest)) {
            return Err(CopyError::Refused(Refusal::Clock));
        }
        let done = BatchDone::new(|_, _| done());
        for mut entry in entries {
            if entry.kind == Kind::Delete && self.env.sabotage == Sabotage::ForgetTombstones {
                continue;
            }
            entry.copy = true;
            let position = entry.position();
            self.copies.came(position.origin, position.sequence);
            self.append_foreign(entry.encode(), entry, Some(done.clone()))
                .map_err(CopyError::Refused)?;
        }
        self.finish_after_queue(done);
        Ok(())
    }

    /// Logs an entry that carries a vector; false when the log refuses.
    pub(crate) fn log_vector(&self, record: &Entry) -> bool {
        self.log_record(record.encode(), true).is_ok_and(|index| {
            // It takes its turn at the store so that the applied position passes it.
            self.queue_apply(Applying {
                index,
                sync: true,
                entry: None,
                own: false,
                batch: None,
                last: false,
            });
            true
        })
    }

    fn append_foreign(
        &self,
        bytes: Bytes,
        entry: Entry,
        batch: Option<Rc<BatchDone>>,
    ) -> Result<(), Refusal> {
        let sync = self.sync_of(&entry);
        let index = self.log_record(bytes, sync)?;
        self.queue_apply(Applying {
            index,
            sync,
            entry: matches!(entry.kind, Kind::Put | Kind::Delete).then_some(entry),
            own: false,
            batch,
            last: false,
        });
        Ok(())
    }

    /// Calls `done` once all that is queued now has been applied. Never, when the log has failed:
    /// the vector may name what was never written.
    pub(crate) fn finish_after_queue(&self, done: Rc<BatchDone>) {
        if self.log.failure().is_some() {
            return;
        }
        let place = self.applying.borrow().back().map(|a| (a.index, a.sync));
        match place {
            None => done.finish(self.unsure()),
            Some((index, sync)) => self.queue_apply(Applying {
                index,
                sync,
                entry: None,
                own: false,
                batch: Some(done),
                last: true,
            }),
        }
    }

    /// Waits until all that is queued now has been applied; false when the log has failed.
    pub(crate) async fn all_applied(&self) -> bool {
        let (tell, applied) = oneshot::channel();
        self.finish_after_queue(BatchDone::new(move |_, _| {
            tell.send(()).unwrap_or_default();
        }));
        applied.await.is_ok()
    }

    /// Whether anything logged but not yet applied concerns this key; the newest such stamp.
    pub(crate) fn newest_unapplied(&self, keyspace: u32, key: &[u8]) -> Option<Entry> {
        self.applying
            .borrow()
            .iter()
            .filter_map(|a| a.entry.as_ref())
            .filter(|e| e.keyspace == keyspace && e.key == key)
            .max_by_key(|e| e.rank())
            .cloned()
    }

    /// Queue length at the store, for back pressure and the metrics.
    pub(crate) fn apply_backlog(&self) -> usize {
        self.applying.borrow().len()
    }
}

pub(super) fn refusal(error: AppendError) -> Refusal {
    match error {
        AppendError::NoSpace => Refusal::NoSpace,
        AppendError::Backlog | AppendError::NoFiles => Refusal::Busy,
        _ => Refusal::LogFailed,
    }
}

/// The entry's header without the rest; `None` for records that are not followed.
pub(crate) fn followed(record: &[u8]) -> Option<EntryView<'_>> {
    let view = EntryView::new(record).ok()?;
    (matches!(view.kind(), Kind::Put | Kind::Delete) && !view.copy()).then_some(view)
}
