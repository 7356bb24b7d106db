//! The old replica's side of a copy.

use std::collections::HashMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::EntryView;
use dunlin_log::CursorError;
use dunlin_proto::{FillPage, FillRequest, Froms, Place, TailAnswer, TailPin, TailRequest};
use dunlin_store::Record;
use tokio::time::Instant;

use super::{Moves, reads_tails};
use crate::follow::{Bound, Class, Hits, Holder, Met, Selection};
use crate::limits::{LOOK_BYTES, PULL_BYTES};

impl Moves {
    /// A page of stored records; `None` when they cannot be copied from here now.
    pub(crate) async fn serve_fill(self: Rc<Self>, request: FillRequest) -> Option<FillPage> {
        if !self.shard.answers() || self.shard.placement().change.is_none() {
            return None;
        }
        let FillRequest {
            place,
            froms,
            start,
        } = request;
        let turn = self.shard.turn(Class::Move).await;
        let wants = move |record: &Record<'_>| froms.has(record.from);
        let page = self.shard.encoded_page(place, start, wants);
        let (run, next, read_bytes) = page.await?;
        turn.end(read_bytes);
        Some(FillPage {
            run,
            next,
            latency_us_p99: self.shard.latency().p99_us(),
            read_bytes: read_bytes as u64,
        })
    }

    /// Part of the log, for one that copies stored records.
    pub(crate) async fn serve_tail(self: Rc<Self>, request: TailRequest) -> TailAnswer {
        if !self.shard.answers() || self.shard.placement().change.is_none() {
            return TailAnswer::NotNow;
        }
        if request.incarnation != 0 {
            self.pin(request.pin, None);
        }
        let incarnation = self.shard.origin().incarnation();
        if request.incarnation == 0 {
            // What is not synced yet may be lost, and its places in the log be taken by others.
            // Where nobody asks for syncs that is long ago, and all since would be copied twice.
            if let Err(error) = self.shard.sync_log_to(self.shard.log_last()).await {
                tracing::warn!(error, "nothing can be copied from here");
                return TailAnswer::NotNow;
            }
            let synced = self.shard.log_progress().synced;
            let next = synced + 1;
            self.pin(request.pin, Some(next));
            // Stored records must hold everything before it.
            if !self.shard.all_applied().await {
                return TailAnswer::NotNow;
            }
            return TailAnswer::Entries {
                entries: Vec::new(),
                incarnation,
                next,
                end: None,
                synced,
            };
        }
        if request.incarnation != incarnation {
            return TailAnswer::Entries {
                entries: Vec::new(),
                incarnation,
                // Who began further on began in a log that is gone.
                next: self.shard.opened_at() + 1,
                end: None,
                synced: self.shard.log_progress().synced,
            };
        }
        let wants: HashMap<(u32, u16), Froms> = request
            .wants
            .iter()
            .map(
                |(
                    Place {
                        keyspace,
                        partition,
                    },
                    froms,
                )| ((*keyspace, *partition), *froms),
            )
            .collect();
        let selection = Selection::all(|keyspace, partition, from| {
            let wanted = wants.get(&(keyspace, partition));
            wanted.is_some_and(|froms| froms.has(from))
        });
        let vector = self.shard.vector();
        // What comes after this is not applied yet when all that there is now is.
        let end = self.shard.log_last();
        // What is left out of an answer is to be in every page that is asked for after it.
        if !self.shard.all_applied().await {
            return TailAnswer::NotNow;
        }
        let mut entries = Vec::new();
        let (mut bytes, mut looked_at) = (0, 0);
        let mut source = self.shard.source(request.index, Bound::UpTo(end));
        while bytes < PULL_BYTES && looked_at < LOOK_BYTES {
            let turn = self.shard.turn(Class::Move).await;
            let read = source.next(PULL_BYTES).await;
            turn.end_of(&read);
            let records = match read {
                Ok(Some(records)) => records,
                Ok(None) => break,
                Err(CursorError::TooOld { .. }) => return TailAnswer::TooOld,
                Err(error) => {
                    tracing::error!(%error, "cannot read the log for a new replica");
                    return TailAnswer::NotNow;
                }
            };
            let mut hits = Hits::default();
            for (_, record) in &records {
                looked_at += record.len();
                hits.read(record);
                let Met::Wanted(view) = selection.look(record) else {
                    continue;
                };
                let is_far = view.stamp().version > self.shard.clock().limit();
                if is_far && self.is_mended(&view).await {
                    continue;
                }
                hits.keep(record);
            }
            bytes += hits.bytes();
            entries.extend(hits.into_entries());
        }
        TailAnswer::Entries {
            entries,
            incarnation,
            next: source.position(),
            end: (source.position() > end).then_some(vector),
            synced: self.shard.log_progress().synced,
        }
    }

    /// Keeps what the asker needs of the log: from `begin` on, or from where it says.
    fn pin(&self, pin: TailPin, begin: Option<u64>) {
        let TailPin { asker, keep } = pin;
        if !reads_tails(&self.shard.placement()) {
            return;
        }
        let holder = Holder {
            class: Class::Move,
            keyspace: None,
            name: self.shard.label_of(asker),
        };
        // What has gone cannot be kept.
        let position = begin.unwrap_or(keep).max(self.shard.log_first());
        self.shard.pins().hold(holder, position, Instant::now());
    }

    /// Whether an entry stamped far ahead, which nobody takes, has been mended or overtaken since: then
    /// what stands in its place comes further on in the log.
    async fn is_mended(&self, far: &EntryView<'_>) -> bool {
        let key = Bytes::copy_from_slice(far.key());
        let (keyspace, partition, rank) = (far.keyspace(), far.partition(), far.rank());
        if !self.shard.all_applied().await {
            return false;
        }
        let held = self.shard.read_blocking(keyspace, partition, &key);
        held.is_ok_and(|held| held.is_some_and(|held| held.rank() > rank))
    }
}
