//! The hosts and the network between them, moved on step by step.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use dunlin_log::disk::Disk;
use dunlin_metadata::{
    KeyspaceSettings, Metadata, Mode, Retarget, ViewChange, ViewRecord, sim::SimStore,
};
use dunlin_node::Sabotage;
use dunlin_node::plug::ORACLE_KEYSPACE;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;
use turmoil::Sim;

use super::clock::SimTime;
use super::host::{Host, Shared, address_of, node_name};
use crate::clients;
use crate::counts::Counts;
use crate::history::Loss;
use crate::plan::Plan;

/// One step of simulated time, in milliseconds.
pub const STEP_MS: u64 = 2;

/// How a node ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process is killed: what it wrote is with the operating system.
    Kill,
    /// The machine loses power: what was not synced may be lost, torn or out of order.
    PowerLoss,
    /// The same, and nothing is left of what was not synced.
    Blackout,
}

impl Crash {
    /// Whether the machine loses power.
    pub fn takes_power(self) -> bool {
        self != Crash::Kill
    }
}

/// A simulated cluster.
pub struct Cluster {
    sim: Sim<'static>,
    /// The machines that run the nodes, in the order of the nodes.
    pub hosts: Vec<Rc<Host>>,
    /// One more machine, where a plan has one: it runs nothing, or an earlier process of a node.
    pub spare: Option<Rc<Host>>,
    /// What they share.
    pub shared: Rc<Shared>,
    /// The same of further clusters in this network.
    pub others: Vec<Rc<Shared>>,
    /// What the nodes counted before they crashed.
    pub counts: Counts,
    _data: TempDir,
}

/// Something the harness itself could not do.
#[derive(Debug, thiserror::Error)]
#[error("the simulation itself failed: {0}")]
pub struct HarnessError(pub String);

pub(crate) fn broken(error: impl ToString) -> HarnessError {
    HarnessError(error.to_string())
}

impl Cluster {
    /// Sets up what the plan says and starts all nodes.
    ///
    /// # Errors
    /// When there is no room for temporary files, or the plan makes no sense.
    pub fn start(plan: Plan) -> Result<Cluster, HarnessError> {
        let mut random = StdRng::seed_from_u64(plan.seed ^ 0x5eed);
        let data = temporary_dir().map_err(broken)?;
        let time = SimTime::default();
        let names: Vec<String> = (0..plan.machines()).map(node_name).collect();
        let store = SimStore::new(u128::from(plan.seed) + 1);
        let store = match plan.sabotage {
            Sabotage::TrustEmptyMetadata => store.trusting_all(),
            _ => store,
        };
        let metadata = store.metadata("operator");
        let nodes = names[..plan.nodes].iter();
        let nodes = nodes.map(|name| (name.clone(), address_of(name)));
        let keyspaces = describe(&plan, nodes, &metadata)?;
        let range = describe_range(&plan, &metadata)?;
        let mut sim = turmoil::Builder::new()
            .rng_seed(plan.seed)
            .simulation_duration(Duration::from_secs(86_400))
            .tick_duration(Duration::from_millis(STEP_MS))
            .min_message_latency(Duration::from_millis(0))
            .max_message_latency(Duration::from_millis(random.random_range(1..=30)))
            // Beyond it, turmoil panics where a real network drops.
            .tcp_capacity(4_096)
            .enable_random_order()
            .build();
        let skew_ms_max: i64 = if plan.bad_clocks {
            *crate::plan::pick(&mut random, &[20, 500, 10_000])
        } else {
            0
        };
        let described = (keyspaces, range);
        let shared = Shared::new(plan, (store, metadata), time, described, None);
        let mut hosts: Vec<Rc<Host>> = names
            .into_iter()
            .enumerate()
            .map(|(machine, name)| {
                let skew_ms = random.random_range(-skew_ms_max..=skew_ms_max);
                let node = (machine < shared.plan.nodes).then_some(machine);
                let disk_seed = random.random();
                Host::new(
                    (machine, name),
                    node,
                    data.path(),
                    disk_seed,
                    skew_ms,
                    &shared,
                )
            })
            .collect();
        for host in &hosts {
            for shard in 0..shared.plan.shards {
                make_store_dir(&host.data.join(format!("shard-{shard}"))).map_err(broken)?;
            }
            let host = host.clone();
            sim.host(host.name.clone(), move || host.clone().run());
        }
        let world = shared.clone();
        sim.host(clients::NAME, move || clients::run(world.clone()));
        let spare = hosts.split_off(shared.plan.nodes).pop();
        Ok(Cluster {
            sim,
            hosts,
            spare,
            shared,
            others: Vec::new(),
            counts: Counts::default(),
            _data: data,
        })
    }

