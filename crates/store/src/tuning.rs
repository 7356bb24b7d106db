//! Tuning: what RocksDB is told, and why.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::{
    BlockBasedOptions, CompactionDecision, DBCompressionType, Env, LogLevel, Options, ReadOptions,
    ReadTier, WriteOptions,
};

use crate::key::PREFIX_BYTES;
use crate::record::Record;
use crate::{Grace, SharedResources, StoreOptions, key, purge};

/// Column family of positions and settings.
pub(crate) const META: &str = "meta";
/// Column family of the data.
pub(crate) const DATA: &str = "default";
/// Column family that names what has an expiry, by time.
pub(crate) const EXPIRY: &str = "expiry";
/// Each of them: they are flushed together.
pub(crate) const FAMILIES: [&str; 3] = [DATA, META, EXPIRY];

/// Zstd would be smaller, but took more than half of all the CPU time of compactions.
const COMPRESSION: DBCompressionType = DBCompressionType::Lz4;

/// Set right after opening: no memtable gets this large, so RocksDB never flushes by itself and
/// the caller can sync its log first. It is not set *at* opening because RocksDB would then
/// preallocate by it and, after a full disk, wait for that much room.
pub(crate) const NEVER_FLUSH_BYTES: &str = "68719476736";

/// Options of the database as a whole.
pub(crate) fn database(options: &StoreOptions) -> Result<Options, rocksdb::Error> {
    // Closing must not write: what was not flushed is in the log, and the log may not be synced.
    let mut db = Options::default().get_options_from_string(
        "avoid_flush_during_shutdown=true;verify_sst_unique_id_in_manifest=true",
    )?;
    db.set_env(&options.shared.env);
    db.create_if_missing(true);
    db.create_missing_column_families(true);
    db.set_paranoid_checks(true);
    // Data and its applied position reach the disk together or not at all.
    db.set_atomic_flush(true);
    // One thread writes a store; the machinery for several only costs.
    db.set_allow_concurrent_memtable_write(false);
    db.set_enable_write_thread_adaptive_yield(false);
    db.set_max_background_jobs(2);
    db.set_max_open_files(i32::from(options.shared.open_files));
    db.set_max_file_opening_threads(1);
    db.set_max_total_wal_size(1 << 20);
    db.set_manifest_preallocation_size(64 << 10);
    db.set_max_manifest_file_size(16 << 20);
    db.set_stats_dump_period_sec(0);
    db.set_stats_persist_period_sec(0);
    db.set_log_level(LogLevel::Warn);
    db.set_max_log_file_size(1 << 20);
    db.set_keep_log_file_num(2);
    db.set_bytes_per_sync(1 << 20);
    Ok(db)
}

/// Options of the data column family. `clock_ms` is the caller's clock as last seen.
pub(crate) fn data(
    options: &StoreOptions,
    clock_ms: Arc<AtomicU64>,
) -> Result<Options, rocksdb::Error> {
    // Where the last key of a partition went in is where the search for the next begins: what comes in
    // key order, as copies do, is most of it already there.
    let hint = format!("memtable_insert_with_hint_prefix_extractor=fixed:{PREFIX_BYTES}");
    let mut cf = family(options).get_options_from_string(hint)?;
    let mut table = table();
    table.set_block_cache(&options.shared.cache);
    table.set_bloom_filter(10.0, false);
    cf.set_block_based_table_factory(&table);
    cf.set_compression_type(COMPRESSION);
    // As much as level 0 holds when it is compacted, so that each compaction rewrites little more
    // than it brings.
    cf.set_max_bytes_for_level_base(256 << 20);
    cf.set_target_file_size_base(64 << 20);
    // Files that nothing else would touch are rewritten daily, so that tombstones go.
    cf.set_periodic_compaction_seconds(24 * 3600);
    cf.set_compaction_filter(
        "dunlin-purge",
        purge_filter(options.tombstone_grace.clone(), clock_ms),
    );
    Ok(cf)
}

/// Options of a column family beside the data: a handful of keys, or such as are read in order.
pub(crate) fn beside(options: &StoreOptions) -> Options {
    let mut cf = family(options);
    let mut table = table();
    table.set_block_cache(&options.shared.cache);
    cf.set_block_based_table_factory(&table);
    cf
}

