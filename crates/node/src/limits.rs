//! Every bound in one place.

use std::time::Duration;

/// A write that too few replicas acknowledge is given up after this.
pub const WRITE_TIMEOUT: Duration = Duration::from_millis(2_000);
/// One attempt at handing a write to an entry replica.
pub const ENTRY_TIMEOUT: Duration = Duration::from_millis(2_500);
/// A read that too few replicas answer is given up after this.
pub const READ_TIMEOUT: Duration = Duration::from_millis(2_000);
/// A read asks one more replica after each such wait.
pub const HEDGE_AFTER: Duration = Duration::from_millis(15);
/// A replica must acknowledge a batch within this, or the stream starts again.
pub const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Calls that page through data.
pub const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Small calls between shards.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before a broken stream is tried again.
pub const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often shards exchange vectors.
pub const GOSSIP_INTERVAL: Duration = Duration::from_millis(500);
/// The same while a shard that lost its data is filled.
pub const REFILL_INTERVAL: Duration = Duration::from_millis(20);
/// Deletes younger than this are never forgotten: it is how far replicas may lag without
/// keeping older deletes from being forgotten.
pub const FORGET_AFTER: Duration = Duration::from_secs(5);
/// How often overdue writes are looked for.
pub const SWEEP_INTERVAL: Duration = Duration::from_millis(100);
/// How often the store's memory is looked at.
pub const FLUSH_INTERVAL: Duration = Duration::from_millis(250);

/// How often changes of the members are looked after.
pub const MOVE_INTERVAL: Duration = Duration::from_millis(100);
/// How often a shard that joins claims what it has copied.
pub const CLAIM_INTERVAL: Duration = Duration::from_secs(5);
/// Longer than any read that goes by replicas there were: then what they hold may be dropped.
pub const SWEEP_AFTER: Duration = Duration::from_secs(3);

/// Bytes of records that are put on disk in one step of a copy.
pub const CHUNK_BYTES: usize = 8 << 20;
/// Bytes of entries in one batch to a replica.
pub const BATCH_BYTES: usize = 256 << 10;
/// Batches under way to one replica.
pub const BATCHES_IN_FLIGHT: usize = 32;
/// Bytes under way to one replica.
pub const BYTES_IN_FLIGHT: usize = 4 << 20;
/// Bytes of one page of a pull: large, for each page finds its place in a segment anew.
pub const PULL_BYTES: usize = 4 << 20;
/// Bytes of one page of a backfill or scan.
pub const PAGE_BYTES: usize = 512 << 10;
/// Items of one page.
pub const PAGE_ITEMS: usize = 2_000;
/// Entries applied to the store in one batch, while all else waits.
pub const APPLY_ENTRIES: usize = 128;
/// Entries waiting for the store beyond which replicas are asked to wait.
pub const APPLY_QUEUE: usize = 100_000;
/// Bytes queued towards one shard.
pub const QUEUE_BYTES: usize = 128 << 20;
/// Times a write is stamped again because a replica knows a newer version.
pub const RESTAMPS: u8 = 8;
/// Longest key, in bytes.
pub const KEY_BYTES: usize = 64 << 10;
