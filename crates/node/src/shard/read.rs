//! The newest value this shard holds for a key; pages; other work on the store off the event loop.

use std::sync::Arc;

use bytes::Bytes;
use dunlin_proto::{Item, ItemRef, Page, Place, ReadAnswer, ReadRequest, Run, RunBuilder};
use dunlin_store::{Lookup, Record, Store, StoreError, Tier, Versioned, Wanted};

use super::Shard;
use crate::limits::{PAGE_BYTES, PAGE_ITEMS, PAGES_LOOKED};

impl Shard {
    /// Answers from memory, or says `None` when a disk must be asked.
    pub(crate) fn read_cached(&self, request: &ReadRequest) -> Option<ReadAnswer> {
        if !self.answers() {
            return Some(ReadAnswer::Unknown);
        }
        match get(&self.store, request, Tier::CacheOnly) {
            Ok(Lookup::NeedsDisk) => None,
            answer => Some(self.to_answer(answer, request)),
        }
    }

    /// Answers from the disk, off the event loop.
    pub(crate) async fn read_disk(&self, request: ReadRequest) -> ReadAnswer {
        let store = self.store.clone();
        let asked = request.clone();
        self.counters
            .disk_reads
            .set(self.counters.disk_reads.get() + 1);
        let answer = self
            .env
            .store_runner
            .run_read(move || get(&store, &asked, Tier::Disk))
            .await;
        match answer {
            Ok(answer) => self.to_answer(answer, &request),
            Err(_) => ReadAnswer::Unknown,
        }
    }

    /// Reads a page off the event loop; `None` when it cannot be read, which others can answer for.
    pub(crate) async fn read_page(
        &self,
        read: impl FnOnce(&Store) -> Result<dunlin_store::Page, StoreError> + Send + 'static,
    ) -> Option<Page> {
        let page = self.read_aside(read).await?;
        Some(Page {
            items: page
                .items
                .into_iter()
                .map(|(key, value)| item(key, value))
                .collect(),
            next: page.next,
            life: None,
            cost: None,
        })
    }

    /// As [`Shard::partition_page`], of the records that `wants` wants, and how many bytes were looked at.
    pub(crate) async fn wanted_page(
        &self,
        place: Place,
        start: Bytes,
        wants: impl Fn(&Record<'_>) -> bool + Send + 'static,
    ) -> Option<(Page, usize)> {
        let Place {
            keyspace,
            partition,
        } = place;
        let look = self.config.copy_steps.look_bytes / PAGES_LOOKED;
        let read = move |store: &Store| {
            store.scan_wanted(keyspace, partition, &start, look, PAGE_BYTES, wants)
        };
        let Wanted { page, read_bytes } = self.read_aside(read).await?;
        let items = page.items.into_iter();
        let page = Page {
            items: items.map(|(key, value)| item(key, value)).collect(),
            next: page.next,
            life: None,
            cost: None,
        };
        Some((page, read_bytes))
    }

    /// Reads much off the event loop; `None` when it cannot be read, which others can answer for.
    pub(crate) async fn read_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let store = self.store.clone();
        // What nobody waits for any more when its turn comes is not read.
        let wanted = Arc::new(());
        let waits = Arc::downgrade(&wanted);
        let job = move || (waits.strong_count() > 0).then(|| read(&store));
        let answer = self.env.store_runner.run(job).await;
        drop(wanted);
        match answer.map(Option::transpose) {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => {
                tracing::error!(%error, "a page cannot be read; other replicas are asked");
                self.note_damage(&error);
                None
            }
            Err(_) => None,
        }
    }

