//! Several clusters in one simulated network, and the links between them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use dunlin_node::Quorum;
use dunlin_proto::api::CreateLink;
use dunlin_rpc::Caller;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::{sleep, timeout};

use super::KEYSPACE;
use super::history::{ClientWrite, Outcome, Values};
use super::names::{host_name, link_name};
use super::plan::{LinkPlan, NODES};
use super::transport::{ask_http, caller_of};
use super::verify::Comparisons;
use crate::harness::ask::{Ask, Told, Verb};
use crate::harness::clock::{EPOCH_MS, SimTime};

/// How long an attempt at a write, a read or a scan lasts, in milliseconds.
const ATTEMPT_MS: u64 = 2_000;
/// Pause between looks where there is no work.
const IDLE: Duration = Duration::from_millis(50);
/// Two replicas of three.
const MAJORITY: Quorum = Quorum {
    ack: 2,
    from: NODES as u8,
};

/// What clients are to do, and what they did and saw.
pub struct Scene {
    pub plan: LinkPlan,
    pub time: SimTime,
    /// Number of the keyspace in each cluster.
    pub keyspaces: Vec<u32>,
    /// Links that were made.
    pub made: Cell<usize>,
    /// When all were made, in milliseconds.
    pub linked_ms: Cell<Option<u64>>,
    /// Clients write.
    pub is_working: Cell<bool>,
    /// Those of the first cluster put keys that only they write.
    pub is_late: Cell<bool>,
    pub writes: RefCell<Vec<ClientWrite>>,
    /// The values of each cluster when they were read last.
    pub values: RefCell<BTreeMap<usize, Values>>,
    /// The state of each link when it was read last, by its cluster and name.
    pub states: RefCell<BTreeMap<(usize, String), String>>,
    /// Batches with entries that were sent.
    pub batches: Arc<AtomicU64>,
    pub comparisons: Rc<Comparisons>,
}

/// The servers of a cluster.
fn servers(cluster: usize) -> Vec<String> {
    (0..NODES).map(|node| host_name(cluster, node)).collect()
}

/// Key and value in the store.
fn key_name(key: u16) -> Bytes {
    format!("k{key:03}").into()
}

fn value_of(number: usize, length: usize) -> Bytes {
    let mut value = format!("{number}.").into_bytes();
    value.resize(value.len().max(length), b'v');
    value.into()
}

fn write_of(value: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(value).ok()?;
    text.split('.').next()?.parse().ok()
}

fn ask(keyspace: u32, key: Bytes, verb: Verb) -> Ask {
    Ask {
        keyspace,
        quorum: MAJORITY,
        deadline_ms: None,
        after_ms: None,
        key,
        verb,
    }
}

/// Runs all clients of a run, and the operator who makes the links.
pub async fn run(scene: Rc<Scene>) -> turmoil::Result {
    let clusters = scene.plan.clusters;
    let callers: Vec<Rc<Vec<Caller<Ask, Told>>>> = (0..clusters)
        .map(|cluster| Rc::new(servers(cluster).iter().map(|s| caller_of(s)).collect()))
        .collect();
    for (cluster, nodes) in callers.iter().enumerate() {
        for number in 0..scene.plan.clients {
            let seed = scene.plan.seed ^ ((cluster * 16 + number + 1) as u64) << 32;
            let client = Client {
                cluster,
                nodes: nodes.clone(),
                random: StdRng::seed_from_u64(seed),
                scene: scene.clone(),
            };
            tokio::task::spawn_local(client.work());
        }
        tokio::task::spawn_local(watch(scene.clone(), cluster, nodes.clone()));
    }
    link_all(&scene, &callers).await;
    if Comparisons::are_made(&scene.plan) {
        for link in Comparisons::links(&scene.plan) {
            let comparisons = scene.comparisons.clone();
            let run = Comparisons::run(
                comparisons,
                scene.plan.clone(),
                link,
                callers[link.0].clone(),
            );
            tokio::task::spawn_local(run);
        }
    }
    std::future::pending::<()>().await;
    Ok(())
}

/// Makes all links, one after another.
async fn link_all(scene: &Scene, callers: &[Rc<Vec<Caller<Ask, Told>>>]) {
    for (from, to) in scene.plan.links() {
        let wanted = CreateLink {
            name: link_name(from, to),
            to: servers(to),
            keyspace: KEYSPACE.to_owned(),
            ..CreateLink::default()
        };
        let body = Bytes::from(serde_json::to_vec(&wanted).unwrap_or_default());
        let path = format!("/v1/keyspaces/{KEYSPACE}/links");
        loop {
            let made = ask_http(&callers[from][0], "POST", &path, body.clone(), TIMEOUT).await;
            tracing::info!(?made, from, to, "make a link");
            // An earlier request that was not answered may have made it.
            let is_there = |line: &Bytes| String::from_utf8_lossy(line).contains("already");
            match made {
                Ok((201, _)) => break,
                Ok((409, line)) if is_there(&line) => break,
                _ => sleep(Duration::from_millis(500)).await,
            }
        }
        scene.made.set(scene.made.get() + 1);
    }
    scene.linked_ms.set(Some(scene.time.elapsed_ms()));
}

const TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the values of a cluster, and the states of its links, again and again.
async fn watch(scene: Rc<Scene>, cluster: usize, nodes: Rc<Vec<Caller<Ask, Told>>>) {
    for turn in 0.. {
        sleep(Duration::from_millis(500)).await;
        if scene.is_working.get() || scene.linked_ms.get().is_none() {
            continue;
        }
        let node = &nodes[turn % NODES];
        let scan = ask(scene.keyspaces[cluster], Bytes::new(), Verb::Scan);
        if let Ok(Told::All(pairs)) = node.call(scan, TIMEOUT).await {
            let values = pairs.iter().filter_map(|(key, value)| {
                let key = std::str::from_utf8(key).ok()?.strip_prefix('k')?;
                Some((key.parse().ok()?, write_of(value).unwrap_or(usize::MAX)))
            });
            scene.values.borrow_mut().insert(cluster, values.collect());
        }
        if let Ok((200, body)) = ask_http(node, "GET", "/v1/links", Bytes::new(), TIMEOUT).await {
            let links: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
            for link in links.as_array().into_iter().flatten() {
                let name = link["name"].as_str().unwrap_or_default().to_owned();
                let state = link["state"].as_str().unwrap_or_default().to_owned();
                let mut states = scene.states.borrow_mut();
                let known = states.insert((cluster, name.clone()), state.clone());
                if known.as_ref() != Some(&state) {
                    tracing::info!(cluster, name, state, why = %link["why"], "a link");
                }
            }
        }
    }
}

/// A client of a cluster.
struct Client {
    cluster: usize,
    nodes: Rc<Vec<Caller<Ask, Told>>>,
    random: StdRng,
    scene: Rc<Scene>,
}

impl Client {
    async fn work(mut self) {
        loop {
            let is_late = self.scene.is_late.get() && self.cluster == 0;
            if !self.scene.is_working.get() && !is_late {
                sleep(IDLE).await;
                continue;
            }
            let pause = self.random.random_range(0..=self.scene.plan.pause_ms_max);
            sleep(Duration::from_millis(pause)).await;
            // What others than the first hold before a link leads to them keeps it from being made.
            if self.cluster == 0 || self.scene.linked_ms.get().is_some() {
                self.write().await;
            }
        }
    }

    /// A key; every third is written in one cluster only.
    fn key(&mut self) -> u16 {
        loop {
            let key = self.random.random_range(0..self.scene.plan.keys);
            if !key.is_multiple_of(3) && self.scene.is_late.get() {
                continue;
            }
            let owner = usize::from(key / 3) % self.scene.plan.clusters;
            if !key.is_multiple_of(3) || owner == self.cluster {
                return key;
            }
        }
    }

    async fn write(&mut self) {
        let scene = self.scene.clone();
        let key = self.key();
        let is_delete = self.random.random_bool(0.35) && !scene.is_late.get();
        let start_ms = scene.time.elapsed_ms();
        let skew_ms = scene.plan.skew_ms_max as u64;
        let number = scene.writes.borrow().len();
        scene.writes.borrow_mut().push(ClientWrite {
            cluster: self.cluster,
            key,
            is_delete,
            start_ms,
            outcome: Outcome::Unknown(start_ms + ATTEMPT_MS + 2 * skew_ms + 2),
        });
        let length = *crate::plan::pick(&mut self.random, &[10, 100, 900]);
        let verb = if is_delete {
            Verb::Delete
        } else {
            Verb::Put(
                dunlin_proto::Condition::None,
                None,
                value_of(number, length),
            )
        };
        let mut ask = ask(scene.keyspaces[self.cluster], key_name(key), verb);
        ask.deadline_ms = Some(EPOCH_MS + start_ms + ATTEMPT_MS + skew_ms);
        let node = self.random.random_range(0..NODES);
        let wait = Duration::from_millis(ATTEMPT_MS);
        let answer = timeout(wait, self.nodes[node].call(ask, wait)).await;
        if let Ok(Ok(Told::Written(_))) = answer {
            let at_ms = scene.time.elapsed_ms();
            scene.writes.borrow_mut()[number].outcome = Outcome::Acknowledged(at_ms);
        }
    }
}
