//! The servers of each store, and the records that reads find.

use std::path::PathBuf;
use std::time::Duration;

use super::Session;
use super::case::{Ask, SPLIT_KEYSPACE, Setup, TRANSACTIONAL_KEYSPACE};
use super::load::Loads;
use crate::cluster::{Cluster, etcd, http, nats, processes, ready, redis, up};
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::host::machine::version;
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::generator::{Pace, Plan};
use crate::load::txn::SECOND_TAG;
use crate::measure::settle;
use crate::options::{Shape, Store};

const FILL_CONNECTIONS: usize = 64;

/// The program of a store, when it is there, and the name to call it by.
pub fn program(session: &Session, store: Store) -> Option<(PathBuf, &'static str)> {
    let (program, name) = match store {
        Store::Dunlin => (Some(session.dunlin.clone()), "dunlin"),
        Store::Etcd => (etcd::rival(), "etcd"),
        Store::Nats => (nats::program(), nats::NAME),
        Store::Redis => (redis::program(), redis::NAME),
    };
    Some((program?, name))
}

/// What the program of a store calls its version; the reason in words when it is left out.
///
/// # Errors
/// When there is none.
pub fn version_of(session: &Session, store: Store) -> Result<String, String> {
    let (program, name) = program(session, store).ok_or(match store {
        Store::Dunlin => "no dunlin binary",
        Store::Etcd => "etcd is left out: scripts/rivals.sh has not built it",
        Store::Nats => "NATS is left out: scripts/rivals.sh has not built it",
        Store::Redis => "Redis is left out: redis-server is not installed",
    })?;
    Ok(version(&program, name).unwrap_or_else(|| name.to_owned()))
}

/// Starts the servers and writes what reads find; the reason in words when they are left out. Dunlin never is.
///
/// # Errors
/// When Dunlin does not start or does not read what was written, and when the user stops the run.
pub fn start(
    session: &Session,
    setup: Setup,
    loads: &mut Loads,
) -> Result<Result<Cluster, String>, BenchError> {
    match ready(session, setup, loads) {
        Ok(cluster) => Ok(Ok(cluster)),
        Err(_) if session.interrupt.is_set() => Err(Interrupted.into()),
        Err(error) if setup.store == Store::Dunlin => Err(error),
        Err(error) => {
            let reason = format!(
                "{}, sync {}, is left out: {error}",
                setup.name(),
                setup.sync.name()
            );
            session.progress.say(&reason);
            Ok(Err(reason))
        }
    }
}

fn ready(session: &Session, setup: Setup, loads: &mut Loads) -> Result<Cluster, BenchError> {
    let Session {
        data, interrupt, ..
    } = session;
    let mut cluster = match setup.store {
        Store::Dunlin => {
            let start = match session.shape {
                Shape::Up => up::start,
                Shape::Processes => processes::start,
            };
            start(&session.dunlin, data, setup.sync, interrupt)?
        }
        Store::Etcd => etcd::start(data, interrupt)?,
        Store::Nats => nats::start(data, setup.sync, interrupt)?,
        Store::Redis => redis::start(data, interrupt)?,
    };
    if setup.is_transactional {
        transactional(&mut cluster, interrupt)?;
    }
    fill(session, setup, &mut cluster, loads)?;
    Ok(cluster)
}

/// Makes the keyspace whose replicas agree before they write.
fn transactional(cluster: &mut Cluster, interrupt: &Interrupt) -> Result<(), BenchError> {
    let second = char::from(SECOND_TAG);
    let bodies = [
        format!(r#"{{"name":"{TRANSACTIONAL_KEYSPACE}","mode":"transactional"}}"#),
        format!(r#"{{"name":"{SPLIT_KEYSPACE}","mode":"transactional","split_at":["{second}"]}}"#),
    ];
    for body in bodies {
        ready::wait("a transactional keyspace", cluster, interrupt, |cluster| {
            let first = cluster.addresses.first().ok_or("no node")?;
            match http::request(*first, "POST", "/v1/keyspaces", body.as_bytes()) {
                Ok((201 | 409, _)) => Ok(()),
                Ok((status, answer)) => Err(format!("{status} {answer}")),
                Err(error) => Err(error.to_string()),
            }
        })?;
    }
    Ok(())
}

/// Writes the records that reads find, and reads every one back.
fn fill(
    session: &Session,
    setup: Setup,
    cluster: &mut Cluster,
    loads: &mut Loads,
) -> Result<(), BenchError> {
    let plan = Plan {
        addresses: cluster.addresses.clone(),
        connections: FILL_CONNECTIONS,
        pace: Pace::Closed,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(3_600),
    };
    for ask in [Ask::Put, Ask::Get] {
        let mut load = loads.fill(setup, ask);
        let outcome = load.run(&plan, &session.interrupt)?;
        // Replicas that may be asked have it when nothing is done any more.
        settle(&Meter::new(cluster.pids()), &session.interrupt)?;
        cluster.check()?;
        if outcome.errors() > 0 || outcome.measured() != session.lengths.fill {
            return Err(BenchError::Unsound {
                what: format!("{}, {ask:?} of all records", setup.name()),
                errors: outcome.errors(),
                requests: outcome.measured(),
                detail: outcome.errors_text(),
            });
        }
        session.progress.say(&format!(
            "{}, sync {}: {ask:?} of {} records: {:.0}/s",
            setup.name(),
            setup.sync.name(),
            session.lengths.fill,
            outcome.rate_per_s()
        ));
    }
    Ok(())
}
