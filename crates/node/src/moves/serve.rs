//! The old replica's side of a copy.

use std::collections::HashMap;
use std::ops::Bound;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{EntryView, Kind};
use dunlin_log::CursorError;
use dunlin_proto::{FillPage, FillRequest, Froms, Place, TailAnswer, TailRequest};

use super::Moves;
use crate::limits::{LOOK_BYTES, PAGE_BYTES, PAGE_ITEMS, PULL_BYTES};

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
        let page = self.shard.read_page(move |store| {
            store.scan_page(
                place.keyspace,
                place.partition,
                Bound::Included(&start[..]),
                Bound::Unbounded,
                PAGE_ITEMS,
                PAGE_BYTES,
                None,
            )
        });
        let mut page = page.await?;
        let sizes = page
            .items
            .iter()
            .map(|item| item.key.len() + item.value.len());
        let read_bytes = sizes.sum::<usize>() as u64;
        page.items.retain(|item| froms.has(item.from));
        Some(FillPage {
            page,
            latency_us_p99: self.shard.latency.p99_us(),
            read_bytes,
        })
    }

    /// Part of the log, for one that copies stored records.
    pub(crate) async fn serve_tail(self: Rc<Self>, request: TailRequest) -> TailAnswer {
        if !self.shard.answers() || self.shard.placement().change.is_none() {
            return TailAnswer::NotNow;
        }
        let incarnation = self.shard.origin.incarnation();
        if request.incarnation == 0 {
            // What is not synced yet may be lost, and its places in the log be taken by others.
            // Where nobody asks for syncs that is long ago, and all since would be copied twice.
            if let Err(error) = self.shard.sync_log_to(self.shard.log.last()).await {
                tracing::warn!(error, "nothing can be copied from here");
                return TailAnswer::NotNow;
            }
            let next = self.shard.log.progress().synced + 1;
            // Stored records must hold everything before it.
            return match self.shard.all_applied().await {
                true => TailAnswer::Entries {
                    entries: Vec::new(),
                    incarnation,
                    next,
                    end: None,
                },
                false => TailAnswer::NotNow,
            };
        }
        if request.incarnation != incarnation {
            return TailAnswer::Entries {
                entries: Vec::new(),
                incarnation,
                // Who began further on began in a log that is gone.
                next: self.shard.opened_at() + 1,
                end: None,
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
        let vector = self.shard.vector();
        let end = self.shard.log.last();
        let mut entries = Vec::new();
        let (mut bytes, mut looked_at) = (0, 0);
        let mut cursor = self.shard.log.cursor(request.index);
        while cursor.position() <= end && bytes < PULL_BYTES && looked_at < LOOK_BYTES {
            let records = match cursor.next(PULL_BYTES).await {
                Ok(records) => records,
                Err(CursorError::TooOld { .. }) => return TailAnswer::TooOld,
                Err(error) => {
                    tracing::error!(%error, "cannot read the log for a new replica");
                    return TailAnswer::NotNow;
                }
            };
            for (_, record) in records {
                looked_at += record.len();
                let Ok(view) = EntryView::new(&record) else {
                    continue;
                };
                let is_change = matches!(view.kind(), Kind::Put | Kind::Delete);
                let wanted = wants.get(&(view.keyspace(), view.partition()));
                if is_change && wanted.is_some_and(|froms| froms.has(view.from())) {
                    if view.version() > self.shard.clock.limit() && self.is_mended(&view).await {
                        continue;
                    }
                    bytes += record.len();
                    entries.push(record);
                }
            }
        }
        TailAnswer::Entries {
            entries,
            incarnation,
            next: cursor.position(),
            end: (cursor.position() > end).then_some(vector),
        }
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
