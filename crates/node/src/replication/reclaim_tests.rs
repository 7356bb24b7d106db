#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_log::Runner;
use dunlin_log::disk::RealDisk;
use dunlin_metadata::{KeyspaceSettings, Metadata};
use dunlin_proto::{
    Answerer, Life, Page, PullAnswer, Request, Response, ShardAddress, VectorsAnswer,
};
use dunlin_rpc::{QueueOptions, Reply, Service, Sink, TcpTransport, queue, serve_inbox};
use dunlin_store::CacheSizes;
use tokio::time::sleep;

use crate::clock::SystemClock;
use crate::machine::RealMachine;
use crate::process::Process;
use crate::sabotage::Sabotage;
use crate::services::Services;
use crate::shard::ShardParts;
use crate::{Env, NodeConfig, Shard};

pub(crate) const CACHES: CacheSizes = CacheSizes {
    block_bytes: 1 << 20,
    row_bytes: 0,
};
/// What the shard under test has lost.
const LOST: Origin = Origin::new(1, 0, 1);

/// A replica that has something of the other's lost past.
#[derive(Default)]
struct Replica {
    /// What its vector says of that.
    names: Version,
    /// What its log gives; `None` hands nothing out.
    gives: Option<PullAnswer>,
    asked: Cell<u32>,
    unanswered: RefCell<Vec<Reply<Response>>>,
}

impl Service<Request, Response> for Replica {
    fn handle(&self, request: Request, reply: Reply<Response>) {
        match request {
            Request::Vectors(_) => {
                let vector = [(LOST, self.names)].into_iter().collect::<Vector>();
                reply.send(Response::Vectors(VectorsAnswer {
                    vector,
                    answerer: Answerer {
                        life: Keeper::LIFE,
                        contradiction: None,
                        final_to: 0,
                    },
                }));
            }
            Request::Pull(pull) if pull.origin == LOST => {
                self.asked.set(self.asked.get() + 1);
                match &self.gives {
                    Some(answer) => reply.send(Response::Pulled(answer.clone())),
                    None => self.unanswered.borrow_mut().push(reply),
                }
            }
            // Dropped, it is refused.
            _ => {}
        }
    }
}

pub(crate) async fn open(
    dir: &Path,
    metadata: &Metadata,
    process: &Process,
    incarnation: u32,
) -> Rc<Shard> {
    let parts = ShardParts {
        config: Arc::new(NodeConfig {
            name: "n1".into(),
            data: dir.into(),
            // What is flushed leaves the log, which is what is looked at here.
            flush_bytes: 512 << 20,
            ..NodeConfig::default()
        }),
        cluster: 0,
        address: ShardAddress { node: 1, shard: 0 },
        incarnation,
        known_incarnation: 1,
        remembered_incarnation: 1,
        env: Env {
            clock: Arc::new(SystemClock),
            transport: Arc::new(TcpTransport),
            disk: Arc::new(RealDisk),
            machine: Arc::new(RealMachine),
            log_runner: Runner::inline(|| Duration::ZERO),
            store_runner: Runner::inline(|| Duration::ZERO),
            seed: 1,
            store_background: false,
            sabotage: Sabotage::None,
        },
        metadata: metadata.clone(),
        process: process.clone(),
    };
    let shard = Shard::open(parts).await.unwrap();
    Services::new(shard.clone()).run();
    shard
}

/// Leads a change of the members through its phases, for as long as `wanted` does not hold.
pub(crate) async fn change(metadata: &Metadata, to: &[u16], mut wanted: impl FnMut() -> bool) {
    let change = metadata.begin_change(to.to_vec(), vec![]).await.unwrap();
    let mut phase = Some(change.phase);
    while let Some(now) = phase {
        sleep(Duration::from_millis(10)).await;
        if wanted() {
            return;
        }
        metadata.advance_change(change.id, now).await.unwrap();
        phase = now.next();
    }
}

/// What a shard under test starts with, in a cluster of registered nodes none of which runs.
pub(crate) struct Start {
    pub dir: tempfile::TempDir,
    pub metadata: Metadata,
    pub process: Process,
}

impl Start {
    /// The shard's start of this number.
    pub async fn shard(&self, incarnation: u32) -> Rc<Shard> {
        open(self.dir.path(), &self.metadata, &self.process, incarnation).await
    }

    /// Answers as the first shard of this node.
    fn answer<S: Service<Request, Response> + 'static>(&self, node: &str, service: &Rc<S>) {
        let (address, inbox) = queue(QueueOptions::default());
        self.process.directory.add(node, 0, address);
        tokio::task::spawn_local(serve_inbox(inbox, service.clone()));
    }
}

/// Runs a test of a shard in a cluster of these nodes.
pub(crate) fn among(nodes: &[&str], test: impl AsyncFnOnce(Start)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let metadata = Metadata::in_memory();
        for name in nodes {
            let node = metadata.register(name, "none:1", "none:2", 1, 0).await;
            node.unwrap();
        }
        test(Start {
            dir: tempfile::tempdir().unwrap(),
            metadata,
            process: Process::new(CACHES, 1).unwrap(),
        })
        .await;
    });
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: not within 20 s");
}