    /// Several clusters in one network, each with its hosts: `hosts` are those of all of them.
    pub(crate) fn of_several(
        sim: Sim<'static>,
        hosts: Vec<Rc<Host>>,
        (shared, others): (Rc<Shared>, Vec<Rc<Shared>>),
        data: TempDir,
    ) -> Cluster {
        Cluster {
            sim,
            hosts,
            spare: None,
            shared,
            others,
            counts: Counts::default(),
            _data: data,
        }
    }

    /// Moves time on by one step.
    ///
    /// # Errors
    /// When a host's software ends in a way it must not.
    pub fn step(&mut self) -> Result<(), HarnessError> {
        let now_ms = self.now_ms();
        self.shared.time.set(now_ms + STEP_MS);
        self.shared.store.step();
        for other in &self.others {
            other.store.step();
        }
        self.sim.step().map_err(broken)?;
        Ok(())
    }

    /// Milliseconds since the beginning.
    pub fn now_ms(&self) -> u64 {
        self.shared.time.elapsed_ms()
    }

    /// Ends a node at once.
    ///
    /// # Errors
    /// When something of the node stays behind, which would be there beside its next life.
    pub fn crash(&mut self, number: usize, crash: Crash) -> Result<(), HarnessError> {
        let host = self.hosts[number].clone();
        self.end(&host, crash)
    }

    /// Ends the earlier process of a node, on the spare machine.
    ///
    /// # Errors
    /// When something of the process stays behind.
    pub fn end_earlier(&mut self) -> Result<(), HarnessError> {
        let Some(spare) = self.spare.clone() else {
            return Ok(());
        };
        self.end(&spare, Crash::Kill)?;
        spare.pause.release();
        spare.node.set(None);
        Ok(())
    }

    /// Starts a node's name again on the spare machine, with what is on that one's disk, while the
    /// process there is goes on: its machine is the spare one from now on.
    pub fn start_twin(&mut self, number: usize) {
        let Some(later) = self.spare.take() else {
            return;
        };
        later.node.set(Some(number));
        self.shared.machines.borrow_mut()[number] = later.machine;
        self.spare = Some(std::mem::replace(&mut self.hosts[number], later));
        self.restart(number);
    }

    fn end(&mut self, host: &Rc<Host>, crash: Crash) -> Result<(), HarnessError> {
        for shard in host.live() {
            self.counts.add(&shard.status());
            let flushed = shard.store().flush_wait().map_err(broken)?;
            host.flushed
                .borrow_mut()
                .insert(shard.address().shard, flushed);
        }
        self.count_segments(host);
        if crash.takes_power() {
            // Nobody is told: no connection is closed.
            self.isolate(host);
        }
        self.sim.crash(&*host.name);
        if crash.takes_power() {
            match crash {
                Crash::Blackout => host.disk.black_out(),
                _ => host.disk.crash(),
            };
            let now_ms = self.now_ms();
            let mut history = self.shared.history.borrow_mut();
            history.lose(now_ms, host.number(), Loss::Power);
            host.power_losses.set(host.power_losses.get() + 1);
        }
        if !host.live().is_empty() {
            return Err(HarnessError(format!(
                "a shard of {} outlives its node",
                host.name
            )));
        }
        host.shards.borrow_mut().clear();
        self.counts.crashes += 1;
        Ok(())
    }

    /// Starts a node that has crashed.
    pub fn restart(&mut self, number: usize) {
        let host = self.hosts[number].clone();
        host.pause.release();
        for other in self.others(&host) {
            self.sim.release(&*host.name, &*other);
        }
        self.sim.bounce(&*host.name);
    }

    /// The name of a machine: the one behind the last host is that of clients.
    fn name(&self, number: usize) -> &str {
        self.hosts
            .get(number)
            .map_or(clients::NAME, |host| &host.name)
    }

