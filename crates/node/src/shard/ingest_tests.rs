#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::future::Future;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Kind, Origin, Stamp};
use dunlin_metadata::Metadata;

use super::*;
use crate::process::Process;
use crate::replication::testing::{CACHES, open};

fn with_shard<F: Future<Output = ()>>(act: impl FnOnce(Rc<Shard>) -> F) {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let process = Process::new(CACHES, 1).unwrap();
        let shard = open(dir.path(), &Metadata::in_memory(), &process, 1).await;
        act(shard.clone()).await;
        shard.close().await.unwrap();
    });
}

/// Two of them are enough for a file.
fn record(partition: u16, key: &'static str) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: true,
        from: 2,
        partition,
        keyspace: 1,
        stamp: Stamp::new(Version(10), Origin::new(2, 0, 1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: key.into(),
        value: vec![b'v'; 600 << 10].into(),
    }
}

async fn sorted(shard: &Shard, partition: u16, keys: [&'static str; 2]) -> Sorted {
    let entries = keys.map(|key| record(partition, key)).to_vec();
    shard.sort_out(move || Ok(entries)).await.unwrap().unwrap()
}

fn value_bytes(shard: &Shard, partition: u16, key: &'static str) -> Option<usize> {
    let held = shard.read_blocking(1, partition, &Bytes::from_static(key.as_bytes()));
    held.unwrap().map(|item| item.value.len())
}

#[test]
fn only_what_has_something_in_its_way_goes_through_the_log() {
    with_shard(|shard| async move {
        let newer = Entry {
            stamp: Stamp::new(Version(20), Origin::new(2, 0, 1)),
            value: "newer".into(),
            ..record(0, "d")
        };
        shard.copies_applied(vec![newer]).await.unwrap();
        let before = shard.log.last();
        let all = vec![
            sorted(&shard, 0, ["a", "b"]).await,
            sorted(&shard, 0, ["c", "e"]).await,
            sorted(&shard, 1, ["a", "z"]).await,
        ];
        assert!(all.iter().all(|sorted| sorted.file.is_some()));
        shard.ingest_all(all).await.unwrap();
        assert_eq!(shard.log.last() - before, 2, "c and e");
        for (partition, key) in [(0, "a"), (0, "b"), (0, "c"), (0, "e"), (1, "a"), (1, "z")] {
            assert_eq!(
                value_bytes(&shard, partition, key),
                Some(600 << 10),
                "{key}"
            );
        }
        assert_eq!(value_bytes(&shard, 0, "d"), Some("newer".len()));
        let origin = Origin::new(2, 0, 1);
        assert_eq!(shard.copies.pending().get(origin), Version(20));
    });
}

#[test]
fn what_is_in_files_is_known_as_copied() {
    with_shard(|shard| async move {
        let all = vec![sorted(&shard, 0, ["a", "b"]).await];
        shard.ingest_all(all).await.unwrap();
        let origin = Origin::new(2, 0, 1);
        assert_eq!(shard.copies.pending().get(origin), Version(10));
        assert!(shard.ingested.get() >= Version(10));
        assert_eq!(
            noted(&*shard.env.disk, &shard.dir()),
            Some(shard.ingested.get())
        );
    });
}

#[test]
fn what_ends_by_itself_and_what_is_little_goes_through_the_log() {
    with_shard(|shard| async move {
        let ends = |key| Entry {
            expiry_ms: Some(u64::MAX / 2),
            ..record(0, key)
        };
        let little = Entry {
            value: "v".into(),
            ..record(1, "a")
        };
        for entries in [vec![ends("a"), ends("b")], vec![little]] {
            let sorted = shard.sort_out(move || Ok(entries)).await.unwrap().unwrap();
            assert!(sorted.file.is_none());
            shard.ingest_all(vec![sorted]).await.unwrap();
        }
        assert_eq!(value_bytes(&shard, 0, "b"), Some(600 << 10));
        assert_eq!(value_bytes(&shard, 1, "a"), Some(1));
    });
}

#[test]
fn nothing_is_stored_of_records_that_are_not_in_order_or_no_records() {
    with_shard(|shard| async move {
        let before = shard.log.last();
        let unsorted = vec![record(0, "b"), record(0, "a")];
        assert!(shard.sort_out(move || Ok(unsorted)).await.is_err());
        let twice = vec![record(0, "a"), record(0, "a")];
        assert!(shard.sort_out(move || Ok(twice)).await.is_err());
        let malformed = || Err(DecodeError::new("cut short"));
        assert!(shard.sort_out(malformed).await.is_err());
        assert_eq!(shard.log.last(), before);
        assert_eq!(value_bytes(&shard, 0, "a"), None);
        assert!(shard.sort_out(|| Ok(Vec::new())).await.unwrap().is_none());
    });
}

#[test]
fn what_is_applied_waits_only_where_files_are_taken_over() {
    with_shard(|shard| async move {
        let all = [sorted(&shard, 0, ["b", "d"]).await];
        let still = shard
            .quiet
            .keep(all.iter().filter_map(Sorted::keys).collect())
            .await;
        shard.copies_applied(vec![record(0, "a")]).await.unwrap();
        shard.copies_applied(vec![record(1, "c")]).await.unwrap();
        let mut waiting = std::pin::pin!(shard.copies_applied(vec![record(0, "c")]));
        let soon = tokio::time::sleep(std::time::Duration::from_millis(100));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it is in the range"),
            () = soon => {}
        }
        assert_eq!(value_bytes(&shard, 0, "c"), None);
        drop(still);
        waiting.await.unwrap();
        assert_eq!(value_bytes(&shard, 0, "c"), Some(600 << 10));
    });
}