#[test]
fn a_replica_that_leaves_does_not_keep_the_past_from_being_gathered_later() {
    among(&["n1", "n2"], async |start| {
        let metadata = &start.metadata;
        let settings = KeyspaceSettings {
            replicas: 1,
            partitions: 1,
            ..KeyspaceSettings::default()
        };
        metadata.create_keyspace("k", settings).await.unwrap();
        if metadata.topology().borrow().members.ids != [1, 2] {
            change(metadata, &[1, 2], || false).await;
        }
        let replica = Rc::new(Replica {
            names: Version(1_000),
            ..Replica::default()
        });
        start.answer("n2", &replica);
        let shard = start.shard(2).await;
        let peer = shard.peer(ShardAddress { node: 2, shard: 0 }).unwrap();

        until("the replica is asked", || replica.asked.get() == 1).await;
        change(metadata, &[1], || false).await;
        until("it has left", || !peer.shares.get()).await;
        replica.unanswered.borrow_mut().clear();
        change(metadata, &[1, 2], || peer.shares.get()).await;
        until("it is asked again", || replica.asked.get() == 2).await;
    });
}

/// A replica with the past of several starts, none of which its log gives any more.
#[derive(Default)]
struct Keeper {
    asked: Cell<u32>,
    copied: Cell<u32>,
}

impl Keeper {
    const PAST: [Origin; 4] = [
        Origin::new(1, 0, 1),
        Origin::new(1, 0, 2),
        Origin::new(1, 0, 5),
        Origin::new(1, 0, 7),
    ];
    const LIFE: Life = Life {
        incarnation: 1,
        is_whole: true,
    };
}

impl Service<Request, Response> for Keeper {
    fn handle(&self, request: Request, reply: Reply<Response>) {
        match request {
            Request::Vectors(_) => reply.send(Response::Vectors(VectorsAnswer {
                vector: Keeper::PAST
                    .map(|past| (past, Version(1_000)))
                    .into_iter()
                    .collect(),
                answerer: Answerer {
                    life: Keeper::LIFE,
                    contradiction: None,
                    final_to: 0,
                },
            })),
            Request::Pull(pull) if Keeper::PAST.contains(&pull.origin) => {
                self.asked.set(self.asked.get() + 1);
                reply.send(Response::Pulled(PullAnswer::TooOld));
            }
            // Dropped, it is refused.
            _ => {}
        }
    }

    fn open(&self, request: Request, sink: Sink<Response>) {
        if matches!(request, Request::Snapshot(_)) {
            self.copied.set(self.copied.get() + 1);
            let page = Page {
                items: Vec::new(),
                next: None,
                life: Some(Keeper::LIFE),
                cost: None,
            };
            give(sink, page);
        }
    }
}

/// Answers with one page.
pub(crate) fn give(sink: Sink<Response>, page: Page) {
    sink.work(move |mut sink| async move {
        sink.send(Response::Page(page)).await.unwrap();
        sink.end();
    });
}

#[test]
fn one_copy_of_what_a_replica_holds_serves_all_starts() {
    among(&["n1", "n2"], async |start| {
        let settings = KeyspaceSettings {
            partitions: 1,
            replicas: 2,
            ..KeyspaceSettings::default()
        };
        start.metadata.create_keyspace("k", settings).await.unwrap();
        let replica = Rc::new(Keeper::default());
        start.answer("n2", &replica);
        let shard = start.shard(8).await;
        until("the past of every start is claimed", || {
            Keeper::PAST
                .iter()
                .all(|past| shard.vector().get(*past) == Version(1_000))
        })
        .await;
        // Each start was asked for, and one page, which is all there is, was copied for all of them.
        assert!(replica.asked.get() >= Keeper::PAST.len() as u32);
        assert_eq!(replica.copied.get(), 1);
    });
}

#[test]
fn who_names_nothing_of_the_past_is_asked_as_well() {
    among(&["n1", "n2", "n3"], async |start| {
        let settings = KeyspaceSettings {
            partitions: 1,
            ..KeyspaceSettings::default()
        };
        start.metadata.create_keyspace("k", settings).await.unwrap();
        let nothing = PullAnswer::Entries {
            entries: Vec::new(),
            up_to: Version(1_000),
            resume_index: 0,
        };
        // The vector of one has risen over what was meant for others; another may have a copy of it.
        let replicas = [("n2", 1_000, nothing), ("n3", 0, PullAnswer::TooOld)];
        let replicas = replicas.map(|(name, names, gives)| {
            let replica = Rc::new(Replica {
                names: Version(names),
                gives: Some(gives),
                ..Replica::default()
            });
            start.answer(name, &replica);
            replica
        });
        let shard = start.shard(2).await;
        until("both are asked", || {
            replicas.iter().all(|replica| replica.asked.get() > 0)
        })
        .await;
        // What it holds is to be compared first, which it does not let happen.
        assert_eq!(shard.vector().get(LOST), Version(0));
    });
}
