//! Sets up several clusters.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_metadata::sim::SimStore;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::SimLines;
use super::names::host_name;
use super::plan::{LinkPlan, NODES};
use super::scene::{self, Scene};
use crate::clients;
use crate::harness::clock::SimTime;
use crate::harness::cluster::{
    Cluster, HarnessError, STEP_MS, broken, describe, make_store_dir, temporary_dir,
};
use crate::harness::host::{Host, Shared, address_of, node_name};

/// Clusters in one network, and their clients.
pub fn build(plan: LinkPlan) -> Result<(Cluster, Rc<Scene>), HarnessError> {
    let mut random = StdRng::seed_from_u64(plan.seed ^ 0x11d4_5eed);
    let data = temporary_dir().map_err(broken)?;
    let time = SimTime::default();
    let lines = Arc::new(SimLines {
        times: plan.times(),
        clock_bound_ms: 1_000,
        ..SimLines::default()
    });
    let mut sim = turmoil::Builder::new()
        .rng_seed(plan.seed)
        .simulation_duration(Duration::from_secs(86_400))
        .tick_duration(Duration::from_millis(STEP_MS))
        .min_message_latency(Duration::from_millis(0))
        .max_message_latency(Duration::from_millis(random.random_range(1..=30)))
        .tcp_capacity(4_096)
        .enable_random_order()
        .build();
    let (mut hosts, mut shared, mut keyspaces) = (Vec::new(), Vec::new(), Vec::new());
    for cluster in 0..plan.clusters {
        let of_cluster = plan.of_cluster();
        let id = (cluster as u128 + 1) << 114 | (u128::from(plan.seed) + 1);
        let store = SimStore::new(id);
        let metadata = store.metadata("operator");
        let nodes = (0..NODES).map(|node| (node_name(node), address_of(&host_name(cluster, node))));
        let described = describe(&of_cluster, nodes, &metadata)?;
        keyspaces.extend(&described);
        let of_one = Shared::new(
            of_cluster,
            (store, metadata),
            time.clone(),
            (described, None),
            Some(lines.clone()),
        );
        for node in 0..NODES {
            let machine = cluster * NODES + node;
            let name = host_name(cluster, node);
            let skew_ms = random.random_range(-plan.skew_ms_max..=plan.skew_ms_max);
            let (disk_seed, place) = (random.random(), (machine, name));
            let host = Host::new(place, Some(node), data.path(), disk_seed, skew_ms, &of_one);
            make_store_dir(&host.data.join("shard-0")).map_err(broken)?;
            let runs = host.clone();
            sim.host(host.name.clone(), move || runs.clone().run());
            hosts.push(host);
        }
        shared.push(of_one);
    }
    let scene = Rc::new(Scene {
        plan,
        time,
        keyspaces,
        made: Cell::default(),
        linked_ms: Cell::default(),
        is_working: Cell::new(true),
        is_late: Cell::new(false),
        writes: RefCell::default(),
        values: RefCell::default(),
        states: RefCell::default(),
        batches: lines.batches.clone(),
        comparisons: Rc::default(),
    });
    let of_clients = scene.clone();
    sim.host(clients::NAME, move || scene::run(of_clients.clone()));
    let first = shared.remove(0);
    Ok((
        Cluster::of_several(sim, hosts, (first, shared), data),
        scene,
    ))
}
