//! From the log into the store, in log order, once the log has it as its keyspace demands.

use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::{Entry, Rank, Version};
use dunlin_proto::{Conflict, WriteAnswer};
use dunlin_store::Outcome;

use super::Shard;
use super::append::Applying;
use super::backlog::memtable_bytes_max;
use crate::limits::{APPLY_BYTES, APPLY_ENTRIES};
use crate::sabotage::Sabotage;

/// Pause before the store is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// How a round of applying ended.
enum Step {
    /// All that may be applied is.
    Done,
    /// The store refuses.
    Refused,
    /// The memtable has to be flushed first.
    Full,
}

impl Shard {
    /// Applies what the log has committed, for as long as the shard runs.
    pub(super) async fn apply_loop(self: Rc<Self>) {
        let mut progress = self.log.progress();
        loop {
            if progress.failed.is_some() {
                self.fail_waiting();
            } else {
                match self.apply_committed().await {
                    Step::Done => {}
                    Step::Refused => {
                        tokio::time::sleep(RETRY).await;
                        progress = self.log.progress();
                        continue;
                    }
                    Step::Full => {
                        self.backlog.room(RETRY).await;
                        progress = self.log.progress();
                        continue;
                    }
                }
            }
            progress = tokio::select! {
                biased;
                new = self.log.changed(&progress) => new,
                () = self.quiet.woken() => self.log.progress(),
            };
        }
    }

    /// Applies all that may be applied now.
    async fn apply_committed(&self) -> Step {
        while !self.quiet.is_paused() {
            if self.store.memtable_bytes() >= memtable_bytes_max(&self.config) {
                if self.applying.borrow().is_empty() {
                    self.backlog.has_room();
                    return Step::Done;
                }
                self.backlog.is_full();
                // Taken back when what waits is applied.
                if let Err(error) = self.store.check() {
                    *self.store_stuck.borrow_mut() = Some(error.to_string());
                }
                return Step::Full;
            }
            self.backlog.has_room();
            let (group, full) = self.take_committed();
            let Some(last) = group.last() else {
                return Step::Done;
            };
            let placement = self.placement();
            let entries: Vec<Entry> = group
                .iter()
                .filter_map(|a| a.entry.as_ref())
                .filter(|e| !placement.is_purged(e.keyspace))
                .cloned()
                .collect();
            match self.store.apply(&entries, last.index) {
                Ok(outcomes) => {
                    self.unflushed.applied(&entries);
                    self.applied(group, &entries, &outcomes);
                    if full {
                        // More is waiting; so may be clients.
                        tokio::task::yield_now().await;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "the store refuses entries; trying again");
                    *self.store_stuck.borrow_mut() = Some(error.to_string());
                    let mut applying = self.applying.borrow_mut();
                    for item in group.into_iter().rev() {
                        applying.push_front(item);
                    }
                    return Step::Refused;
                }
            }
        }
        Step::Done
    }

    /// What may be applied now, and whether it is as much as may be at a time.
    fn take_committed(&self) -> (Vec<Applying>, bool) {
        let progress = self.log.progress();
        let last = self.log.last();
        let lax = self.env.sabotage == Sabotage::AckUnsynced;
        let is_any_still = self.quiet.is_any();
        let mut applying = self.applying.borrow_mut();
        let mut bytes = 0;
        let ready = applying
            .iter()
            .take(APPLY_ENTRIES)
            .take_while(|a| {
                a.index
                    <= match a.sync {
                        _ if lax => last,
                        true => progress.synced,
                        false => progress.written,
                    }
            })
            .take_while(|a| {
                let entry = a.entry.as_ref().filter(|_| is_any_still);
                !entry.is_some_and(|entry| self.quiet.holds(entry))
            })
            .take_while(|a| {
                let fits = bytes < APPLY_BYTES;
                let entry = a.entry.as_ref().filter(|_| fits);
                bytes += entry.map_or(0, |entry| entry.key.len() + entry.value.len());
                fits
            })
            .count();
        let group = applying.drain(..ready).collect();
        (group, ready == APPLY_ENTRIES || bytes >= APPLY_BYTES)
    }

    fn applied(&self, group: Vec<Applying>, entries: &[Entry], outcomes: &[Outcome]) {
        self.store_stuck.borrow_mut().take();
        let newer_of = |entry: &Entry| -> Option<Rank> {
            // Outcomes stand beside the entries; entries of dropped keyspaces have none.
            let at = entries
                .iter()
                .position(|e| e.rank() == entry.rank() && e.key == entry.key)?;
            match outcomes.get(at)? {
                Outcome::Lost { newer } => Some(*newer),
                Outcome::Won | Outcome::Twin => None,
            }
        };
        let any_lost = outcomes.iter().any(|o| matches!(o, Outcome::Lost { .. }));
        let twins = entries.iter().zip(outcomes);
        for (entry, _) in twins.filter(|(_, outcome)| **outcome == Outcome::Twin) {
            let counter = &self.counters.equal_stamps;
            counter.set(counter.get() + 1);
            tracing::error!(
                keyspace = entry.keyspace,
                key = %entry.key.escape_ascii(),
                stamp = %entry.stamp,
                "two different entries have one stamp and replicas may hold either: write the key anew"
            );
        }
        let mut own_up_to = Version(0);
        for item in group {
            if let Some(entry) = &item.entry {
                let newer = if any_lost { newer_of(entry) } else { None };
                if item.own {
                    if let Some(newer) = newer {
                        self.restamp(entry.position().sequence, newer);
                    }
                    own_up_to = entry.position().sequence;
                } else if let (Some(newer), Some(batch)) = (newer, &item.batch) {
                    batch.conflicts.borrow_mut().push(Conflict {
                        version: entry.position().sequence,
                        newer,
                    });
                }
            }
            if item.last
                && let Some(batch) = &item.batch
            {
                batch.finish(self.unsure());
            }
        }
        if own_up_to > Version(0) {
            self.acknowledged(0, own_up_to, self.unsure());
        }
    }

    /// The log takes nothing more: whoever waits is told, and nothing is acknowledged again.
    fn fail_waiting(&self) {
        self.applying.borrow_mut().clear();
        let waiting = self.acks.borrow_mut().take_all();
        for (got, write) in waiting {
            // Not refused: it may have been written, and others may have it already.
            (write.done)(WriteAnswer::NotEnough { got });
        }
    }
}