/// Options of a database that is no store, beside them.
pub(crate) fn database_beside(shared: &SharedResources, memtable_bytes: usize) -> Options {
    let mut db = Options::default();
    db.set_env(&shared.env);
    db.create_if_missing(true);
    db.set_paranoid_checks(true);
    db.set_allow_concurrent_memtable_write(false);
    db.set_enable_write_thread_adaptive_yield(false);
    db.set_max_background_jobs(2);
    db.set_max_open_files(i32::from(shared.open_files));
    db.set_max_file_opening_threads(1);
    db.set_manifest_preallocation_size(64 << 10);
    db.set_stats_dump_period_sec(0);
    db.set_stats_persist_period_sec(0);
    db.set_log_level(LogLevel::Warn);
    db.set_max_log_file_size(1 << 20);
    db.set_keep_log_file_num(2);
    db.set_bytes_per_sync(1 << 20);
    let mut table = table();
    table.set_block_cache(&shared.cache);
    table.set_bloom_filter(10.0, false);
    db.set_block_based_table_factory(&table);
    db.set_compression_type(COMPRESSION);
    db.set_write_buffer_size(memtable_bytes);
    db.set_target_file_size_base(64 << 20);
    db
}

/// Options of files that are ingested as data.
pub(crate) fn ingested(env: &Env) -> Options {
    let mut file = Options::default();
    file.set_env(env);
    let mut table = table();
    table.disable_cache();
    table.set_bloom_filter(10.0, false);
    file.set_block_based_table_factory(&table);
    file.set_compression_type(COMPRESSION);
    file
}

/// Options for a second, read-only look at the files that must not be answered from the cache.
pub(crate) fn uncached(env: &Env) -> (Options, Options) {
    let mut db = Options::default();
    db.set_env(env);
    db.set_paranoid_checks(true);
    db.set_max_open_files(64);
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    let mut cf = Options::default();
    cf.set_block_based_table_factory(&table);
    (db, cf)
}

/// Reads answered from memory or refused.
pub(crate) fn read_memory() -> ReadOptions {
    let mut read = read_disk();
    read.set_read_tier(ReadTier::BlockCache);
    read
}

/// Reads that may wait for the disk.
pub(crate) fn read_disk() -> ReadOptions {
    let mut read = ReadOptions::default();
    read.set_verify_checksums(true);
    read
}

/// Reads of much data once: they leave the cache to those who come back.
pub(crate) fn read_bulk() -> ReadOptions {
    let mut read = read_disk();
    read.fill_cache(false);
    read
}

/// Writes without RocksDB's log that fail rather than wait.
pub(crate) fn write() -> WriteOptions {
    let mut write = WriteOptions::default();
    write.disable_wal(true);
    write.set_no_slowdown(true);
    write
}

fn family(options: &StoreOptions) -> Options {
    let mut cf = Options::default();
    cf.set_write_buffer_size(options.flush_bytes.clamp(1 << 20, 256 << 20));
    cf.set_arena_block_size(64 << 10);
    cf.set_max_write_buffer_number(8);
    cf.set_disable_auto_compactions(!options.auto_compaction);
    // Deep before writes are held up: the caller sees the files pile up and slows down itself.
    cf.set_level_zero_file_num_compaction_trigger(4);
    cf.set_level_zero_slowdown_writes_trigger(64);
    cf.set_level_zero_stop_writes_trigger(128);
    cf.set_soft_pending_compaction_bytes_limit(0);
    cf.set_hard_pending_compaction_bytes_limit(0);
    cf
}

fn table() -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(8 << 10);
    // Index and filter blocks count against the cache, so open files have no memory of their own.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_format_version(7);
    table
}

/// Forgets what is due. RocksDB turns the record into a delete of its own unless nothing older
/// can lie below, so an older version never comes back up.
fn purge_filter(
    grace: Grace,
    clock_ms: Arc<AtomicU64>,
) -> impl FnMut(u32, &[u8], &[u8]) -> CompactionDecision + Send + 'static {
    move |_, key, value| {
        let (Some((keyspace, ..)), Ok(record)) = (key::decode(key), Record::decode(value)) else {
            return CompactionDecision::Keep;
        };
        // Most records live: ask for the grace period only when it matters.
        if !record.tombstone {
            return CompactionDecision::Keep;
        }
        if purge::is_due(&record, grace(keyspace), clock_ms.load(Ordering::Relaxed)) {
            CompactionDecision::Remove
        } else {
            CompactionDecision::Keep
        }
    }
}
