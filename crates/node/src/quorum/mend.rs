//! Mending what is stored under stamps far ahead: each such value or delete is written anew as it
//! is, replacing the stamp it has (decision 24). Whoever has it anywhere is found by asking every
//! member; an away one might hold a greater stamp, and what is written since would be below that.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Above, Kind, Version};
use dunlin_metadata::{Change, Phase};
use dunlin_proto::{
    Condition, FarRequest, Item, Page, Place, Request, Response, ShardAddress, WriteRequest,
};
use futures_util::StreamExt;
use futures_util::stream::iter;
use tokio::time::Instant;

use super::{Coordinator, Failure};
use crate::limits::{MEND_AT_ONCE, MEND_NAMED, MEND_TIME, PAGE_TIMEOUT};
use crate::placement::Placement;

/// Why nothing more is mended; what was mended so far stays so.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    /// As for any request.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// Bring the node back, or remove it from the members.
    #[error(
        "{node} does not say what it holds ({why}): every member must, or what is written since could be below what it holds; bring it back, or remove it with dunlin node remove"
    )]
    Silent {
        /// Its name.
        node: String,
        /// What came instead of an answer.
        why: String,
    },
    /// Try again when the change is done, or given up.
    #[error(
        "the members are changing, and have copied all: mend the stamps when that is done, or give it up with dunlin node cancel"
    )]
    Changing,
}

/// A record that is to be mended, or was.
#[derive(Debug, Clone)]
pub struct FarRecord {
    /// Its key.
    pub key: Bytes,
    /// What it is stamped with.
    pub version: Version,
    /// It is a delete.
    pub is_delete: bool,
}

/// What was found in some partitions.
#[derive(Debug, Default)]
pub struct Mended {
    /// Keys whose newest record is stamped too far ahead.
    pub found: u64,
    /// Those that were mended.
    pub mended: u64,
    /// The first of them.
    pub records: Vec<FarRecord>,
    /// Nodes that are being filled: what they hold is judged by the others' then.
    pub filling: BTreeSet<String>,
    /// The partition to go on with, and the key; `None` at the end.
    pub next: Option<(u16, Bytes)>,
}

impl Coordinator {
    /// Mends what is found from `first`, a partition and a key, on, for some seconds; only finds it
    /// unless `is_mending`.
    ///
    /// # Errors
    /// As `MendError` says; to be called again then, from the beginning or from there.
    pub async fn mend_stamps(
        self: &Rc<Self>,
        keyspace: u32,
        first: (u16, Bytes),
        is_mending: bool,
    ) -> Result<Mended, MendError> {
        self.shard.may_stamp()?;
        let begun = Instant::now();
        let mut report = Mended::default();
        let (mut partition, mut start) = first;
        loop {
            self.shard.serves(keyspace)?;
            let placement = self.shard.placement();
            let placed = placement.keyspace(keyspace);
            let placed = placed.ok_or(Failure::UnknownKeyspace)?;
            if partition >= placed.partition_count() {
                return Ok(report);
            }
            if begun.elapsed() > MEND_TIME {
                report.next = Some((partition, start));
                return Ok(report);
            }
            let request = FarRequest {
                keyspace,
                partition,
                start,
            };
            let (far, end) = self.find_far(request, &mut report).await?;
            report.found += far.len() as u64;
            for item in far.values() {
                if report.records.len() < MEND_NAMED {
                    report.records.push(FarRecord {
                        key: item.key.clone(),
                        version: item.stamp.version,
                        is_delete: item.tombstone,
                    });
                }
            }
            if is_mending {
                report.mended += self.mend_all(keyspace, partition, far).await?;
            }
            match end {
                Some(end) => start = end,
                None => {
                    partition += 1;
                    start = Bytes::new();
                }
            }
        }
    }

    /// The greatest record far ahead of each key that all members have been asked about, and the
    /// first key that they have not; `None` at the partition's end.
    async fn find_far(
        self: &Rc<Self>,
        request: FarRequest,
        report: &mut Mended,
    ) -> Result<(BTreeMap<Bytes, Item>, Option<Bytes>), MendError> {
        let placement = self.shard.placement();
        // While a change copies, the old replicas are those that are read and written. It may wait
        // for these very stamps, and no other way out of the members for one that is gone for good.
        let is_copying = |change: &Change| change.phase == Phase::Copy;
        if !placement.change.as_ref().is_none_or(is_copying) {
            return Err(MendError::Changing);
        }
        let placed = placement.keyspace(request.keyspace);
        let placed = placed.ok_or(Failure::UnknownKeyspace)?;
        let mut far: BTreeMap<Bytes, Item> = BTreeMap::new();
        let mut end: Option<Bytes> = None;
        let (old, new) = placed.orders(request.partition);
        let holders: BTreeSet<ShardAddress> = old.iter().chain(new).copied().collect();
        for holder in holders {
            if placement.is_dead(holder.node) {
                continue;
            }
            let page = self.far_page(&placement, holder, request.clone()).await?;
            if !page.life.is_some_and(|life| life.is_whole) {
                report.filling.insert(name_of(&placement, holder));
            }
            for item in page.items {
                let held = far.get(&item.key);
                if held.is_none_or(|held| held.rank() < item.rank()) {
                    far.insert(item.key.clone(), item);
                }
            }
            end = match (end, page.next) {
                (Some(end), Some(next)) => Some(end.min(next)),
                (end, next) => end.or(next),
            };
        }
        if let Some(end) = &end {
            drop(far.split_off(end));
        }
        Ok((far, end))
    }

