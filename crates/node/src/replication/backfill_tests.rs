#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::cell::{Cell, RefCell};

use dunlin_entry::{Origin, Version};
use dunlin_metadata::{KeyspaceSettings, Metadata};
use dunlin_proto::{
    Answerer, Batch, BatchAnswer, Life, PullAnswer, ReadAnswer, ReadRequest, VectorsAnswer,
};
use dunlin_rpc::{QueueOptions, Reply, Service, queue, serve_inbox};

use super::super::reclaim::tests::{CACHES, change, open, until};
use super::*;
use crate::limits::REFILL_INTERVAL;
use crate::process::Process;
use crate::shard::Shard;

const THEIRS: Origin = Origin::new(2, 0, 1);
/// Up to where the replica has seen its own entries.
const SEEN: u64 = 20;

/// A replica that holds a newer value of "changed", and nothing else any more.
struct Replica {
    is_whole: Cell<bool>,
    is_silent: Cell<bool>,
}

impl Replica {
    fn life(&self) -> Life {
        Life {
            incarnation: 1,
            is_whole: self.is_whole.get(),
        }
    }
}

fn stamp(version: u64) -> Stamp {
    Stamp::new(Version(version), THEIRS)
}

impl Service<Request, Response> for Replica {
    fn handle(&self, request: Request, reply: Reply<Response>) {
        match request {
            // Dropped, it is refused.
            _ if self.is_silent.get() => {}
            Request::Vectors(_) => reply.send(Response::Vectors(VectorsAnswer {
                vector: [(THEIRS, Version(SEEN))].into_iter().collect(),
                answerer: Some(Answerer {
                    life: self.life(),
                    contradiction: None,
                    final_to: 0,
                }),
            })),
            Request::Snapshot(_) => reply.send(Response::Page(Page {
                items: vec![Item {
                    key: "changed".into(),
                    stamp: stamp(15),
                    from: 2,
                    tombstone: false,
                    expiry_ms: None,
                    is_expiry: false,
                    replaces: None,
                    value: "new".into(),
                }],
                next: None,
                life: Some(self.life()),
                cost: None,
            })),
            _ => {}
        }
    }
}

fn entry(key: &'static str, version: u64) -> Bytes {
    let entry = Entry {
        kind: Kind::Put,
        copy: false,
        from: 2,
        partition: 0,
        keyspace: 1,
        stamp: stamp(version),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: key.into(),
        value: "old".into(),
    };
    entry.encode()
}

fn question(key: &'static str) -> ReadRequest {
    ReadRequest {
        keyspace: 1,
        partition: 0,
        have: None,
        key: key.into(),
    }
}

fn value(answer: ReadAnswer) -> Option<Bytes> {
    match answer {
        ReadAnswer::Value(item) => Some(item.value),
        ReadAnswer::Absent => None,
        other => panic!("{other:?}"),
    }
}

/// Two nodes of which the first is opened anew again and again.
struct Fixture {
    runtime: tokio::runtime::Runtime,
    dir: tempfile::TempDir,
    metadata: Metadata,
    process: Process,
    replica: Rc<Replica>,
}

impl Fixture {
    fn new() -> Fixture {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let metadata = Metadata::in_memory();
        runtime.block_on(async {
            for name in ["n1", "n2"] {
                let node = metadata.register(name, "none:1", "none:2", 1, 0).await;
                node.unwrap();
            }
            let settings = KeyspaceSettings {
                replicas: 2,
                partitions: 1,
                ..KeyspaceSettings::default()
            };
            let keyspace = metadata.create_keyspace("k", settings).await.unwrap();
            assert_eq!(keyspace.id, 1);
            let members = metadata.topology().borrow().members.ids.clone();
            if members != [1, 2] {
                change(&metadata, &[1, 2], || false).await;
            }
        });
        Fixture {
            runtime,
            dir: tempfile::tempdir().unwrap(),
            metadata,
            process: Process::new(CACHES, 1).unwrap(),
            replica: Rc::new(Replica {
                is_whole: Cell::new(true),
                is_silent: Cell::new(true),
            }),
        }
    }

    /// One life of the shard, ended cleanly.
    fn live<T, F: Future<Output = T>>(
        &self,
        incarnation: u32,
        act: impl FnOnce(Rc<Shard>) -> F,
    ) -> T {
        self.live_beside(self.replica.clone(), incarnation, act)
    }

    fn live_beside<T, F: Future<Output = T>>(
        &self,
        other: Rc<dyn Service<Request, Response>>,
        incarnation: u32,
        act: impl FnOnce(Rc<Shard>) -> F,
    ) -> T {
        // What its tasks hold goes with them.
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&self.runtime, async {
            let (address, inbox) = queue(QueueOptions::default());
            self.process.directory.add("n2", 0, address);
            tokio::task::spawn_local(serve_inbox(inbox, other));
            let dir = self.dir.path();
            let shard = open(dir, &self.metadata, &self.process, incarnation).await;
            let done = act(shard.clone()).await;
            shard.close().await.unwrap();
            done
        })
    }
}

async fn values(shard: &Rc<Shard>) -> Vec<Option<Bytes>> {
    let mut found = Vec::new();
    for key in ["deleted", "changed", "unseen"] {
        found.push(value(shard.read_disk(question(key)).await));
    }
    found
}

