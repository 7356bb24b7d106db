#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::cell::{Cell, RefCell};

use dunlin_entry::{Origin, Version};
use dunlin_metadata::{KeyspaceSettings, Metadata};
use dunlin_proto::{
    Answerer, Batch, BatchAnswer, Life, PullAnswer, ReadAnswer, ReadRequest, VectorsAnswer,
};
use dunlin_rpc::{QueueOptions, Reply, Service, Sink, queue, serve_inbox};

use super::super::reclaim::tests::{CACHES, change, give, open, until};
use dunlin_entry::Stamp;

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
                answerer: Answerer {
                    life: self.life(),
                    contradiction: None,
                    final_to: 0,
                },
            })),
            _ => {}
        }
    }

    fn open(&self, request: Request, sink: Sink<Response>) {
        if self.is_silent.get() || !matches!(request, Request::Snapshot(_)) {
            return;
        }
        let page = Page {
            items: vec![Item {
                key: "changed".into(),
                stamp: stamp(15),
                from: 2,
                tombstone: false,
                expiry_ms: None,
                is_expiry: false,
                replaces: None,
                logged: None,
                value: "new".into(),
            }],
            next: None,
            life: Some(self.life()),
            cost: None,
        };
        give(sink, page);
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

/// A shard of node 1 once a copy of what it held is whole again, and what it then answers for "deleted",
/// "changed" and "unseen".
fn whole(replica_is_whole: bool) -> (Fixture, Vec<Option<Bytes>>) {
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
    (fixture, once)
}

/// What it answers then, and after another restart.
fn restored(replica_is_whole: bool) -> [Vec<Option<Bytes>>; 2] {
    let (fixture, once) = whole(replica_is_whole);
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

/// Pages of the partition that a [`Lender`] has.
const LENT_PAGES: u64 = 5;

/// A replica that has a record a page.
#[derive(Default)]
struct Lender {
    /// After so many pages a stream breaks, or ends.
    breaks_after: Cell<u64>,
    ends_after: Cell<u64>,
    streams: Cell<u64>,
    given: RefCell<Vec<u64>>,
}

impl Lender {
    fn page(&self, snapshot: &SnapshotRequest) -> Page {
        let number: u64 = match &snapshot.start[..] {
            [] => 1,
            start => std::str::from_utf8(start).unwrap().parse().unwrap(),
        };
        self.given.borrow_mut().push(number);
        Page {
            items: vec![Item {
                key: number.to_string().into(),
                stamp: stamp(2 * SEEN + number),
                from: 2,
                tombstone: false,
                expiry_ms: None,
                is_expiry: false,
                replaces: None,
                logged: None,
                value: "lent".into(),
            }],
            next: (number < LENT_PAGES).then(|| (number + 1).to_string().into()),
            life: Some(Life {
                incarnation: 1,
                is_whole: true,
            }),
            cost: None,
        }
    }
}

/// What serves it.
struct Lends(Rc<Lender>);

impl Service<Request, Response> for Lends {
    fn handle(&self, request: Request, reply: Reply<Response>) {
        if let Request::Vectors(_) = request {
            reply.send(Response::Vectors(VectorsAnswer {
                vector: [(THEIRS, Version(3 * SEEN))].into_iter().collect(),
                answerer: Answerer {
                    life: Life {
                        incarnation: 1,
                        is_whole: true,
                    },
                    contradiction: None,
                    final_to: 0,
                },
            }));
        }
    }

    fn open(&self, request: Request, sink: Sink<Response>) {
        let Request::Snapshot(mut snapshot) = request else {
            panic!("{request:?}");
        };
        let lender = self.0.clone();
        lender.streams.set(lender.streams.get() + 1);
        sink.work(move |mut sink| async move {
            for sent in 0.. {
                if sent == lender.breaks_after.get() {
                    lender.breaks_after.set(u64::MAX);
                    return;
                }
                if sent == lender.ends_after.get() {
                    return sink.end();
                }
                let page = lender.page(&snapshot);
                let next = page.next.clone();
                sink.send(Response::Page(page)).await.unwrap();
                match next {
                    Some(next) => snapshot.start = next,
                    None => return sink.end(),
                }
            }
        });
    }
}

/// Copies all that a lender has; how it asked for it, and how often that failed.
fn borrowed(lender: Lender) -> (u64, u64) {
    let lender = Rc::new(lender);
    let fixture = whole(true).0;
    let service = Rc::new(Lends(lender.clone()));
    let failed = fixture.live_beside(service, 2, |shard| async move {
        assert!(!shard.is_refilling());
        let their = |shard: &Rc<Shard>| shard.peer(ShardAddress { node: 2, shard: 0 });
        until("there is another", || their(&shard).is_some()).await;
        let peer = their(&shard).unwrap();
        until("it is shared with", || peer.shares.get()).await;
        let replication = Replication::new(shard.clone());
        let mut failed = 0;
        while let Err(error) = replication.backfill_from(&peer).await {
            assert!(failed < 10, "{error}");
            failed += 1;
        }
        for number in 1..=LENT_PAGES {
            let asked = ReadRequest {
                keyspace: 1,
                partition: 0,
                have: None,
                key: number.to_string().into(),
            };
            assert_eq!(value(shard.read_disk(asked).await), Some("lent".into()));
        }
        failed
    });
    // Each once, however it went.
    let expected: Vec<u64> = (1..=LENT_PAGES).collect();
    assert_eq!(*lender.given.borrow(), expected);
    (lender.streams.get(), failed)
}

#[test]
fn a_partition_is_asked_for_once_and_comes_page_after_page() {
    let lender = |breaks_after: u64, ends_after: u64| Lender {
        breaks_after: Cell::new(breaks_after),
        ends_after: Cell::new(ends_after),
        ..Lender::default()
    };
    const NEVER: u64 = u64::MAX;
    for (what, lender, expected) in [
        ("a stream", lender(NEVER, NEVER), (1, 0)),
        ("a break", lender(3, NEVER), (2, 1)),
        ("in runs", lender(NEVER, 2), (3, 0)),
        ("broken at once", lender(0, NEVER), (2, 1)),
    ] {
        assert_eq!(borrowed(lender), expected, "{what}");
    }
}

/// A replica of uncertain past that names more of its own than the other has, and whose page is waited for.
#[derive(Default)]
struct Unsure {
    asked: RefCell<Vec<Sink<Response>>>,
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
                answerer: Answerer {
                    life: Unsure::LIFE,
                    contradiction: None,
                    final_to: 0,
                },
            })),
            Request::Pull(_) => reply.send(Response::Pulled(PullAnswer::TooOld)),
            _ => {}
        }
    }

    fn open(&self, request: Request, sink: Sink<Response>) {
        if matches!(request, Request::Snapshot(_)) {
            self.asked.borrow_mut().push(sink);
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

#[allow(clippy::disallowed_methods)]
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
        // As when another is heard.
        shard.end_refill_if_whole();
        tokio::time::sleep(10 * REFILL_INTERVAL).await;
        assert!(shard.is_refilling());
        let sink = waited.asked.borrow_mut().pop().unwrap();
        let page = Page {
            items: vec![Item {
                key: "deleted".into(),
                stamp: stamp(5),
                from: 2,
                tombstone: false,
                expiry_ms: None,
                is_expiry: false,
                replaces: None,
                logged: None,
                // So much is stored at once.
                value: vec![0; CHUNK_BYTES].into(),
            }],
            next: Some("e".into()),
            life: Some(Unsure::LIFE),
            cost: None,
        };
        give(sink, page);
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