    async fn mend_all(
        self: &Rc<Self>,
        keyspace: u32,
        partition: u16,
        far: BTreeMap<Bytes, Item>,
    ) -> Result<u64, MendError> {
        let mut mends = iter(
            far.into_values()
                .map(|item| self.mend(keyspace, partition, item)),
        )
        .buffer_unordered(MEND_AT_ONCE);
        let mut mended = 0;
        let mut failed = None;
        while let Some(done) = mends.next().await {
            match done {
                Ok(()) => mended += 1,
                // Those under way are let end.
                Err(failure) => failed = Some(failure),
            }
        }
        match failed {
            None => Ok(mended),
            Some(failure) => Err(failure.into()),
        }
    }

    /// Writes one record anew, acknowledged by all who hold it.
    async fn mend(
        self: &Rc<Self>,
        keyspace: u32,
        partition: u16,
        item: Item,
    ) -> Result<(), Failure> {
        let Above::Mended(replaces) = item.rank().above(self.shard.clock().limit()) else {
            // Its time has come meanwhile.
            return Ok(());
        };
        let (ack, from) = {
            let placement = self.shard.placement();
            let placed = placement.keyspace(keyspace);
            let placed = placed.ok_or(Failure::UnknownKeyspace)?;
            // Deletes go to all members whatever is asked for.
            let width = placed.keyspace.width();
            let from = if item.tombstone {
                width
            } else {
                item.from.max(width)
            };
            let replicas = placed.replicas(partition, from).iter();
            let living = replicas.filter(|replica| !placement.is_dead(replica.node));
            (living.count() as u8, from)
        };
        let request = WriteRequest {
            keyspace,
            kind: if item.tombstone {
                Kind::Delete
            } else {
                Kind::Put
            },
            ack,
            from,
            condition: Condition::None,
            expiry_ms: item.expiry_ms,
            key: item.key,
            value: item.value,
            deadline: Version::MAX,
            floor: Version(0),
            replaces: Some(replaces),
            given: None,
        };
        match self.write(request).await {
            // Something newer stands above what it replaces, or has to be mended in its turn.
            Ok(_) | Err(Failure::Overtaken) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// What a shard holds of them.
    async fn far_page(
        self: &Rc<Self>,
        placement: &Placement,
        holder: ShardAddress,
        request: FarRequest,
    ) -> Result<Page, MendError> {
        let silent = |why: String| MendError::Silent {
            node: name_of(placement, holder),
            why,
        };
        if holder == self.shard.address() {
            return self.clone().serve_far(request).await.map_err(silent);
        }
        let peer = self.shard.peer(holder);
        let peer = peer.ok_or_else(|| silent("it cannot be reached".to_owned()))?;
        match peer.caller.call(Request::Far(request), PAGE_TIMEOUT).await {
            Ok(Response::Page(page)) => Ok(page),
            Ok(_) => Err(silent("it answers out of turn".to_owned())),
            Err(error) => Err(silent(error.to_string())),
        }
    }

    /// One page of what is stamped too far ahead here.
    pub(crate) async fn serve_far(self: Rc<Self>, request: FarRequest) -> Result<Page, String> {
        self.shard
            .may_judge()
            .map_err(|failure| failure.to_string())?;
        let limit = self.shard.clock().limit();
        let mut page = if self.shard.answers() {
            let place = Place {
                keyspace: request.keyspace,
                partition: request.partition,
            };
            let read = self.shard.partition_page(place, request.start);
            read.await.ok_or("its data cannot be read")?
        } else {
            // What is here may have been deleted everywhere else, and must not spread.
            Page {
                items: Vec::new(),
                next: None,
                life: None,
                cost: None,
            }
        };
        let is_far = |item: &Item| matches!(item.rank().above(limit), Above::Mended(_));
        page.items.retain(is_far);
        page.life = Some(self.shard.life());
        Ok(page)
    }
}

fn name_of(placement: &Placement, holder: ShardAddress) -> String {
    let node = placement.nodes.get(&holder.node);
    node.map_or_else(|| holder.node.to_string(), |node| node.name.clone())
}
