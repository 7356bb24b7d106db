//! Who has a copy of what, by the stores on disk.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dunlin_store::{CacheSizes, SharedResources, Store, StoreOptions};

use crate::harness::flock::Flock;
use crate::harness::load::Ledger;

const PARTITIONS: u16 = 64;
const CACHES: CacheSizes = CacheSizes {
    block_bytes: 8 << 20,
    row_bytes: 0,
};
/// Times to look: what others hold is dropped some seconds after a change.
const LOOKS: usize = 12;

/// Checks, with all nodes stopped and afterwards started again, that each key that must be there
/// has `copies` copies, equal ones, all on `holders`, and that the other nodes hold nothing.
pub fn assert_on(flock: &mut Flock, ledger: &Ledger, copies: usize, holders: &[usize]) {
    let mut wrong = Vec::new();
    for _ in 0..LOOKS {
        std::thread::sleep(Duration::from_secs(5));
        let running: Vec<usize> = (0..flock.nodes.len())
            .filter(|index| flock.nodes[*index].is_running())
            .collect();
        for index in &running {
            flock.stop(*index);
        }
        wrong = faults(flock, ledger, copies, holders);
        for index in &running {
            flock.spawn(*index);
        }
        for index in running {
            flock.wait(index);
        }
        if wrong.is_empty() {
            return;
        }
    }
    let first = &wrong[..wrong.len().min(10)];
    panic!("{} wrong: {first:#?}", wrong.len());
}

fn faults(flock: &Flock, ledger: &Ledger, copies: usize, holders: &[usize]) -> Vec<String> {
    let shared = SharedResources::new(CACHES, 1).unwrap();
    let mut held: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (index, node) in flock.nodes.iter().enumerate() {
        let records = records(&node.data, &shared);
        if !holders.contains(&index) && !records.is_empty() {
            wrong.push(format!("{} holds {} records", node.name, records.len()));
        }
        for (key, value) in records {
            held.entry(key).or_default().extend(value);
        }
    }
    for (key, expected) in &ledger.keys {
        let found = held.remove(key).unwrap_or_default();
        let is_whole = match (&expected.acknowledged, &expected.open) {
            (Some(value), None) => found.len() == copies && found.iter().all(|f| f == value),
            // It may have been done, and where it was not, a read tells nobody.
            (None, None) => found.is_empty(),
            (_, Some(_)) => found.len() <= copies,
        };
        if !is_whole {
            let lengths: Vec<usize> = found.iter().map(Vec::len).collect();
            wrong.push(format!("{key} has copies of {lengths:?} bytes"));
        }
    }
    wrong.extend(held.keys().map(|key| format!("{key} was never put")));
    wrong
}

/// The keys of a keyspace that a node has anything of, deleted ones too.
pub fn keys(data: &Path, keyspace: u32, partitions: u16) -> Vec<String> {
    let shared = SharedResources::new(CACHES, 1).unwrap();
    let records = records_of(data, &shared, keyspace, partitions);
    records.into_iter().map(|(key, _)| key).collect()
}

/// Every record of a node, deleted ones with `None`.
fn records(data: &Path, shared: &SharedResources) -> Vec<(String, Option<Vec<u8>>)> {
    records_of(data, shared, 1, PARTITIONS)
}

fn records_of(
    data: &Path,
    shared: &SharedResources,
    keyspace: u32,
    partitions: u16,
) -> Vec<(String, Option<Vec<u8>>)> {
    let path = data.join("shard-0/store");
    if !path.exists() {
        return Vec::new();
    }
    let options = StoreOptions::new(shared.clone(), Arc::new(|| 0));
    let store = Store::open(path, &options).unwrap();
    let mut records = Vec::new();
    for partition in 0..partitions {
        let all = usize::MAX;
        let (start, end) = (Bound::Unbounded, Bound::Unbounded);
        let page = store.scan_page(keyspace, partition, start, end, all, all, None);
        for (key, record) in page.unwrap().items {
            let key = String::from_utf8(key.into()).unwrap();
            records.push((key, (!record.tombstone).then(|| record.value.to_vec())));
        }
    }
    records
}

/// Whether a node's store has a table that was not flushed from memory but made by a copy. Later
/// compactions may have merged it with others.
pub fn has_ingested(data: &Path) -> bool {
    // Part of the name of a property of the tables that RocksDB takes from outside.
    let mark = b"external_sst_file";
    let store = std::fs::read_dir(data.join("shard-0/store")).unwrap();
    let tables = store
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sst"));
    // One that is compacted away in between has no property to show.
    let mut contents = tables.map(|path| std::fs::read(path).unwrap_or_default());
    contents.any(|bytes| bytes.windows(mark.len()).any(|window| window == mark))
}