    /// A page of a partition from a key on, read as [`Shard::read_page`] does.
    pub(crate) async fn partition_page(&self, place: Place, start: Bytes) -> Option<Page> {
        let take = |items: &mut Vec<Item>, key: &[u8], record: Record<'_>| {
            items.push(item(Bytes::copy_from_slice(key), record.to_versioned()));
        };
        let page = self.page_into(place, start, PAGE_ITEMS, Vec::new(), take);
        let (items, next) = page.await?;
        Some(Page {
            items,
            next,
            life: None,
            cost: None,
        })
    }

    /// The same of the records that `wants` wants, encoded where they are read (decision 38), and how many
    /// bytes were looked at.
    pub(crate) async fn encoded_page(
        &self,
        place: Place,
        start: Bytes,
        wants: impl Fn(&Record<'_>) -> bool + Send + 'static,
    ) -> Option<(Run, Option<Bytes>, usize)> {
        let empty = RunBuilder::with_capacity(PAGE_BYTES + PAGE_BYTES / 4);
        let take = move |page: &mut (RunBuilder, usize), key: &[u8], record: Record<'_>| {
            page.1 += key.len() + record.value.len();
            if wants(&record) {
                page.0.push(item_ref(key, &record));
            }
        };
        let items_max = self.config.copy_steps.page_items;
        let page = self.page_into(place, start, items_max, (empty, 0), take);
        let ((run, read_bytes), next) = page.await?;
        Some((run.finish(), next, read_bytes))
    }

    /// Has `take` put into `page` what it will of the records from a key on, as many as a page has; where the
    /// next one begins.
    async fn page_into<T: Send + 'static>(
        &self,
        place: Place,
        start: Bytes,
        items_max: usize,
        mut page: T,
        take: impl Fn(&mut T, &[u8], Record<'_>) + Send + 'static,
    ) -> Option<(T, Option<Bytes>)> {
        let Place {
            keyspace,
            partition,
        } = place;
        self.read_aside(move |store| {
            let take = |key: &[u8], record: Record<'_>| take(&mut page, key, record);
            let next =
                store.scan_records(keyspace, partition, &start, items_max, PAGE_BYTES, take)?;
            Ok((page, next))
        })
        .await
    }

    /// Works on the store behind all requests: what takes long and may take longer.
    pub(crate) async fn store_behind<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, String> {
        let store = self.store.clone();
        let done = self.env.store_runner.run_behind(move || work(&store));
        match done.await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(gone) => Err(gone.to_string()),
        }
    }

    /// Reads on the event loop, whatever it takes. For the rare step that must not be interrupted.
    pub(crate) fn read_blocking(
        &self,
        keyspace: u32,
        partition: u16,
        key: &Bytes,
    ) -> Result<Option<Item>, StoreError> {
        let request = ReadRequest {
            keyspace,
            partition,
            have: None,
            key: key.clone(),
        };
        Ok(match get(&self.store, &request, Tier::Disk)? {
            Lookup::Value(value) => Some(item(Bytes::new(), value)),
            _ => None,
        })
    }

    fn note_damage(&self, error: &StoreError) {
        self.counters
            .damaged_reads
            .set(self.counters.damaged_reads.get() + 1);
        if matches!(error, StoreError::Damaged { .. }) {
            self.damage.replace(Some(error.to_string()));
        }
    }

    /// What of the store was found damaged since the start, and what is to be done about it.
    pub(crate) fn damage(&self) -> Option<String> {
        let damage = self.damage.borrow();
        let found = damage.as_ref()?;
        Some(format!(
            "the store of shard {} is damaged ({found}): stop node {}, remove its data directory {} and start it again: the others fill it",
            self.label(),
            self.config.name,
            self.config.data.display(),
        ))
    }

    fn to_answer(&self, answer: Result<Lookup, StoreError>, request: &ReadRequest) -> ReadAnswer {
        match answer {
            // That a value is over is told also to those who have it.
            Ok(Lookup::Value(value)) if request.have == Some(value.stamp) && !value.is_expiry => {
                ReadAnswer::Same
            }
            Ok(Lookup::Value(value)) => ReadAnswer::Value(item(Bytes::new(), value)),
            Ok(_) => ReadAnswer::Absent,
            Err(error) => {
                tracing::error!(%error, "a read failed; other replicas are asked");
                self.note_damage(&error);
                ReadAnswer::Unknown
            }
        }
    }
}

fn get(store: &Store, request: &ReadRequest, tier: Tier) -> Result<Lookup, StoreError> {
    store.get(request.keyspace, request.partition, &request.key, tier)
}

/// A stored record as it travels, where it is.
pub(crate) fn item_ref<'r>(key: &'r [u8], record: &Record<'r>) -> ItemRef<'r> {
    ItemRef {
        key,
        stamp: record.stamp,
        from: record.from,
        tombstone: record.tombstone,
        is_expiry: record.is_expiry,
        expiry_ms: record.expiry_ms,
        replaces: record.replaces,
        logged: record.logged,
        value: record.value,
    }
}

/// A stored value as it travels.
fn item(key: Bytes, value: Versioned) -> Item {
    Item {
        key,
        stamp: value.stamp,
        from: value.from,
        tombstone: value.tombstone,
        is_expiry: value.is_expiry,
        expiry_ms: value.expiry_ms,
        replaces: value.replaces,
        logged: value.logged,
        value: value.value,
    }
}
