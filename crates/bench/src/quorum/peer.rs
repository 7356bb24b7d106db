//! The same puts to other stores, in turns with ours.

use super::Session;
use super::workload::Workloads;
use crate::cluster::{Cluster, etcd, redis};
use crate::error::BenchError;
use crate::load::http::{THREE_COPIES, Verb};
use crate::measure::{Run, measure};
use crate::report::model::{Peer, Summary};

/// Connections of the closed loops.
const CONNECTIONS: usize = 64;

#[derive(Debug, Clone, Copy)]
enum Store {
    DunlinSynced,
    Etcd,
    Dunlin,
    Redis,
}

impl Store {
    fn name(self) -> &'static str {
        match self {
            Store::DunlinSynced | Store::Dunlin => "Dunlin, 3 nodes",
            Store::Etcd => "etcd, 3 members",
            Store::Redis => "Redis, 1 replica",
        }
    }

    fn acknowledged(self) -> &'static str {
        match self {
            Store::DunlinSynced => "by 2 of 3, synced",
            Store::Etcd => "by a majority, synced",
            Store::Dunlin => "by 2 of 3, not synced",
            Store::Redis => "by 1, replica follows, not synced",
        }
    }

    fn copies(self) -> u8 {
        match self {
            Store::Redis => 2,
            Store::DunlinSynced | Store::Etcd | Store::Dunlin => 3,
        }
    }
}

/// Closed loops of puts, repeated in turns; a rival that is not installed or does not start is
/// left out and named.
///
/// # Errors
/// When load cannot be carried out.
pub fn measure_all(
    session: &Session,
    unsynced: &mut Cluster,
    synced: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<Vec<Peer>, BenchError> {
    let mut etcd = optional(session, "etcd", etcd::program().is_some(), || {
        etcd::start(&session.data, &session.interrupt)
    })?;
    let mut redis = optional(session, "redis-server", redis::program().is_some(), || {
        redis::start(&session.data, &session.interrupt)
    })?;
    let stores = [
        Store::DunlinSynced,
        Store::Etcd,
        Store::Dunlin,
        Store::Redis,
    ];
    let mut runs: [Vec<Run>; 4] = Default::default();
    for _ in 0..session.timing.repeats {
        for (store, runs) in stores.iter().zip(&mut runs) {
            let cluster = match store {
                Store::DunlinSynced => Some(&mut *synced),
                Store::Dunlin => Some(&mut *unsynced),
                Store::Etcd => etcd.as_mut(),
                Store::Redis => redis.as_mut(),
            };
            if let Some(cluster) = cluster {
                runs.push(one(session, *store, cluster, workloads)?);
            }
        }
    }
    let peers = stores.iter().zip(runs).filter(|(_, runs)| !runs.is_empty());
    Ok(peers
        .map(|(store, runs)| Peer {
            name: store.name().to_owned(),
            acknowledged: store.acknowledged().to_owned(),
            copies: store.copies(),
            connections: CONNECTIONS,
            summary: Summary::of(&runs),
            errors: runs.iter().map(|run| run.errors_text.as_str()).collect(),
        })
        .collect())
}

fn one(
    session: &Session,
    store: Store,
    cluster: &mut Cluster,
    workloads: &mut Workloads,
) -> Result<Run, BenchError> {
    let plan = session.closed_plan(cluster, CONNECTIONS);
    let interrupt = &session.interrupt;
    let run = match store {
        Store::DunlinSynced | Store::Dunlin => {
            let mut puts = workloads.next(Verb::Put, THREE_COPIES);
            measure(cluster, &plan, &mut puts, interrupt)?
        }
        Store::Etcd => measure(cluster, &plan, &mut workloads.next_etcd(), interrupt)?,
        Store::Redis => measure(cluster, &plan, &mut workloads.next_redis(), interrupt)?,
    };
    session.progress.say(&format!(
        "{} {}: {:.0} puts/s, servers {:.1} us a put, p99 {:.2} ms {}",
        store.name(),
        store.acknowledged(),
        run.rate_per_s,
        run.server_cpu_us,
        run.latency_us_p99 as f64 / 1e3,
        run.errors_text
    ));
    Ok(run)
}

fn optional<E: std::fmt::Display>(
    session: &Session,
    name: &str,
    installed: bool,
    start: impl FnOnce() -> Result<Cluster, E>,
) -> Result<Option<Cluster>, BenchError> {
    if !installed {
        session
            .progress
            .say(&format!("{name} is not installed, left out"));
        return Ok(None);
    }
    match start() {
        Ok(cluster) => Ok(Some(cluster)),
        Err(_) if session.interrupt.is_set() => Err(crate::interrupt::Interrupted.into()),
        Err(error) => {
            session
                .progress
                .say(&format!("{name} is left out: {error}"));
            Ok(None)
        }
    }
}
