//! Stored records for who is no replica, a page at a time.

use std::ops::Bound as Key;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_proto::Page;
use dunlin_store::Snapshot;

use super::Class;
use crate::limits::{PAGE_ITEMS, STEP_BYTES};
use crate::shard::Shard;

/// A page of stored records.
pub(super) struct StoredPage {
    pub records: Vec<Entry>,
    pub next: Option<Bytes>,
}

/// Reads a page of a view from a key on, when it is its turn.
pub(super) fn read_stored(
    shard: &Rc<Shard>,
    snapshot: &Snapshot,
    keyspace: u32,
    partition: u16,
    start: Bytes,
) -> impl Future<Output = Option<Page>> + use<> {
    let (shard, snapshot) = (shard.clone(), snapshot.clone());
    async move {
        let turn = shard.turn(Class::Follower).await;
        let read = shard.read_page(move |store| {
            let (start, end) = (Key::Included(&start[..]), Key::Unbounded);
            let view = Some(&snapshot);
            store.scan_page(
                keyspace, partition, start, end, PAGE_ITEMS, STEP_BYTES, view,
            )
        });
        let page = read.await?;
        let bytes = page.items.iter().map(|i| i.key.len() + i.value.len());
        turn.end(bytes.sum());
        Some(page)
    }
}