    fn others(&self, host: &Host) -> Vec<String> {
        let all = self.hosts.iter().chain(&self.spare);
        let others = all.filter(|other| other.machine != host.machine);
        let names = others.map(|h| h.name.clone());
        names.chain([clients::NAME.to_owned()]).collect()
    }

    /// Cuts a machine off from all others, and from clients.
    fn isolate(&mut self, host: &Host) {
        for other in self.others(host) {
            self.sim.partition(&*host.name, &*other);
        }
    }

    /// Cuts the connection between two hosts.
    pub fn cut(&mut self, a: usize, b: usize) {
        self.sim.partition(self.name(a), self.name(b));
    }

    /// Loses what one host sends to another, but not what comes back.
    pub fn cut_one_way(&mut self, from: usize, to: usize) {
        self.sim.partition_oneway(self.name(from), self.name(to));
    }

    /// Keeps back what two hosts send one another.
    pub fn hold(&mut self, a: usize, b: usize) {
        self.sim.hold(self.name(a), self.name(b));
    }

    /// Lets two hosts talk again; what was kept back arrives.
    pub fn mend(&mut self, a: usize, b: usize) {
        self.sim.release(self.name(a), self.name(b));
    }

    /// Makes messages between two hosts take up to `latency_ms`.
    pub fn slow(&mut self, a: usize, b: usize, latency_ms: u64) {
        self.sim.set_link_max_message_latency(
            self.name(a),
            self.name(b),
            Duration::from_millis(latency_ms),
        );
    }

    /// Begins a change of the members to these nodes; false when the cluster refuses.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn change_members(&mut self, to: Vec<u16>) -> Result<bool, HarnessError> {
        let metadata = self.shared.metadata.clone();
        let begun = ask(async move { metadata.begin_change(to, Vec::new()).await })?;
        Ok(begun.is_ok())
    }

    /// Drops a keyspace; false when the cluster refuses.
    ///
    /// # Errors
    /// When no cluster answers.
    pub fn drop_keyspace(&mut self, name: &str, now_ms: u64) -> Result<bool, HarnessError> {
        let metadata = self.shared.metadata.clone();
        Ok(ask(metadata.drop_keyspace(name, now_ms))?.is_ok())
    }

    /// Takes the drop of a keyspace back; false where its data was purged.
    ///
    /// # Errors
    /// When no cluster answers.
    pub fn undrop_keyspace(&mut self, name: &str) -> Result<bool, HarnessError> {
        let metadata = self.shared.metadata.clone();
        Ok(ask(metadata.undrop_keyspace(name))?.is_ok())
    }

    /// Gives a range another target; false when the cluster refuses.
    ///
    /// # Errors
    /// When no cluster answers.
    pub fn retarget(
        &mut self,
        keyspace: &str,
        number: u16,
        wish: &Retarget,
    ) -> Result<bool, HarnessError> {
        let metadata = self.shared.metadata.clone();
        let planned = ask(metadata.retarget_range(keyspace, number, wish))?;
        Ok(planned.is_ok())
    }

    /// Gives the change of the members up; false when the cluster refuses.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn cancel_change(&mut self) -> Result<bool, HarnessError> {
        let metadata = self.shared.metadata.clone();
        Ok(ask(async move { metadata.cancel_change().await })?.is_ok())
    }

    /// Takes a node that is lost for good out of the cluster, a step at a time: an operator who is
    /// told to wait, or to give a change up first, does so.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn bury(&mut self, node: u16, to: Vec<u16>) -> Result<(), HarnessError> {
        let metadata = self.shared.metadata.clone();
        let topology = metadata.topology().borrow().clone();
        if topology.node(node).is_none() {
            return Ok(());
        }
        let change = topology.members.change.clone();
        let is_member = topology.members.ids.contains(&node);
        ask(async move {
            // Refusals are no faults: the next attempt meets another state.
            match change {
                Some(change) if change.dead.contains(&node) => {}
                Some(_) => {
                    if metadata.bury_in_change(node).await.is_err() {
                        drop(metadata.cancel_change().await);
                    }
                }
                None if is_member => drop(metadata.begin_change(to, vec![node]).await),
                None => {
                    let name = topology.node(node).map(|node| node.name.clone());
                    drop(metadata.forget_node(&name.unwrap_or_default()).await);
                }
            }
        })
    }

    /// Adds what the running nodes have counted.
    pub fn count_live(&mut self) {
        for host in self.hosts.clone() {
            for shard in host.live() {
                self.counts.add(&shard.status());
            }
            self.count_segments(&host);
        }
        let members = self.shared.metadata.topology().borrow().members.clone();
        self.counts.changes = members.changes - u64::from(members.change.is_some());
    }

    fn count_segments(&mut self, host: &Host) {
        for shard in 0..self.shared.plan.shards {
            let log = host.data.join(format!("shard-{shard}")).join("log");
            let names = host.disk.list(&log).unwrap_or_default();
            let oldest = names
                .iter()
                .filter_map(|name| name.strip_suffix(".log")?.parse::<u64>().ok())
                .min();
            self.counts.released_segments += oldest.unwrap_or(1) - 1;
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the store is on the real disk; only the log is on the simulated one"
)]
pub(crate) fn make_store_dir(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)
}