/// What a shard of node 1 answers for "deleted", "changed" and "unseen" once a copy of what it held
/// is whole again, and after another restart.
fn restored(replica_is_whole: bool) -> [Vec<Option<Bytes>>; 2] {
    let fixture = Fixture::new();
    fixture.replica.is_whole.set(replica_is_whole);
    fixture.live(2, |shard| async move {
        let (tell, told) = tokio::sync::oneshot::channel();
        let batch = Batch {
            origin: THEIRS,
            after: Version(0),
            up_to: Version(30),
            // The replica, set back itself, has not seen the last.
            entries: vec![
                entry("deleted", 5),
                entry("changed", 6),
                entry("unseen", 30),
            ],
            held: Vec::new(),
        };
        shard.append_batch(batch, move |answer| {
            tell.send(answer).unwrap();
        });
        assert!(matches!(told.await.unwrap(), BatchAnswer::Have { .. }));
    });
    // There were starts that this directory knows nothing of.
    let replica = fixture.replica.clone();
    let once = fixture.live(4, |shard| async move {
        assert!(shard.is_refilling());
        let answer = shard.read_cached(&question("deleted"));
        assert!(matches!(answer, Some(ReadAnswer::Unknown)), "{answer:?}");
        replica.is_silent.set(false);
        until("it is whole", || shard.answers()).await;
        values(&shard).await
    });
    let again = fixture.live(2, |shard| async move {
        assert!(!shard.is_refilling());
        until("it has heard the other", || shard.answers()).await;
        values(&shard).await
    });
    [once, again]
}

#[test]
fn what_a_copy_held_and_all_others_have_deleted_and_forgotten_stays_deleted() {
    let expected = vec![None, Some("new".into()), Some("old".into())];
    assert_eq!(restored(true), [expected.clone(), expected]);
}

#[test]
fn a_replica_that_is_filled_itself_says_nothing_of_deletes() {
    let expected = vec![Some("old".into()), Some("new".into()), Some("old".into())];
    assert_eq!(restored(false), [expected.clone(), expected]);
}

/// A replica of uncertain past that names more of its own than the other has, and whose page is waited for.
#[derive(Default)]
struct Unsure {
    asked: RefCell<Vec<Reply<Response>>>,
}

impl Unsure {
    const LIFE: Life = Life {
        incarnation: 1,
        is_whole: false,
    };
}

impl Service<Request, Response> for Unsure {
    fn handle(&self, request: Request, reply: Reply<Response>) {
        match request {
            Request::Vectors(_) => reply.send(Response::Vectors(VectorsAnswer {
                vector: [(THEIRS, Version(40))].into_iter().collect(),
                answerer: Some(Answerer {
                    life: Unsure::LIFE,
                    contradiction: None,
                    final_to: 0,
                }),
            })),
            Request::Pull(_) => reply.send(Response::Pulled(PullAnswer::TooOld)),
            Request::Snapshot(_) => self.asked.borrow_mut().push(reply),
            _ => {}
        }
    }
}

async fn take(shard: &Rc<Shard>, after: u64, up_to: u64, entries: Vec<Bytes>) {
    let (tell, told) = tokio::sync::oneshot::channel();
    let batch = Batch {
        origin: THEIRS,
        after: Version(after),
        up_to: Version(up_to),
        entries,
        held: Vec::new(),
    };
    shard.append_batch(batch, move |answer| tell.send(answer).unwrap());
    assert!(matches!(told.await.unwrap(), BatchAnswer::Have { .. }));
}

#[test]
fn no_refill_ends_while_one_in_doubt_gives_and_what_that_gave_is_compared_after_a_restart_too() {
    let fixture = Fixture::new();
    fixture.live(2, |shard| async move {
        take(&shard, 0, 30, vec![entry("unseen", 30)]).await;
    });
    let mark = fixture.dir.path().join("shard-0").join("refill");
    std::fs::write(&mark, "\"repaired\"").unwrap();
    let unsure = Rc::new(Unsure::default());
    let waited = unsure.clone();
    fixture.live_beside(unsure, 2, |shard| async move {
        until("its page is asked for", || {
            !waited.asked.borrow().is_empty()
        })
        .await;
        // It has all that was named now, before what is under way has come.
        take(&shard, 30, 40, vec![entry("unseen", 40)]).await;
        tokio::time::sleep(10 * REFILL_INTERVAL).await;
        assert!(shard.is_refilling());
        let reply = waited.asked.borrow_mut().pop().unwrap();
        reply.send(Response::Page(Page {
            items: vec![Item {
                key: "deleted".into(),
                stamp: stamp(5),
                from: 2,
                tombstone: false,
                expiry_ms: None,
                is_expiry: false,
                replaces: None,
                // So much is stored at once.
                value: vec![0; CHUNK_BYTES].into(),
            }],
            next: Some("e".into()),
            life: Some(Unsure::LIFE),
            cost: None,
        }));
        until("the next is", || !waited.asked.borrow().is_empty()).await;
        assert!(shard.is_refilling());
        assert!(value(shard.read_disk(question("deleted")).await).is_some());
    });
    assert_eq!(std::fs::read(&mark).unwrap(), b"\"mixed\"");
    // The other holds nothing but a newer value of "changed".
    fixture.replica.is_silent.set(false);
    let values = fixture.live(2, |shard| async move {
        assert!(shard.is_refilling());
        until("it is whole", || shard.answers()).await;
        values(&shard).await
    });
    assert_eq!(values, [None, Some("new".into()), Some("old".into())]);
}
