//! The services of a shard to a capability that links clusters: writes that keep their timestamps, links in the
//! metadata, and the shard's knowledge of other replicas.

use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_metadata::{Keyspace, LinkChange, LinkRecord};
use dunlin_proto::{Item, ItemRef, Place, WriteRequest};
use dunlin_store::{Record, Store};

use crate::http::Rejected;
use crate::quorum::{AlreadyThere, Failure, Quorum};
use crate::services::Services;
use crate::shard::{is_range_empty, item_ref};

/// The checks whether a change of the metadata has arrived here, and the pause between them.
const SEEN_LOOKS: usize = 400;
const SEEN_PAUSE: Duration = Duration::from_millis(5);

/// A keyspace as the other end of a link sees it.
#[derive(Debug, Clone)]
pub struct LinkedKeyspace {
    /// Its record.
    pub record: Keyspace,
    /// A majority of its replicas.
    pub quorum: Quorum,
}

impl Services {
    /// Up to which version every replica of what this shard holds has all that was logged, and this shard has; none
    /// where it cannot say, as while a member is away.
    pub fn known_before(&self) -> Option<Version> {
        self.shard.known_before()
    }

    /// The links of all keyspaces in use, each with its keyspace's number.
    pub fn links(&self) -> Vec<(u32, LinkRecord)> {
        let placement = self.shard.placement();
        let keyspaces = placement.in_use().filter(|k| !k.links.is_empty());
        let named = |keyspace: &Keyspace| -> Vec<(u32, LinkRecord)> {
            let links = keyspace.links.iter();
            links.map(|link| (keyspace.id, link.clone())).collect()
        };
        let served = keyspaces.filter(|k| !self.shard.is_dropped(k.id));
        served.flat_map(named).collect()
    }

    /// Changes the links of a keyspace, by its name, and waits until this shard has seen that.
    ///
    /// # Errors
    /// When there is no such keyspace or link, there is one already, or the metadata store does not answer.
    pub async fn change_links(
        &self,
        keyspace: &str,
        change: &LinkChange,
    ) -> Result<Keyspace, Rejected> {
        let changed = self.shard.metadata().change_links(keyspace, change).await?;
        for _ in 0..SEEN_LOOKS {
            let placement = self.shard.placement();
            let now = placement.named(keyspace).map(|k| &k.keyspace.links);
            if now.is_none_or(|links| *links == changed.links) {
                break;
            }
            tokio::time::sleep(SEEN_PAUSE).await;
        }
        Ok(changed)
    }

    /// A keyspace in use, of either mode, by its name.
    pub fn linked_keyspace(&self, name: &str) -> Option<LinkedKeyspace> {
        let placement = self.shard.placement();
        let record = match placement.named(name) {
            Some(found) => Keyspace::clone(&found.keyspace),
            None => Keyspace::clone(placement.transactional_named(name)?),
        };
        if self.shard.is_dropped(record.id) {
            return None;
        }
        let replicas = record.settings.replicas;
        let quorum = Quorum::choose(None, None, replicas, placement.member_count()).ok()?;
        Some(LinkedKeyspace { record, quorum })
    }

    /// Carries out writes to a quorum keyspace, each of which keeps its timestamp, until `deadline`; how many of them were
    /// there already, or something newer. All are on a majority then.
    ///
    /// # Errors
    /// The first failure; any of them may be written.
    pub async fn write_given(
        &self,
        keyspace: u32,
        quorum: Quorum,
        deadline: Version,
        writes: impl Iterator<Item = WriteRequest>,
    ) -> Result<AlreadyThere, Failure> {
        let coordinator = &self.coordinator;
        coordinator
            .write_all(keyspace, quorum.from, (Version(0), deadline), writes)
            .await
    }

    /// Whether this shard holds any record of a keyspace, deletes among them.
    ///
    /// # Errors
    /// When it cannot say.
    pub async fn has_record(&self, keyspace: u32) -> Result<bool, Failure> {
        let count = self
            .partition_count(keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        if !self.shard.all_applied().await {
            return Err(Failure::LogFailed);
        }
        let read = move |store: &dunlin_store::Store| {
            for partition in 0..count {
                if !is_range_empty(store, keyspace, partition, &[], None)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        self.shard.read_aside(read).await.ok_or(Failure::Busy)
    }

    /// Has `take` put into `page` what it will of a partition's stored records from `start` on, behind all requests, and
    /// says where the next page begins. This shard has to be one of the partition's replicas.
    ///
    /// # Errors
    /// When it is none, or cannot say.
    pub async fn read_partition<T: Send + 'static>(
        &self,
        place: Place,
        start: Bytes,
        (records_max, bytes_max): (usize, usize),
        mut page: T,
        take: impl Fn(&mut T, &[u8], ItemRef<'_>) + Send + 'static,
    ) -> Result<(T, Option<Bytes>), Failure> {
        let Place {
            keyspace,
            partition,
        } = place;
        let shard = &self.shard;
        shard.serves(keyspace)?;
        let placement = shard.placement();
        let found = placement.keyspace(keyspace);
        let shows = found.is_some_and(|k| k.shows(shard.address(), partition));
        if !shows || !shard.answers() {
            return Err(Failure::Busy);
        }
        let read = move |store: &Store| {
            let take =
                |key: &[u8], record: Record<'_>| take(&mut page, key, item_ref(key, &record));
            let next =
                store.scan_records(keyspace, partition, &start, records_max, bytes_max, take)?;
            Ok((page, next))
        };
        shard.store_behind(read).await.map_err(|error| {
            tracing::warn!(
                error,
                "a partition cannot be read; another replica is tried"
            );
            Failure::Busy
        })
    }

    /// The newest record of a key by a majority of its replicas, a delete too.
    ///
    /// # Errors
    /// When too few replicas answer.
    pub async fn read_record(&self, keyspace: u32, key: &Bytes) -> Result<Option<Item>, Failure> {
        let quorum = self.quorum(keyspace)?;
        self.coordinator.read(keyspace, key, quorum).await
    }

    /// The largest value that a request may have, in bytes.
    pub fn max_body_bytes(&self) -> usize {
        self.shard.config().max_body_bytes
    }
}