/// In memory where the system has such a place: RocksDB syncs what it flushes.
pub(crate) fn temporary_dir() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let builder = &mut tempfile::Builder::new();
    let builder = builder.prefix("dunlin-sim-");
    if memory.is_dir() {
        builder.tempdir_in(memory)
    } else {
        builder.tempdir()
    }
}

/// The view of a run: a row for each document, with its version.
const MAP: &str = "function (doc, meta) { emit(meta.version, null) }";

/// A cluster as it is before any of its nodes starts, each with its name and address; the numbers of its keyspaces.
pub(crate) fn describe(
    plan: &Plan,
    nodes: impl Iterator<Item = (String, String)>,
    metadata: &Metadata,
) -> Result<Vec<u32>, HarnessError> {
    let keyspaces = ask(async {
        for (name, listen) in nodes {
            metadata
                .register(&name, "none:1", &listen, plan.shards, 0)
                .await?;
        }
        let mut keyspaces = Vec::new();
        for (name, settings) in &plan.keyspaces {
            let made = metadata.create_keyspace(name, settings.clone()).await?;
            keyspaces.push(made.id);
            if plan.views {
                let view = ViewRecord {
                    id: 0,
                    name: "view".to_owned(),
                    map: MAP.to_owned(),
                    reduce: Some("_count".to_owned()),
                    created_ms: 0,
                    force: false,
                    before: None,
                };
                metadata
                    .change_views(name, &ViewChange::Create(view))
                    .await?;
            }
        }
        let members: Vec<u16> = (1..=plan.members as u16).collect();
        if metadata.topology().borrow().members.ids != members {
            let change = metadata.begin_change(members, Vec::new()).await?;
            let mut phase = Some(change.phase);
            while let Some(now) = phase {
                metadata.advance_change(change.id, now).await?;
                phase = now.next();
            }
        }
        Ok::<_, dunlin_metadata::MetadataError>(keyspaces)
    })?;
    keyspaces.map_err(broken)
}

/// Where it is cut: lists that transactions append to are in three ranges, beside registers.
const SPLIT_AT: [&str; 3] = ["list/1", "list/2", "range/1"];

/// Keyspaces of lists that may be dropped.
pub const SIDES: [&str; 2] = ["side-1", "side-2"];

/// The transactional keyspace, where there is one; nodes make its replicas when they start.
fn describe_range(plan: &Plan, metadata: &Metadata) -> Result<Option<u32>, HarnessError> {
    if !plan.ranges {
        return Ok(None);
    }
    let settings = KeyspaceSettings {
        mode: Mode::Transactional,
        ..KeyspaceSettings::default()
    };
    let made = ask(async {
        metadata
            .create_keyspace(ORACLE_KEYSPACE, settings.clone())
            .await?;
        let settings = KeyspaceSettings {
            split_at: SPLIT_AT.map(str::to_owned).into(),
            ..settings.clone()
        };
        for side in SIDES.iter().filter(|_| plan.range_faults.drops) {
            metadata.create_keyspace(side, settings.clone()).await?;
        }
        metadata.create_keyspace("range", settings).await
    })?;
    made.map(|made| Some(made.id)).map_err(broken)
}

/// Waits for the metadata store, which is in memory.
fn ask<T>(question: impl Future<Output = T>) -> Result<T, HarnessError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    Ok(runtime.map_err(broken)?.block_on(question))
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
