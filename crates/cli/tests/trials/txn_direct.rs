//! Clients without HTTP between, beside those over HTTP, while nodes are killed and stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_client::{Client, ClientError, Direct};
use dunlin_history::Step;
use rand::Rng;
use rand::rngs::StdRng;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::harness::child::dunlin;
use crate::harness::direct::{local, upgraded};
use crate::harness::eventually;
use crate::harness::up::Up;

use super::txn::{Appender, Ended, appends_of, have_one_history, lists_of, numbers};

#[test]
fn lists_have_one_history_beside_direct_clients() {
    have_one_history(|worker, addresses| {
        let is_direct = !worker.is_multiple_of(3);
        is_direct.then(|| appender(worker, addresses))
    });
}

/// Connections that are opened and left idle.
const IDLE: usize = 9_000;

#[test]
fn idle_clients_are_many_and_cost_little() {
    let up = Up::nodes(1);
    let server = up.url(0, "");
    let made = dunlin()
        .args(["keyspace", "create", "bank", "--mode", "transactional"])
        .args(["--replicas", "1", "--server", &server])
        .status();
    assert!(made.unwrap().success());
    let authority = server.trim_start_matches("http://");
    let put = || {
        let client = Client::new(&server).unwrap();
        let done = local(client.direct().transact(async |txn| {
            txn.put("bank", b"ann", "1".into())?;
            Ok(())
        }));
        done.unwrap();
    };
    put();
    let connections = || up.metric(0, "dunlin_connections") as usize;
    let (few, before) = (connections(), up.process.rss_kib());
    let idle: Vec<_> = (0..IDLE).map(|_| upgraded(authority, "")).collect();
    assert!(connections() >= few + IDLE);
    let each = up.process.rss_kib().saturating_sub(before) / IDLE as u64;
    assert!(each < 64, "{each} KiB for an idle connection");
    println!("{each} KiB for an idle connection");
    // They are pinged meanwhile.
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(25) {
        put();
    }
    drop(idle);
    eventually("all are gone", Duration::from_secs(30), || {
        connections() <= few + 10
    });
    put();
}

fn appender(worker: u64, addresses: &[SocketAddr]) -> Appender {
    let first = worker as usize % addresses.len();
    let (behind, before) = (&addresses[first..], &addresses[..first]);
    let urls = behind.iter().chain(before).map(|at| format!("http://{at}"));
    let client = Client::new(&urls.collect::<Vec<_>>().join(",")).unwrap();
    let runtime: Runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (tasks, direct) = (LocalSet::new(), client.direct());
    Box::new(move |random, next| tasks.block_on(&runtime, append(&direct, random, next)))
}

/// Reads some lists, and mostly appends to them.
async fn append(direct: &Direct, random: &mut StdRng, next: &AtomicU64) -> (Vec<Step>, Ended) {
    let (keys, is_read) = lists_of(random, next);
    let appends = appends_of(&keys, is_read);
    let txn = direct.begin();
    let mut lists = BTreeMap::new();
    if let (true, Some(key)) = (random.random_bool(0.2), keys.keys().next()) {
        match txn.get_locked("lists", key.as_bytes()).await {
            Ok(list) => drop(lists.insert(key.clone(), list)),
            Err(error) => return (appends, not_done(&error)),
        }
    }
    let others: Vec<&String> = keys
        .keys()
        .filter(|key| !lists.contains_key(*key))
        .collect();
    let places: Vec<(&str, &[u8])> = others.iter().map(|key| ("lists", key.as_bytes())).collect();
    match txn.get_many(&places).await {
        Ok(values) => lists.extend(others.into_iter().cloned().zip(values)),
        Err(error) => return (appends, not_done(&error)),
    }
    let mut steps = Vec::new();
    for (key, value) in &keys {
        let list = lists.remove(key).flatten();
        let text = list.map_or(String::new(), |list| {
            String::from_utf8_lossy(&list).into_owned()
        });
        steps.push(Step::Read(key.clone(), numbers(&text)));
        if !is_read {
            let longer = Bytes::from(format!("{text}{value},"));
            txn.put("lists", key.as_bytes(), longer).unwrap();
        }
    }
    match txn.commit().await {
        Ok(_) => {
            steps.extend(appends);
            (steps, Ended::Ok)
        }
        Err(ClientError::Ambiguous { .. }) => (appends, Ended::Unknown),
        Err(error) => (appends, not_done(&error)),
    }
}

/// Nothing has happened.
fn not_done(error: &ClientError) -> Ended {
    let is_conflict = matches!(error, ClientError::Conflict(_));
    assert!(is_conflict || error.is_retryable(), "{error}");
    Ended::Not
}
