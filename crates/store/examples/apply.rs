//! What a store costs: microseconds an applied entry and a read, and the memory of idle stores.
//!
//! `cargo run --release -p dunlin-store --example apply -- [ENTRIES]`
// It measures this machine.
#![allow(clippy::disallowed_methods)]

use std::error::Error;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};
use dunlin_store::{CacheSizes, Lookup, SharedResources, Store, StoreOptions, Tier};

const VALUE_BYTES: usize = 200;

fn entry(n: u64, version: u64) -> Entry {
    // Spread over the key space as hashed keys would be.
    let key = format!("key-{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition: (n % 64) as u16,
        keyspace: 1,
        stamp: Stamp::new(Version(version), Origin::new(1, 0, 1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: key.into(),
        value: Bytes::from(vec![n as u8; VALUE_BYTES]),
    }
}

fn report(what: &str, count: u64, took: Duration) {
    let us = took.as_secs_f64() * 1e6 / count as f64;
    println!("{what:<44} {us:>8.2} us");
}

fn resident_mb() -> Result<f64, Box<dyn Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = statm.split(' ').nth(1).unwrap_or("0").parse()?;
    Ok(pages * 4096.0 / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 200_000,
    };
    let dir = tempfile::tempdir()?;
    let before_mb = resident_mb()?;
    let caches = CacheSizes {
        block_bytes: 64 << 20,
        row_bytes: 64 << 20,
    };
    let shared = SharedResources::new(caches, 1)?;
    let options = StoreOptions::new(shared, Arc::new(|| 0));
    let idle: Vec<Store> = (0..3)
        .map(|n| Store::open(dir.path().join(format!("idle-{n}")), &options))
        .collect::<Result<_, _>>()?;
    println!("three idle stores: {:.1} MB", resident_mb()? - before_mb);
    drop(idle);

    let mut version = 0;
    for batch in [1, 16, 64, 256] {
        let path = dir.path().join(format!("batch-{batch}"));
        let store = Store::open(&path, &options)?;
        let entries: Vec<Entry> = (0..count).map(|n| entry(n, n + 1)).collect();
        let began = Instant::now();
        for (index, batch) in entries.chunks(batch).enumerate() {
            store.apply(batch, index as u64 + 1)?;
        }
        report(
            &format!("blind put, batches of {batch}"),
            count,
            began.elapsed(),
        );
        version = count;
    }

    let path = dir.path().join("reads");
    let store = Store::open(&path, &options)?;
    for batch in (0..count).collect::<Vec<_>>().chunks(256) {
        let entries: Vec<Entry> = batch.iter().map(|n| entry(*n, n + 1)).collect();
        store.apply(&entries, batch[0] + 1)?;
    }
    read(&store, count, "read from the memtable")?;
    store.flush_begin()?;
    let began = Instant::now();
    store.flush_wait()?;
    println!(
        "flush of {count}: {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    read(&store, count, "read from a table, cold and warm")?;
    read(&store, count, "read from a table, warm")?;

    let older: Vec<Entry> = (0..count).map(|n| entry(n, 1)).collect();
    let began = Instant::now();
    for batch in older.chunks(16) {
        store.apply(batch, 0)?;
    }
    report("losing put, batches of 16", count, began.elapsed());
    let newer: Vec<Entry> = (0..count).map(|n| entry(n, version + n + 1)).collect();
    let began = Instant::now();
    for batch in newer.chunks(16) {
        store.apply(batch, 0)?;
    }
    report("blind overwrite, batches of 16", count, began.elapsed());

    let mut merge = store.merge(1, None, Bound::Unbounded, Bound::Unbounded)?;
    let began = Instant::now();
    let mut seen = 0;
    loop {
        let page = merge.page(100, 64 << 10)?;
        seen += page.items.len() as u64;
        if page.next.is_none() {
            break;
        }
    }
    report(
        "record of an ordered walk, 64 partitions",
        seen,
        began.elapsed(),
    );
    let walks = 100;
    let partitions: Vec<u16> = (0..64).collect();
    for (what, partitions) in [
        ("walk of 10 records, all partitions", None),
        (
            "walk of 10 records, 64 named partitions",
            Some(&partitions[..]),
        ),
        ("walk of 10 records, 1 partition", Some(&partitions[..1])),
    ] {
        let began = Instant::now();
        for n in 0..walks {
            let start = format!("key-{n:02x}");
            let mut merge = store.merge(
                1,
                partitions,
                Bound::Included(start.as_bytes()),
                Bound::Unbounded,
            )?;
            merge.page(10, 64 << 10)?;
        }
        report(what, walks, began.elapsed());
    }
    println!("at the end: {:.1} MB", resident_mb()? - before_mb);
    Ok(())
}

fn read(store: &Store, count: u64, what: &str) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let mut waited = 0;
    let reads = 100_000.min(count);
    for n in 0..reads {
        let entry = entry(n * 7919 % count, 0);
        let found = store.get(1, entry.partition, &entry.key, Tier::CacheOnly)?;
        if found == Lookup::NeedsDisk {
            waited += 1;
            store.get(1, entry.partition, &entry.key, Tier::Disk)?;
        }
    }
    report(
        &format!("{what} ({waited} to disk)"),
        reads,
        began.elapsed(),
    );
    Ok(())
}
