#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::rc::Rc;

use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};
use dunlin_metadata::{KeyspaceSettings, Metadata};

use super::*;
use crate::process::Process;
use crate::replication::testing::{CACHES, open};

const THEIRS: Origin = Origin::new(2, 0, 1);

async fn put(shard: &Shard, key: &'static str) {
    let entry = Entry {
        kind: Kind::Put,
        copy: true,
        from: 1,
        partition: 0,
        keyspace: 1,
        stamp: Stamp::new(Version(10), THEIRS),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: key.into(),
        value: "v".into(),
    };
    shard.copies_applied(vec![entry]).await.unwrap();
}

/// The keys as one who asks for them is told, and whether they were counted.
async fn told(shard: &Rc<Shard>) -> (u64, bool) {
    let told = shard.statuses_with_keys(&[shard.address()]).await;
    let status = told.into_iter().next().unwrap().1.unwrap();
    let (keys, is_estimated) = status.keys();
    (keys, !is_estimated)
}

fn live<F: Future<Output = ()>>(act: impl FnOnce(Rc<Shard>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let dir = tempfile::tempdir().unwrap();
        let metadata = Metadata::in_memory();
        let node = metadata.register("n1", "none:1", "none:2", 1, 0).await;
        node.unwrap();
        let settings = KeyspaceSettings {
            replicas: 1,
            partitions: 1,
            ..KeyspaceSettings::default()
        };
        metadata.create_keyspace("k", settings).await.unwrap();
        let process = Process::new(CACHES, 1).unwrap();
        let shard = open(dir.path(), &metadata, &process, 1).await;
        act(shard.clone()).await;
        shard.close().await.unwrap();
    });
}

#[test]
fn keys_are_counted_for_who_asks_for_them_and_not_again_at_once() {
    live(|shard| async move {
        put(&shard, "a").await;
        put(&shard, "b").await;
        for _ in 0..10 {
            let told = shard.statuses(&[shard.address()]).await;
            assert!(!told[0].1.as_ref().unwrap().is_counted);
        }
        assert!(shard.counting.lock().await.is_none(), "nothing was counted");
        let begun = Instant::now();
        assert_eq!(
            tokio::join!(told(&shard), told(&shard)),
            ((2, true), (2, true))
        );
        put(&shard, "c").await;
        let again = told(&shard).await;
        if begun.elapsed() < COUNT_REST {
            assert_eq!(again, (2, true));
        }
        tokio::time::sleep(COUNT_REST).await;
        assert_eq!(told(&shard).await, (3, true));
    });
}

#[test]
fn a_count_that_does_not_end_holds_up_no_status() {
    live(|shard| async move {
        put(&shard, "a").await;
        let under_way = shard.counting.clone().lock_owned().await;
        assert!(!told(&shard).await.1);
        drop(under_way);
        assert_eq!(told(&shard).await, (1, true));
    });
}
