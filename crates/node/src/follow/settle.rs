//! What nobody says of that enough have it, as where its writer is gone, is read by a majority: whoever lacks it
//! has it then, or something newer (decision 46).

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Rank;
use futures_util::{StreamExt, stream};

use crate::env::LocalFuture;
use crate::limits::SETTLE_READS;
use crate::quorum::{Coordinator, Quorum};
use crate::shard::Shard;

/// An entry of which it is not known that enough have it.
#[derive(Debug, Clone)]
pub(super) struct Unsettled {
    pub partition: u16,
    /// As it carries it.
    pub from: u8,
    pub key: Bytes,
    pub rank: Rank,
}

/// Reads the entries; whether a majority has each of these, or what beats it.
pub(super) fn settle(
    shard: &Rc<Shard>,
    coordinator: &Rc<Coordinator>,
    keyspace: u32,
    entries: Vec<Unsettled>,
) -> LocalFuture<bool> {
    let (shard, coordinator) = (shard.clone(), coordinator.clone());
    Box::pin(async move {
        // What is asked for is in the own store, unless something newer was and is forgotten by all.
        if !shard.all_applied().await {
            return false;
        }
        let reads = entries.into_iter().map(|entry| {
            let (shard, coordinator) = (shard.clone(), coordinator.clone());
            async move {
                let from = {
                    let placement = shard.placement();
                    let placed = placement.keyspace(keyspace);
                    placed.map_or(0, |k| {
                        k.replicas(entry.partition, k.width(entry.from)).len()
                    })
                };
                let from = u8::try_from(from).unwrap_or(u8::MAX);
                let quorum = Quorum {
                    ack: from / 2 + 1,
                    from,
                };
                match coordinator.read(keyspace, &entry.key, quorum).await {
                    Ok(Some(newest)) => newest.rank() >= entry.rank,
                    Ok(None) => true,
                    Err(_) => false,
                }
            }
        });
        let reads = stream::iter(reads).buffer_unordered(SETTLE_READS);
        reads.all(std::future::ready).await
    })
}
