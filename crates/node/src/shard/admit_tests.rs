#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Position, Stamp, Vector, Version};
use dunlin_metadata::Metadata;
use dunlin_proto::{Batch, BatchAnswer};

use super::*;
use crate::process::Process;
use crate::replication::testing::{CACHES, open};

const THEIRS: Origin = Origin::new(2, 0, 1);
const OTHERS: Origin = Origin::new(3, 0, 1);

fn entry() -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 2,
        partition: 0,
        keyspace: 1,
        stamp: Stamp::new(Version(10), THEIRS),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: "k".into(),
        value: "v".into(),
    }
}

/// A vector that ends too early.
fn torn_vector() -> Entry {
    Entry {
        kind: Kind::Vector,
        ..entry()
    }
}

fn reserved() -> Entry {
    Entry {
        keyspace: u32::MAX,
        ..entry()
    }
}

#[test]
fn what_the_store_or_the_next_start_could_not_take_is_refused() {
    let key = |bytes| Entry {
        key: Bytes::from(vec![b'k'; bytes]),
        ..entry()
    };
    let cases = [
        ("a put", entry(), Ok(())),
        (
            "a delete",
            Entry {
                kind: Kind::Delete,
                ..entry()
            },
            Ok(()),
        ),
        ("a vector that is none", torn_vector(), Err(Nonsense::Kind)),
        (
            "a whole vector",
            Entry::of_vector(&Vector::default()),
            Err(Nonsense::Kind),
        ),
        ("the reserved number", reserved(), Err(Nonsense::Keyspace)),
        (
            "the number before",
            Entry {
                keyspace: u32::MAX - 1,
                ..entry()
            },
            Ok(()),
        ),
        ("the longest key", key(KEY_BYTES), Ok(())),
        (
            "a longer one",
            key(KEY_BYTES + 1),
            Err(Nonsense::Key(KEY_BYTES + 1)),
        ),
        (
            "an entry of another cluster, logged here",
            Entry {
                stamp: Stamp::new(Version(10), THEIRS.in_cluster(5)),
                logged: Some(Box::new(Position::new(THEIRS, Version(11)))),
                ..entry()
            },
            Ok(()),
        ),
        (
            "the same without that place",
            Entry {
                stamp: Stamp::new(Version(10), THEIRS.in_cluster(5)),
                ..entry()
            },
            Err(Nonsense::Cluster { own: 0, found: 5 }),
        ),
    ];
    for (what, entry, expected) in cases {
        assert_eq!(admit(&entry, None, 0), expected, "{what}");
    }
    let stray = Nonsense::Origin {
        batch: OTHERS,
        found: THEIRS,
    };
    assert_eq!(admit(&entry(), Some(THEIRS), 0), Ok(()));
    assert_eq!(admit(&entry(), Some(OTHERS), 0), Err(stray));
}

#[test]
fn a_shard_that_was_sent_nonsense_goes_on_and_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    live(dir.path(), 1, |shard| async move {
        for (sent, nonsense) in [reserved(), torn_vector()].into_iter().enumerate() {
            let before = shard.log.last();
            let taken = shard.append_copies(vec![entry(), nonsense.clone()], || {});
            assert!(taken.is_err(), "{nonsense:?}");
            let (tell, told) = tokio::sync::oneshot::channel();
            let batch = Batch {
                origin: THEIRS,
                after: Version(0),
                up_to: Version(10),
                entries: vec![nonsense.encode()],
                held: Vec::new(),
            };
            shard.append_batch(batch, move |answer| drop(tell.send(answer)));
            assert_eq!(told.await, Ok(BatchAnswer::Refused), "{nonsense:?}");
            let records = shard.ingest(vec![nonsense.clone()]).await;
            assert!(records.is_err(), "{nonsense:?}");
            assert_eq!(shard.log.last(), before, "nothing of it is logged");
            assert_eq!(shard.status().refused_entries, 3 * (sent as u64 + 1));
        }
        shard.copies_applied(vec![entry()]).await.unwrap();
        assert_eq!(shard.trouble(), None);
    });
    live(dir.path(), 2, |shard| async move {
        assert_eq!(shard.trouble(), None);
        assert_eq!(shard.log.last(), 2, "the vector and one entry");
    });
}

/// One life of a shard, ended cleanly.
fn live<F: Future<Output = ()>>(dir: &Path, incarnation: u32, act: impl FnOnce(Rc<Shard>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let process = Process::new(CACHES, 1).unwrap();
        let shard = open(dir, &Metadata::in_memory(), &process, incarnation).await;
        act(shard.clone()).await;
        shard.close().await.unwrap();
    });
}
